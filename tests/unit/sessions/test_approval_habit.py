"""Whether an agent asks before it runs a tool; every doubt counts as not asking."""

import json
from typing import Any

import pytest

from symposium.sessions.agent_stop import ApprovalHabit


def update(id_: str, status: str | None = "pending", kind: str = "execute") -> bytes:
    call = {"sessionUpdate": "tool_call", "toolCallId": id_, "kind": kind}
    if status is not None:
        call["status"] = status
    return message("session/update", {"sessionId": "one", "update": call})


def ask(id_: str, number: int = 1) -> bytes:
    options = [
        {"optionId": "yes", "name": "yes", "kind": "allow_once"},
        {"optionId": "ever", "name": "always", "kind": "allow_always"},
    ]
    params = {"toolCall": {"toolCallId": id_}, "options": options}
    return message("session/request_permission", params, number)


def message(method: str, params: dict[str, Any], number: int | None = None) -> bytes:
    named = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, "params": params}).encode()


def answer(option: str, number: int = 1) -> bytes:
    outcome = {"outcome": "selected", "optionId": option}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"outcome": outcome}}).encode()


def habit_after(*lines: bytes) -> ApprovalHabit:
    habit = ApprovalHabit()
    for line in lines:
        habit.received(line)
    return habit


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize("result", ["null", "7", '{"outcome":"selected"}', '{"outcome":[]}'])
def test_malformed_response_changes_nothing(result: str) -> None:
    habit = habit_after(*ASKED, update("2"), ask("2", 2))
    habit.sent(b'{"jsonrpc":"2.0","id":2,"result":%b,"x":"optionId"}' % result.encode())

    assert habit.is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_malformed_line_of_the_agent_is_no_question_and_no_error() -> None:
    habit = ApprovalHabit()
    habit.received(ask("1")[:-1])
    habit.received(update("1")[:-1])

    assert not habit.is_asking


ASKED = (update("1"), ask("1"), update("1", "in_progress"), update("1", "completed"))


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_agent_is_asking_when_each_call_was_asked_for() -> None:
    assert not ApprovalHabit().is_asking
    assert not habit_after(update("1")).is_asking
    assert habit_after(*ASKED).is_asking
    assert habit_after(*ASKED, update("2"), ask("2", 2)).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_read_only_call_needs_no_question() -> None:
    assert habit_after(update("0", "completed", "read"), *ASKED).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize(
    "line",
    [
        update("2", "in_progress"),
        update("2", "completed"),
        update("2", "failed"),
        update("2", "in_progress", "other"),
        message("session/update", {"update": {"sessionUpdate": "current_mode_update"}}),
    ],
)
def test_not_asking_after_an_unasked_call_or_a_mode_change(line: bytes) -> None:
    assert not habit_after(*ASKED, line).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_announced_call_without_a_question_counts_as_run() -> None:
    within = habit_after(*ASKED, update("2"), update("3"), ask("3"))
    later = habit_after(*ASKED, update("2", None))
    before = later.is_asking
    later.begin_turn()

    assert (within.is_asking, before, later.is_asking) == (False, True, False)


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_agent_that_ran_a_call_unasked_is_not_trusted_again() -> None:
    assert not habit_after(update("0", "in_progress"), *ASKED).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize(("option", "asks"), [("yes", True), ("ever", False)])
def test_not_asking_after_a_permission_for_all_further_calls(option: str, *, asks: bool) -> None:
    habit = habit_after(*ASKED)
    habit.sent(answer(option))
    habit.received(ask("2", 2))

    assert habit.is_asking is asks


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option"])
def test_not_asking_in_a_new_mode_until_it_asks_there(method: str) -> None:
    habit = habit_after(*ASKED)
    habit.sent(message(method, {"sessionId": "one", "modeId": "yolo"}, 9))
    before = habit.is_asking
    habit.received(ask("2", 2))

    assert (before, habit.is_asking) == (False, True)


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_quoted_question_is_not_a_question() -> None:
    text = {"sessionUpdate": "agent_message_chunk", "content": {"text": ask("1").decode()}}

    assert not habit_after(message("session/update", {"update": text})).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_not_asking_when_the_question_is_for_another_call() -> None:
    """The announced call has run or will run."""
    assert habit_after(*ASKED).is_asking
    assert not habit_after(*ASKED, update("2"), ask("3")).is_asking
