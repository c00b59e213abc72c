"""Finished agents in the inbox: a review is requested if files have changed."""

from collections.abc import Callable

import pytest
from tests.support.chaos import AGENT, results
from tests.support.task_cli import TaskCli, git, until


@pytest.mark.requirement("approvals.done")
def test_finished_work_waits_until_it_is_reviewed_or_landed(
    task_cli: TaskCli,
) -> None:
    task = task_cli.new("builds", "$ echo one > made", "--agent", AGENT)["id"]
    (first,) = until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "answer", "builds", "reviewed")
    late = task_cli.run("inbox", "answer", first["id"], "reviewed")
    after_review = task_cli.json("inbox")
    turn(task_cli, task, "$ cat made")
    after_reading = task_cli.json("inbox")
    turn(task_cli, task, "$ git add -A; git commit -qm made")
    (second,) = task_cli.json("inbox")
    task_cli.kill_daemon()
    after_restart = task_cli.json("inbox")
    task_cli.ok("task", "land", task)

    assert (first["kind"], first["name"]) == ("done", "builds")
    assert [each["id"] for each in first["choices"]] == ["reviewed"]
    assert f"`symposium task diff {task[:8]}` shows them" in first["text"]
    assert "already answered by" in late.stderr
    assert (after_review, after_reading) == ([], [])
    assert second["id"] != first["id"]
    assert after_restart == [second]
    assert task_cli.json("inbox") == []


@pytest.mark.requirement("approvals.done-own-work")
def test_branch_made_in_the_clone_during_a_turn_does_not_request_a_review(
    task_cli: TaskCli, scripted: Callable[..., str]
) -> None:
    task = task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))["id"]
    (item,) = until(lambda: task_cli.json("inbox"))
    git(task_cli.clone, "branch", "unrelated")
    task_cli.ok("inbox", "answer", item["id"], "y")
    until(lambda: results(task_cli, task))
    until(lambda: task_cli.tasks()["asks"]["state"] == "idle")

    assert task_cli.json("inbox") == []


def turn(task_cli: TaskCli, task: str, prompt: str) -> None:
    """Send a prompt, and wait until its turn is over and the daemon knows it."""
    before = results(task_cli, task)
    task_cli.ok("task", "say", task, prompt)
    until(lambda: results(task_cli, task) > before)
    until(lambda: task_cli.tasks()["builds"]["state"] == "idle")
