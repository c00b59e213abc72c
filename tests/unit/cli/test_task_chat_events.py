"""The last turn of a task's agent, as a chat that joins it shows it."""

from collections.abc import Mapping
from typing import Any

import pytest

from symposium.cli.output import Output
from symposium.cli.task_chat import Reported

IDLE: Mapping[str, Any] = {"seq": 5, "working": False, "waiting": 0, "questions": []}


def event(seq: int, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"seq": seq, "type": kind, "data": data}


def text(seq: int, words: str) -> dict[str, Any]:
    content = {"type": "text", "text": words}
    return event(seq, "update", {"sessionUpdate": "agent_message_chunk", "content": content})


MISSED = [
    event(1, "prompt", {"text": "first prompt"}),
    text(2, "first answer"),
    event(
        3,
        "update",
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{"name": "test", "description": "d"}],
        },
    ),
    event(4, "prompt", {"text": "second prompt"}),
    text(5, "second answer"),
]


@pytest.fixture
def reported() -> Reported:
    return Reported(Output(on_broken=str), lambda: None)


@pytest.mark.requirement("tasks.chat-last-turn")
def test_only_the_last_turn_is_shown_with_its_prompt_and_the_latest_commands(
    reported: Reported, capsys: pytest.CaptureFixture[str]
) -> None:
    reported.begin(MISSED, IDLE)
    shown = capsys.readouterr().out

    assert "second prompt" in shown
    assert "second answer" in shown
    assert "first" not in shown
    assert [each.name for each in reported.view.commands] == ["test"]
    assert (reported.is_working, reported.questions) == (False, {})


@pytest.mark.requirement("tasks.chat-last-turn")
def test_event_that_came_early_is_shown_once_and_after_the_others(
    reported: Reported, capsys: pytest.CaptureFixture[str]
) -> None:
    reported.came(text(5, "second answer"))
    reported.came(text(6, " and more"))
    before = capsys.readouterr().out
    reported.begin(MISSED, IDLE)
    reported.came(text(6, " and more"))

    assert before == ""
    assert capsys.readouterr().out.endswith("second answer and more")


@pytest.mark.requirement("tasks.chat-last-turn")
@pytest.mark.parametrize(("working", "waiting"), [(True, 0), (False, 1)])
def test_agent_that_works_or_has_a_waiting_prompt_is_busy(
    reported: Reported, *, working: bool, waiting: int
) -> None:
    question = {"question": 2, "title": "go"}
    now = {**IDLE, "working": working, "waiting": waiting, "questions": [question]}
    reported.begin(MISSED, now)

    assert (reported.is_working, reported.is_busy) == (True, True)
    assert reported.questions == {2: question}
