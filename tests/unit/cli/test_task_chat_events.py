"""The last turn of a task's agent, as a chat that joins it shows it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.answering_daemon import answering

from symposium.bus.messages.tasks import SnapshotView
from symposium.bus.messages.worktrees import Undone, UndoTaskspace
from symposium.cli.output import Output
from symposium.cli.task_chat import Reported, TaskActions

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


@pytest.mark.requirement("tasks.chat-last-turn")
def test_event_after_the_description_of_the_agent_counts_more(reported: Reported) -> None:
    question = {"question": 2, "title": "go"}
    reported.came(event(6, "result", {"stopReason": "end_turn"}))
    reported.begin(MISSED, {**IDLE, "working": True, "questions": [question]})

    assert (reported.is_working, reported.questions) == (False, {})


@pytest.mark.requirement("tasks.chat")
def test_each_event_is_shown_and_has_its_effect_on_the_turn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes: list[str] = []
    reported = Reported(Output(on_broken=str), lambda: changes.append("changed"))
    reported.begin([], {**IDLE, "seq": 0})
    states: list[tuple[str, bool, int]] = []
    events: list[tuple[str, Mapping[str, Any]]] = [
        ("prompt", {"text": "first"}),
        ("permission", {"title": "ls", "optionId": "yes"}),
        ("interrupted", {"text": "the agent restarts"}),
        ("question", {"question": 1, "title": "go", "options": []}),
        ("settled", {"question": 1}),
        ("settled", {"question": 9}),
        ("failed", {"text": "out of\nmemory"}),
    ]
    for seq, (kind, data) in enumerate(events, 1):
        changes.clear()
        reported.came(event(seq, kind, data))
        states.append((kind, reported.is_working, len(changes)))

    assert states == [
        ("prompt", True, 1),
        ("permission", True, 0),
        ("interrupted", False, 1),
        ("question", False, 1),
        ("settled", False, 1),
        ("settled", False, 1),
        ("failed", False, 0),
    ]
    assert capsys.readouterr().out.splitlines() == [
        "[prompt] first",
        "[permission] ls: yes",
        "[interrupted] the agent restarts",
        "[question 1] go",
        "  answer it with `symposium inbox`",
        "[failed] out of memory",
    ]
    assert reported.questions == {}


@pytest.mark.requirement("tasks.chat")
def test_chat_attends_to_nothing_else_while_its_question_is_open() -> None:
    changes: list[str] = []
    reported = Reported(Output(on_broken=str), lambda: changes.append("changed"))
    reported.begin([], {**IDLE, "seq": 0})
    reported.came(event(1, "question", {"question": 1, "title": "go", "options": []}))
    reported.asking = 1
    changes.clear()
    reported.came(event(2, "question", {"question": 2, "title": "go", "options": []}))
    open_question = [*changes]
    reported.came(event(3, "settled", {"question": 1}))

    assert (open_question, changes, [*reported.questions]) == ([], ["changed"], [2])


@pytest.mark.requirement("tasks.chat")
def test_interruption_leaves_the_agent_at_work_on_a_waiting_prompt(
    reported: Reported, capsys: pytest.CaptureFixture[str]
) -> None:
    reported.begin([], {**IDLE, "seq": 0})
    reported.said.append("mine")
    reported.came(text(1, "half a sentence"))
    reported.came(event(2, "interrupted", {"text": "x"}))

    assert capsys.readouterr().out == "half a sentence\n[interrupted] x\n"
    assert reported.is_working


@pytest.mark.requirement("cli.chat-undo")
async def test_undo_in_a_chat_asks_for_the_last_snapshot_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, before = SnapshotView("s2", 2.0, "a prompt"), SnapshotView("s3", 3.0, "undo")
    undone = Undone(now, before, ("restored a.py",))
    with answering({UndoTaskspace: undone}, tmp_path) as (part, socket):
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        lines = await TaskActions("12345678-9").undo()

    assert part.asked == [UndoTaskspace(taskspace_uuid="12345678-9", snapshot=None)]
    assert lines == (
        'restored the snapshot "a prompt"',
        "`symposium task undo 12345678 --to s3` reverses this undo",
        "restored a.py",
    )
