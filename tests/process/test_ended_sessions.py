"""Ended sessions: their files and their removal."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.task_cli import TaskCli, until

from localio.text import day_of


def statuses(task_cli: TaskCli) -> dict[str, str]:
    return {each["id"]: each["status"] for each in task_cli.json("session", "list")}


def deleted(task_cli: TaskCli, *words: str) -> dict[str, Any]:
    """Create and delete a task that had an agent."""
    made = task_cli.new("gone", "--agent", "eliza")
    task_cli.ok("task", "rm", "gone", "--discard-work", *words)
    return made


@pytest.mark.requirement("agent-sessions.of-deleted-tasks")
def test_sessions_of_deleted_tasks_are_listed_on_request_only(task_cli: TaskCli) -> None:
    made = deleted(task_cli)
    listed = task_cli.run("session", "list")
    (row,) = task_cli.json("session", "list")

    assert made["id"] not in listed.stdout
    assert "1 more of deleted tasks; --all lists them." in listed.stderr
    assert made["id"] in task_cli.ok("session", "list", "--all")
    assert (row["id"], row["deleted"]) == (made["id"], True)
    task_cli.ok("task", "undo", made["id"])
    assert made["id"] in task_cli.ok("session", "list")


@pytest.mark.requirement("agent-sessions.of-deleted-tasks")
def test_session_of_an_agent_is_deleted_with_its_task(task_cli: TaskCli) -> None:
    deleted(task_cli, "--no-archive")
    kept = statuses(task_cli)
    later = deleted(task_cli)
    again = task_cli.run("task", "rm", later["id"], "--no-archive")

    assert kept == {}
    assert again.returncode == 0
    assert "cannot be undone" in again.stdout
    assert statuses(task_cli) == {}
    assert task_cli.tasks() == {}


@pytest.mark.requirement("agent-sessions.of-deleted-tasks")
def test_session_of_an_unknown_task_is_removed(task_cli: TaskCli) -> None:
    made = deleted(task_cli)
    home = task_cli.home / "sessions"
    left = home / "00000000-0000-4000-8000-000000000000"
    (home / made["id"]).rename(left)
    spec = json.loads((left / "session.json").read_text().replace(made["id"], left.name))
    (left / "session.json").write_text(json.dumps(spec))

    shown = task_cli.ok("task", "gc")
    assert "the session of gone, which was deleted for good" in shown
    assert left.exists()
    assert "removed the session of gone" in task_cli.ok("task", "gc", "--apply")
    assert not left.exists()


@pytest.mark.requirement("agent-sessions.forget-ended")
def test_all_ended_sessions_are_removed_at_once_except_those_of_tasks(task_cli: TaskCli) -> None:
    task = task_cli.new("task", "--agent", "eliza")
    task_cli.ok("session", "kill", task["id"])
    ended = [task_cli.ok("session", "start", "--", "true").strip() for _ in range(3)]
    runs = task_cli.ok("session", "start", "--", "sleep", "60").strip()
    until(lambda: [statuses(task_cli)[each] for each in ended] == ["exited"] * 3)

    task_cli.ok("session", "forget", ended[0], ended[1])
    assert set(statuses(task_cli)) == {task["id"], ended[2], runs}
    assert task_cli.run("session", "forget").returncode == 2
    assert "removed 1 session" in task_cli.run("session", "forget", "--ended").stderr
    assert set(statuses(task_cli)) == {task["id"], runs}


@pytest.mark.requirement("tasks.deleted-already")
def test_second_deletion_reports_until_when_the_task_can_be_restored(
    task_cli: TaskCli,
) -> None:
    made = deleted(task_cli)
    again = task_cli.run("task", "rm", made["id"])
    ends = day_of((datetime.now(UTC) + timedelta(days=14)).isoformat())

    assert again.returncode == 0
    assert "'gone' is already deleted" in again.stderr
    assert f"`symposium task undo {made['id'][:8]}` restores it, until {ends}" in again.stderr
    assert "not safe" not in again.stdout
