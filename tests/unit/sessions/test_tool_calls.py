"""Which lines of an agent are worth a snapshot."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.sessions.snapshots import OpenToolCalls


def line(kind: str, id_: str, status: str | None = None, title: str | None = None) -> bytes:
    told: dict[str, Any] = {"sessionUpdate": kind, "toolCallId": id_}
    told |= {} if status is None else {"status": status}
    told |= {} if title is None else {"title": title}
    params = {"sessionId": "s", "update": told}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


@pytest.mark.requirement("snapshots.heard")
def test_a_call_is_heard_when_it_begins_when_it_gets_to_work_and_when_it_is_over() -> None:
    calls = OpenToolCalls()
    told = [
        calls.heard(line("tool_call", "1", title="rm -rf")),
        calls.heard(line("tool_call_update", "1", "pending")),
        calls.heard(line("tool_call_update", "1", "in_progress", "rm -rf")),
        calls.heard(line("tool_call_update", "1", title="half done")),
        calls.heard(line("tool_call_update", "1", "failed", "rm -rf")),
    ]

    assert [None if each is None else (each.reason, each.is_first) for each in told] == [
        ("tool call rm -rf", True),
        None,
        ("tool call rm -rf", True),
        None,
        ("after tool call rm -rf", False),
    ]


@pytest.mark.requirement("snapshots.heard")
def test_a_call_beside_another_is_not_the_first_and_a_new_turn_forgets_what_is_open() -> None:
    calls = OpenToolCalls()
    calls.heard(line("tool_call", "1"))
    beside = calls.heard(line("tool_call", "2"))
    calls.forget()
    alone = calls.heard(line("tool_call", "3"))

    assert beside is not None
    assert not beside.is_first
    assert alone is not None
    assert alone.is_first


@pytest.mark.requirement("snapshots.heard")
@given(st.binary())
def test_no_line_is_too_strange_to_be_passed_by(text: bytes) -> None:
    assert OpenToolCalls().heard(text + b'"tool_call') is None
    assert OpenToolCalls().heard(b'{"params": ' + text + b"}") is None


@pytest.mark.requirement("snapshots.heard")
def test_calls_that_never_end_are_forgotten_when_there_are_too_many() -> None:
    calls = OpenToolCalls()
    firsts = [calls.heard(line("tool_call", str(number))) for number in range(1001)]

    assert [at for at, each in enumerate(firsts) if each is not None and each.is_first] == [0, 1000]


@pytest.mark.requirement("snapshots.heard")
def test_a_long_title_is_cut() -> None:
    heard = OpenToolCalls().heard(line("tool_call", "1", title="x" * 300))

    assert heard is not None
    assert heard.reason == "tool call " + "x" * 200
