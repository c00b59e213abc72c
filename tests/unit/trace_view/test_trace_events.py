"""Traces of any writer are read, also damaged ones."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.errors import NotFoundError
from symposium.trace_view import trace_events
from symposium.trace_view.trace_events import (
    EventKind,
    NotATraceError,
    TraceReader,
    TraceSelection,
    lane_name,
    lane_order,
    lanes_of,
    parse_event,
)

ASKED: Final[dict[str, Any]] = {
    "type": "request",
    "ts": 1,
    "protocol": "acp",
    "from": "Client",
    "to": "Agent",
    "id": 1,
    "method": "session/prompt",
    "session": "s1",
    "params": {"sessionId": "s1"},
}
ANSWERED: Final[dict[str, Any]] = {
    "type": "response",
    "ts": 1.5,
    "from": "Agent",
    "to": "Client",
    "id": 1,
    "is_error": False,
    "payload": {"stopReason": "end_turn"},
}
NOTIFIED: Final[dict[str, Any]] = {
    "type": "notification",
    "ts": 1.2,
    "protocol": "mcp",
    "from": "Agent",
    "to": "Client",
    "method": "notifications/progress",
    "session": None,
    "params": None,
}


def trace_of(directory: Path, *lines: dict[str, Any] | str) -> Path:
    path = directory / "t.jsons"
    texts = [line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines]
    path.write_text("".join(texts))
    return path


@pytest.mark.requirement("cli.trace-answers")
def test_the_oldest_requests_are_forgotten_when_too_many_have_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_events, "MAX_OPEN", 2)
    asked = [ASKED | {"id": number} for number in range(3)]
    answered = [ANSWERED | {"id": number} for number in range(3)]

    events = list(TraceReader(trace_of(tmp_path, *asked, *answered)).events())

    assert [each.answers for each in events[3:]] == [0, 2, 3]


@pytest.mark.requirement("cli.trace-answers")
def test_an_answer_has_the_method_session_and_protocol_of_its_request(tmp_path: Path) -> None:
    path = trace_of(tmp_path, ASKED, NOTIFIED, ANSWERED)

    asked, told, answered = TraceReader(path).events()

    assert (asked.kind, told.kind, answered.kind) == tuple(
        map(EventKind, ("request", "notification", "response"))
    )
    assert (answered.method, answered.session, answered.protocol) == ("session/prompt", "s1", "acp")
    assert (answered.answers, answered.took) == (1, 0.5)
    assert (told.session, told.body) == ("", b"null")


@pytest.mark.requirement("cli.trace-answers")
def test_an_answer_is_joined_on_its_own_leg_and_way(tmp_path: Path) -> None:
    ends = {"from": "Proxy(0)", "to": "Agent"}
    other = {**ASKED, **ends, "method": "x"}
    asked_back = {**ASKED, "from": "Agent", "to": "Client", "method": "fs/read_text_file"}
    path = trace_of(tmp_path, ASKED, other, asked_back, ANSWERED)

    *_, answered = TraceReader(path).events()

    assert answered.method == "session/prompt"


@pytest.mark.requirement("cli.trace-answers")
def test_answer_without_a_request_is_shown(tmp_path: Path) -> None:
    [answered] = TraceReader(trace_of(tmp_path, ANSWERED)).events()

    assert (answered.method, answered.answers) == ("", 0)


@pytest.mark.requirement("cli.trace-reads-both-names")
@pytest.mark.parametrize(
    ("label", "name"),
    [
        *[("client", "Client"), ("Client", "Client"), ("agent", "Agent"), ("Agent", "Agent")],
        *[("proxy:0", "Proxy(0)"), ("Proxy(12)", "Proxy(12)"), ("proxy:12", "Proxy(12)")],
        ("someone else", "someone else"),
    ],
)
def test_both_names_of_a_component_are_one(label: str, name: str) -> None:
    assert lane_name(label) == name


@pytest.mark.requirement("cli.trace-reads-both-names")
def test_the_lanes_stand_as_the_chain_does(tmp_path: Path) -> None:
    ends = ["agent proxy:10", "Proxy(10) proxy:2", "proxy:2 client", "Agent other"]
    events = [dict(zip(("from", "to"), pair.split(), strict=True)) for pair in ends]

    lanes = lanes_of(trace_of(tmp_path, *[NOTIFIED | pair for pair in events]))

    assert lanes == ["Client", "Proxy(2)", "Proxy(10)", "Agent", "other"]


@pytest.mark.requirement("cli.trace-broken-file")
def test_unreadable_lines_are_skipped_and_reported(tmp_path: Path) -> None:
    reader = TraceReader(trace_of(tmp_path, ASKED, "half {\n", "\n", '{"type":"x"}\n', ANSWERED))

    events = list(reader.events())

    assert [event.line for event in events] == [1, 5]
    assert str(reader.damage) == "skipped 2 unreadable lines: 2, 4"


@pytest.mark.requirement("cli.trace-broken-file", "conductor.trace-crash-safe")
def test_a_cut_last_line_is_reported_without_an_error(tmp_path: Path) -> None:
    reader = TraceReader(trace_of(tmp_path, ASKED, json.dumps(ANSWERED)[:40]))

    assert len(list(reader.events())) == 1
    assert (reader.damage.count, reader.damage.is_cut) == (0, True)
    assert "cut off" in str(reader.damage)


@pytest.mark.requirement("cli.trace-reading")
def test_many_broken_lines_are_counted_and_the_first_named(tmp_path: Path) -> None:
    reader = TraceReader(trace_of(tmp_path, ASKED, *["x\n"] * 7))

    assert len(list(reader.events())) == 1
    assert str(reader.damage) == "skipped 7 unreadable lines: 2, 3, 4, 5, 6, …"


@pytest.mark.requirement("cli.trace-broken-file")
@pytest.mark.parametrize("content", ["hello\n", "[1]", '{"a":1}\n{"b":2}\n', "\x00\x01"])
def test_a_file_without_any_event_is_no_trace(tmp_path: Path, content: str) -> None:
    path = trace_of(tmp_path, content)

    with pytest.raises(NotATraceError, match=r"is no trace"):
        list(TraceReader(path).events())


@pytest.mark.requirement("cli.trace-reading")
def test_a_directory_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(NotATraceError, match=r"is a directory"):
        list(TraceReader(tmp_path).events())


@pytest.mark.requirement("cli.trace-reading")
def test_an_empty_file_is_a_trace_of_nothing(tmp_path: Path) -> None:
    assert list(TraceReader(trace_of(tmp_path)).events()) == []


@pytest.mark.requirement("cli.trace-missing-file")
def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        list(TraceReader(tmp_path / "none").events())


@pytest.mark.requirement("cli.trace-reading")
@given(
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.dictionaries(st.sampled_from([*ASKED, *ANSWERED]), inner, max_size=6),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_line_is_too_odd_to_be_looked_at(line: bytes) -> None:
    found = parse_event(1, line)

    assert found is None or lane_order(found.sender)


@pytest.mark.requirement("cli.trace-reading")
@pytest.mark.parametrize(
    ("selection", "lines"),
    [
        (TraceSelection(), [1, 2, 3]),
        (TraceSelection(sessions=("s1",)), [1, 3]),
        (TraceSelection(sessions=("s", "x")), [1, 3]),
        (TraceSelection(methods=("session/*",)), [1, 3]),
        (TraceSelection(methods=("notifications/progress",)), [2]),
        (TraceSelection(protocol="mcp"), [2]),
        (TraceSelection(protocol="acp", methods=("notifications/*",)), []),
    ],
)
def test_a_selection_has_what_was_chosen(
    tmp_path: Path, selection: TraceSelection, lines: list[int]
) -> None:
    events = TraceReader(trace_of(tmp_path, ASKED, NOTIFIED, ANSWERED)).events()

    assert [event.line for event in events if selection.has(event)] == lines
