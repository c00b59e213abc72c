"""An agent destroys its worktree without asking; the saved state survives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.chaos import AGENT, TIMEOUT, WAYS, UnaskedTasks, results, whole
from tests.support.task_cli import TaskCli, until

SOME: Final = tuple(WAYS)[::7]
"""All of them take a minute: `make chaos` runs them."""


@pytest.mark.requirement("tasks.undo-unasked")
def test_first_unasked_action_of_an_agent_is_undone(task_cli: TaskCli) -> None:
    task = task_cli.new("chaos", "$ rm -rf ./*", "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)
    file = Path(task["worktree"]) / "a.txt"
    is_destroyed = not file.exists()

    task_cli.ok("task", "undo", task["id"])

    assert is_destroyed
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.requirement("tasks.undo-unasked")
def test_file_of_one_tool_call_is_restored_after_the_next_destroys_it(task_cli: TaskCli) -> None:
    made = ["mkdir new; echo work > new/file", "echo more >> a.txt"]
    calls = [*made, "rm -rf new; git checkout -q a.txt"]
    prompt = "\n".join(f"$ {command}" for command in calls)
    task = task_cli.new("chaos", prompt, "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)

    task_cli.ok("task", "undo", task["id"])

    tree = Path(task["worktree"])
    assert (tree / "new/file").read_text() == "work\n"
    assert (tree / "a.txt").read_text() == "one\ntwo\nthree\nmore\n"


@pytest.mark.requirement("snapshots.stands-still")
def test_agent_continues_with_a_notice_when_no_snapshot_can_be_made(task_cli: TaskCli) -> None:
    store = task_cli.home / "taskspaces" / "snapshots"
    calls = [f"$ rm -rf '{store}'; echo no store > '{store}'", "$ echo on > on"]
    task = task_cli.new("chaos", "\n".join(calls), "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)

    messages = [
        each["data"]["text"] for each in task_cli.events(task["id"]) if each["type"] == "notice"
    ]
    assert (Path(task["worktree"]) / "on").read_text() == "on\n"
    assert messages[0].startswith("could not save the worktree (")


@pytest.mark.requirement("snapshots.stands-still")
def test_agent_continues_without_a_daemon_with_one_notice(task_cli: TaskCli) -> None:
    task = task_cli.new("chaos", "$ true", "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)
    task_cli.ok("daemon", "stop")
    task_cli.ok("session", "say", task["id"], "$ echo one > on\n$ echo two >> on")
    until(lambda: results(task_cli, task["id"]) > 1, TIMEOUT)

    messages = [
        each["data"]["text"] for each in task_cli.events(task["id"]) if each["type"] == "notice"
    ]
    assert (Path(task["worktree"]) / "on").read_text() == "one\ntwo\n"
    assert [each.partition(":")[0] for each in messages] == [
        "could not save the worktree (before a prompt)"
    ]


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnaskedTasks]:
    """One task for all, until a way is not undone."""
    tasks = UnaskedTasks(tmp_path_factory)
    yield tasks
    tasks.close()


@pytest.mark.requirement("tasks.undo-unasked")
@pytest.mark.parametrize("way", SOME)
def test_agent_that_destroys_its_worktree_without_asking_loses_nothing(
    way: str, chaos: UnaskedTasks
) -> None:
    with chaos.one() as task:
        before = whole(task.tree)

        task.turn(WAYS[way])
        task.undo()

        assert whole(task.tree) == before
