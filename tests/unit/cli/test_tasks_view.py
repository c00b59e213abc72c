"""Output of a task's log."""

import json

import pytest

from localio.text import minute_of
from symposium.bus.messages.tasks import GuidanceReading, TaskLog, TaskView
from symposium.cli import tasks
from symposium.cli.tasks import category_text, reading_lines, show_tasks, task_line

AT = "2026-11-22T10:00:00Z"
SIGNS = {
    "setting up": "…",
    "working": ">",
    "idle": "-",
    "setup failed": "x",
    "lost contact": "x",
    "agent ended": "-",
    "finished (unreviewed)": "*",
    "landed": "+",
    "ready": ".",
    "archived": " ",
    "waiting: trust": "?",
    "paused: budget": "?",
    "unheard of": "!",
}


@pytest.mark.requirement("front.log-signs")
@pytest.mark.parametrize(
    ("category", "on_terminal"),
    [("info", "\u2139 info"), ("error", "\u274c error"), ("milestone", "\u2705 milestone")],
)
def test_category_has_a_symbol_only_on_a_terminal(
    category: str, on_terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        def __init__(self, *, is_terminal: bool) -> None:
            self.is_terminal = is_terminal

        def isatty(self) -> bool:
            return self.is_terminal

    shown: list[str] = []
    for is_terminal in (True, False):
        monkeypatch.setattr(tasks.sys, "stdout", Stream(is_terminal=is_terminal))
        shown.append(category_text(category))
    monkeypatch.undo()

    assert shown == [on_terminal, category]


@pytest.mark.requirement("guidance.read-visible")
def test_guidance_reading_is_shown_with_its_layer() -> None:
    at = "2026-11-22T10:00:00Z"
    readings = [
        GuidanceReading("main.md", "team", "x", at, 1),
        GuidanceReading("yiasou\x1b[2J", "", "x", at, 1),
    ]

    text, prompt = reading_lines(readings)

    assert text == f"main.md (team) read at {minute_of(at)}"
    assert prompt == f"yiasou␛[2J read at {minute_of(at)}"


@pytest.mark.requirement("cli.empty-task-list")
def test_empty_list_of_tasks_is_an_empty_array_in_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_tasks([], as_json=True)
    for_programs = capsys.readouterr()
    show_tasks([], as_json=False)
    shown = capsys.readouterr()

    assert (json.loads(for_programs.out), for_programs.err) == ([], "")
    assert shown.out == ""
    assert shown.err == "There are no tasks; `symposium task new NAME` creates one.\n"


@pytest.mark.requirement("tasks.commands")
def test_line_of_a_task_has_the_sign_of_its_state_and_no_control_characters() -> None:
    last = TaskLog(1, AT, "info", "done\x1b " + "x" * 100)
    lines: list[str] = []
    for state in SIGNS:
        about = ("fix\x1b " + "x" * 60, "", "/p", "/w", "b", "main", "ready", state, AT, AT)
        lines.append(task_line(TaskView("6f1c2a77-0000", *about, last=last)))

    assert lines == [
        f'{sign} fix␛ {"x" * 26}…  {state:18}  6f1c2a77  "done␛ {"x" * 53}…"'
        for state, sign in SIGNS.items()
    ]
