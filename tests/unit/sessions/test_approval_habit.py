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


def heard(*lines: bytes) -> ApprovalHabit:
    habit = ApprovalHabit()
    for line in lines:
        habit.heard(line)
    return habit


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize("result", ["null", "7", '{"outcome":"selected"}', '{"outcome":[]}'])
def test_an_odd_answer_to_an_agent_changes_nothing(result: str) -> None:
    habit = heard(*ASKED, update("2"), ask("2", 2))
    habit.sent(b'{"jsonrpc":"2.0","id":2,"result":%b,"x":"optionId"}' % result.encode())

    assert habit.is_asking


ASKED = (update("1"), ask("1"), update("1", "in_progress"), update("1", "completed"))


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_an_agent_asks_once_each_call_was_asked_for() -> None:
    assert not ApprovalHabit().is_asking
    assert not heard(update("1")).is_asking
    assert heard(*ASKED).is_asking
    assert heard(*ASKED, update("2"), ask("2", 2)).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_a_call_that_only_reads_needs_no_question() -> None:
    assert heard(update("0", "completed", "read"), *ASKED).is_asking


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
def test_an_agent_that_runs_a_call_unasked_or_changes_its_mode_does_not_ask(line: bytes) -> None:
    assert not heard(*ASKED, line).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_a_call_announced_and_never_asked_for_has_run() -> None:
    within = heard(*ASKED, update("2"), update("3"), ask("3"))
    later = heard(*ASKED, update("2", None))
    before = later.is_asking
    later.begin_turn()

    assert (within.is_asking, before, later.is_asking) == (False, True, False)


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_one_that_ran_a_call_unasked_is_not_trusted_again() -> None:
    assert not heard(update("0", "in_progress"), *ASKED).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize(("option", "asks"), [("yes", True), ("ever", False)])
def test_an_agent_that_was_allowed_all_further_calls_does_not_ask(
    option: str, *, asks: bool
) -> None:
    habit = heard(*ASKED)
    habit.sent(answer(option))
    habit.heard(ask("2", 2))

    assert habit.is_asking is asks


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option"])
def test_an_agent_asks_in_another_mode_only_once_it_has_asked_there(method: str) -> None:
    habit = heard(*ASKED)
    habit.sent(message(method, {"sessionId": "one", "modeId": "yolo"}, 9))
    before = habit.is_asking
    habit.heard(ask("2", 2))

    assert (before, habit.is_asking) == (False, True)


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_text_that_quotes_a_question_is_none() -> None:
    text = {"sessionUpdate": "agent_message_chunk", "content": {"text": ask("1").decode()}}

    assert not heard(message("session/update", {"update": text})).is_asking


@pytest.mark.requirement("snapshots.asking-agent-runs-on")
def test_an_agent_that_asks_for_another_call_than_it_announced_does_not_ask() -> None:
    """The announced call has run, or will."""
    assert heard(*ASKED).is_asking
    assert not heard(*ASKED, update("2"), ask("3")).is_asking
