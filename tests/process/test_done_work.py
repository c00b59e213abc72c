"""An agent that is done waits in the inbox for a review, if it has changed files."""

from collections.abc import Callable

import pytest
from tests.support.chaos import AGENT, results
from tests.support.task_desk import Desk, git, until


@pytest.mark.requirement("approvals.done")
def test_work_that_is_done_waits_for_a_review_until_it_is_reviewed_or_landed(desk: Desk) -> None:
    task = desk.new("builds", "$ echo one > made", "--agent", AGENT)["id"]
    (first,) = until(lambda: desk.json("inbox"))
    desk.ok("inbox", "answer", "builds", "reviewed")
    late = desk.run("inbox", "answer", first["id"], "reviewed")
    after_review = desk.json("inbox")
    turn(desk, task, "$ cat made")
    after_reading = desk.json("inbox")
    turn(desk, task, "$ git add -A; git commit -qm made")
    (second,) = desk.json("inbox")
    desk.kill_daemon()
    after_restart = desk.json("inbox")
    desk.ok("task", "land", task)

    assert (first["kind"], first["name"]) == ("done", "builds")
    assert [each["id"] for each in first["choices"]] == ["reviewed"]
    assert f"`symposium task diff {task[:8]}` shows them" in first["text"]
    assert "already answered by" in late.stderr
    assert (after_review, after_reading) == ([], [])
    assert second["id"] != first["id"]
    assert after_restart == [second]
    assert desk.json("inbox") == []


@pytest.mark.requirement("approvals.done-own-work")
def test_branch_made_in_the_clone_during_a_turn_does_not_make_the_task_wait_for_a_review(
    desk: Desk, scripted: Callable[..., str]
) -> None:
    task = desk.new("asks", "--agent", scripted("prompt=ask:edit"))["id"]
    (item,) = until(lambda: desk.json("inbox"))
    git(desk.clone, "branch", "unrelated")
    desk.ok("inbox", "answer", item["id"], "y")
    until(lambda: results(desk, task))
    until(lambda: desk.tasks()["asks"]["state"] == "idle")

    assert desk.json("inbox") == []


def turn(desk: Desk, task: str, prompt: str) -> None:
    """Give a prompt, and wait until its turn is over and the daemon knows it."""
    before = results(desk, task)
    desk.ok("task", "say", task, prompt)
    until(lambda: results(desk, task) > before)
    until(lambda: desk.tasks()["builds"]["state"] == "idle")
