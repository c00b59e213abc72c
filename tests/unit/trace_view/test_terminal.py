"""A trace in a terminal: lanes, arrows, a few words, and nothing a terminal would obey."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.trace_view.trace_events import MAX_PREVIEW, Event, EventKind, preview, short_line
from symposium.trace_view.views import ASCII, DRAWN, TraceListing

LANES = ("Client", "Proxy(0)", "Agent")


def notification(method: str, body: Any = None) -> Event:
    text = json.dumps(body).encode()
    return Event(
        line=1,
        kind=EventKind.NOTIFICATION,
        ts=1.0,
        sender="Client",
        receiver="Agent",
        id="",
        method=method,
        session="",
        protocol="acp",
        body=text,
        raw=text,
    )


def asked(method: str, body: Any = None) -> Event:
    return replace(notification(method, body), kind=EventKind.REQUEST, id="7")


def answered(method: str, body: Any = None) -> Event:
    return replace(
        notification(method, body),
        kind=EventKind.RESPONSE,
        id="7",
        sender="Agent",
        receiver="Client",
        ts=1.25,
        answers=1,
        took=0.25,
    )


@pytest.mark.requirement("cli.trace-show")
def test_each_kind_of_message_is_drawn_in_its_own_way() -> None:
    listing = TraceListing(LANES, DRAWN)
    mine = replace(
        notification("session/update"), sender="Agent", receiver="Proxy(0)", protocol="mcp"
    )

    lines = [
        *listing.heads(),
        listing.line(asked("session/new", {"cwd": "/home"})),
        listing.line(mine),
        listing.line(answered("session/new", {"sessionId": "s1"})),
        listing.line(replace(answered("x", {"code": -1, "message": "no"}), is_error=True)),
    ]

    assert [line.text for line in lines] == [
        "      time        +    Client   Proxy(0)   Agent",
        "    1.000s   +0.0ms       │──────────────────▶│     session/new #7  /home",
        "    1.000s   +0.0ms       │         │◀════════│     mcp session/update",
        "    1.250s +250.0ms       │◀┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄│     = session/new #7 after 250.0ms  s1",
        "    1.250s   +0.0ms       │◀┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄│     ✗ = x #7 after 250.0ms  error -1: no",
    ]
    assert lines[1].color == lines[3].color != ""
    assert (lines[2].color, lines[4].is_error) == ("", True)


@pytest.mark.requirement("cli.trace-terminal")
def test_a_terminal_without_line_drawing_gets_letters() -> None:
    line = TraceListing(LANES, ASCII).line(asked("x"))

    assert line.text.isascii()
    assert "|------------------>|" in line.text


@pytest.mark.requirement("cli.trace-terminal")
def test_a_line_is_no_wider_than_the_terminal() -> None:
    line = TraceListing(LANES, DRAWN, width=70).line(
        asked("session/prompt", {"prompt": ["x" * 99]})
    )

    assert len(line.text) == 70
    assert line.text.endswith("…")


@pytest.mark.requirement("cli.trace-terminal")
def test_many_components_have_narrow_lanes_and_short_names() -> None:
    lanes = ["Client", *(f"Proxy({number})" for number in range(10)), "Agent"]
    listing = TraceListing(lanes, DRAWN)

    [heads] = listing.heads()
    assert heads.text.split()[2:] == ["C", *(f"P{number}" for number in range(10)), "A"]
    assert "│──" in listing.line(asked("x")).text


@pytest.mark.requirement("cli.trace-terminal")
@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("initialize", {"protocolVersion": 1, "clientInfo": {"name": "zed"}}, "version 1, zed"),
        ("initialize", {}, ""),
        ("session/new", {"cwd": "/x", "mcpServers": [{"name": "t"}]}, "/x, t"),
        ("session/prompt", {"prompt": [{"type": "text", "text": "a\nb"}, {"type": "image"}]},
         "a b [image]"),
        ("session/update", {"update": {"sessionUpdate": "agent_message_chunk",
         "content": {"type": "text", "text": "Hi"}}}, "agent_message_chunk: Hi"),
        ("session/update", {"update": {"sessionUpdate": "tool_call", "title": "Read",
         "status": "pending", "content": [{"type": "content", "content": {"text": "out"}}]}},
         "tool_call: Read, pending, out"),
        ("session/update", {"update": {"sessionUpdate": "plan",
         "entries": [{"content": "one"}, {"content": "two"}, 3]}}, "plan: one, two"),
        ("session/update", {"update": {"sessionUpdate": "usage_update"}}, "usage_update"),
        ("session/update", {"update": 5}, ""),
        ("session/request_permission", {"toolCall": {"title": "Write"},
         "options": [{"name": "Yes"}, {"name": "No"}]}, "Write, Yes No"),
        ("terminal/create", {"command": "ls", "args": ["-l", "/"]}, "ls, -l /"),
        ("tools/call", {"name": "echo", "arguments": {}}, "echo"),
        ("fs/read_text_file", {"path": "/a", "sessionId": "s"}, "/a"),
        ("$/cancel_request", {"requestId": 7}, "7"),
        ("odd", [1, 2], ""),
        ("odd", "text", "text"),
        ("odd", None, ""),
    ],
)  # fmt: skip
def test_a_message_says_a_few_words(method: str, params: Any, said: str) -> None:
    assert preview(notification(method, params)) == said


@pytest.mark.requirement("cli.trace-terminal")
@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"stopReason": "end_turn"}, "end_turn"),
        ({"protocolVersion": 1, "agentInfo": {"name": "eliza"}}, "eliza"),
        ({"protocolVersion": 1}, "1"),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, "yes"),
        ({"tools": [{"name": "a"}, {"name": "b"}]}, "a b"),
        ({}, ""),
        (None, ""),
    ],
)
def test_an_answer_says_a_few_words(result: Any, said: str) -> None:
    assert preview(answered("x", result)) == said


@pytest.mark.requirement("cli.trace-show")
@given(st.text(), st.text(), st.dictionaries(st.text(max_size=3), st.text(), max_size=3))
def test_nothing_in_a_message_moves_the_cursor(
    method: str, text: str, more: Mapping[str, str]
) -> None:
    update = {"sessionUpdate": text, "content": {"type": "text", "text": text}, "title": text}
    listing = TraceListing(LANES, DRAWN)

    for body in ({"update": update, **more}, {"message": text, "prompt": text}, text):
        for shown in (
            notification(method, body),
            asked("session/update", body),
            answered(text, body),
        ):
            line = listing.line(shown).text
            assert not [c for c in line if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
            assert "\u202e" not in line


@pytest.mark.requirement("cli.trace-terminal")
@given(st.text(), st.integers(min_value=1, max_value=30))
def test_short_line_is_short_line_of_that_length(text: str, limit: int) -> None:
    found = short_line(text, limit)

    assert len(found) <= limit
    assert found == short_line(found, limit)


@pytest.mark.requirement("cli.trace-terminal")
def test_a_megabyte_is_said_in_a_few_words() -> None:
    assert len(preview(notification("odd", {"name": "x" * 1_000_000}))) == MAX_PREVIEW


@pytest.mark.requirement("cli.trace-terminal")
@pytest.mark.parametrize(("count", "is_narrow"), [(7, False), (8, True)])
def test_lanes_are_narrow_from_eight_components_on(count: int, *, is_narrow: bool) -> None:
    listing = TraceListing(tuple(f"c{number}" for number in range(count)), DRAWN)
    (head,) = listing.heads()

    assert (head.text.index("c1") - head.text.index("c0") < 8) == is_narrow
