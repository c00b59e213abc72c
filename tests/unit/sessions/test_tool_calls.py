"""Agent lines that trigger a snapshot."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.sessions.tool_call_snapshots import OpenToolCalls


def line(kind: str, id_: str, status: str | None = None, title: str | None = None) -> bytes:
    told: dict[str, Any] = {"sessionUpdate": kind, "toolCallId": id_}
    told |= {} if status is None else {"status": status}
    told |= {} if title is None else {"title": title}
    params = {"sessionId": "s", "update": told}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


@pytest.mark.requirement("snapshots.heard")
def test_call_is_reported_when_it_is_announced_starts_and_ends() -> None:
    calls = OpenToolCalls()
    told = [
        calls.received(line("tool_call", "1", title="rm -rf")),
        calls.received(line("tool_call_update", "1", "pending")),
        calls.received(line("tool_call_update", "1", "in_progress", "rm -rf")),
        calls.received(line("tool_call_update", "1", title="half done")),
        calls.received(line("tool_call_update", "1", "failed", "rm -rf")),
    ]

    assert [None if each is None else (each.reason, each.is_first) for each in told] == [
        ("tool call rm -rf", True),
        None,
        ("tool call rm -rf", True),
        None,
        ("after tool call rm -rf", False),
    ]


@pytest.mark.requirement("snapshots.heard")
def test_concurrent_call_is_not_first_and_a_new_turn_forgets_open_calls() -> None:
    calls = OpenToolCalls()
    calls.received(line("tool_call", "1"))
    beside = calls.received(line("tool_call", "2"))
    calls.forget()
    alone = calls.received(line("tool_call", "3"))

    assert beside is not None
    assert not beside.is_first
    assert alone is not None
    assert alone.is_first


@pytest.mark.requirement("snapshots.heard")
@pytest.mark.parametrize(
    "text",
    [
        line("agent_message_chunk", "1", title='"tool_call"'),
        line("tool_call", "1").replace(b"session/update", b"session/other"),
    ],
    ids=["another update", "another method"],
)
def test_line_that_only_mentions_a_tool_call_is_ignored(text: bytes) -> None:
    assert b'"tool_call' in text.replace(b"\\", b"")
    assert OpenToolCalls().received(text) is None


@pytest.mark.requirement("snapshots.heard")
@given(st.binary())
def test_malformed_line_is_ignored(text: bytes) -> None:
    assert OpenToolCalls().received(text + b'"tool_call') is None
    assert OpenToolCalls().received(b'{"params": ' + text + b"}") is None


@pytest.mark.requirement("snapshots.heard")
def test_too_many_open_calls_are_forgotten() -> None:
    calls = OpenToolCalls()
    firsts = [calls.received(line("tool_call", str(number))) for number in range(1001)]

    assert [at for at, each in enumerate(firsts) if each is not None and each.is_first] == [0, 1000]


@pytest.mark.requirement("snapshots.heard")
def test_long_title_is_truncated() -> None:
    received = OpenToolCalls().received(line("tool_call", "1", title="x" * 300))

    assert received is not None
    assert received.reason == "tool call " + "x" * 200
