"""Output of task agents: `task attach` and `session attach`."""

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.support.task_cli import TaskCli, until

Spec: TypeAlias = Callable[..., str]

ASKING = {"title": "Bash", "kind": "execute", "rawInput": {"command": "exit 3"}}


@pytest.mark.requirement("showing.user-words", "showing.events", "showing.look-and-leave")
def test_prompts_and_answers_are_shown_in_readable_form(task_cli: TaskCli, scripted: Spec) -> None:
    task = task_cli.new(
        "french", "Greet in French", "--agent", scripted(f"prompt=ask:{json.dumps(ASKING)}")
    )
    until(lambda: task_cli.json("inbox"))
    shown = task_cli.ok("task", "attach", "french", "--no-follow")

    assert "[prompt] Greet in French\n" in shown
    assert "You work in a taskspace" not in shown
    assert "[question 1] wants to run: exit 3\n  answer: y (Allow once), n (Reject once)" in shown
    assert "symposium task attach --no-follow" in task_cli.run("task", "log", "french").stderr

    task_cli.ok("inbox", "answer", "french", "y")
    until(lambda: "optionId" in task_cli.said(task["id"]))
    task_cli.ok("session", "kill", task["id"])
    after = task_cli.ok("task", "attach", "french", "--no-follow", "--json")
    kinds = [json.loads(line)["type"] for line in after.splitlines()]
    assert {"prompt", "question", "settled"} <= {*kinds}


@pytest.mark.requirement("showing.look-and-leave", "showing.session-ids")
def test_output_of_a_terminal_can_be_shown_while_it_runs_and_afterwards(
    task_cli: TaskCli,
) -> None:
    started = task_cli.ok(
        "session", "start", "--", "sh", "-c", "echo hello there; exec cat"
    ).strip()
    until(lambda: "hello there" in task_cli.ok("session", "attach", started[:8], "--no-follow"))
    refused = task_cli.run("session", "kill", started[:8])
    task_cli.ok("session", "kill", started)

    assert refused.returncode == 4
    assert started in refused.stderr
    assert "hello there" in task_cli.ok("session", "attach", started, "--no-follow")
