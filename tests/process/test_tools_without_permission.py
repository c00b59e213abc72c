"""An agent that asks no permission destroys its tree: what it had is kept all the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.chaos import AGENT, TIMEOUT, WAYS, UnaskedTasks, results, whole
from tests.support.task_cli import TaskCli, until

SOME: Final = tuple(WAYS)[::7]
"""All of them take a minute: `make chaos` runs them."""


@pytest.mark.requirement("tasks.undo-unasked")
def test_the_first_thing_that_an_agent_does_without_asking_is_undone(task_cli: TaskCli) -> None:
    task = task_cli.new("chaos", "$ rm -rf ./*", "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)
    file = Path(task["worktree"]) / "a.txt"
    is_destroyed = not file.exists()

    task_cli.ok("task", "undo", task["id"])

    assert is_destroyed
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.requirement("tasks.undo-unasked")
def test_what_one_tool_call_made_and_the_next_destroys_is_brought_back(task_cli: TaskCli) -> None:
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
def test_an_agent_goes_on_where_nothing_can_be_kept_and_that_is_told(task_cli: TaskCli) -> None:
    store = task_cli.home / "taskspaces" / "snapshots"
    calls = [f"$ rm -rf '{store}'; echo no store > '{store}'", "$ echo on > on"]
    task = task_cli.new("chaos", "\n".join(calls), "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)

    told = [
        each["data"]["text"] for each in task_cli.events(task["id"]) if each["type"] == "notice"
    ]
    assert (Path(task["worktree"]) / "on").read_text() == "on\n"
    assert told[0].startswith("could not save the worktree (")


@pytest.mark.requirement("snapshots.stands-still")
def test_an_agent_goes_on_at_once_without_a_daemon_and_that_is_told_once(task_cli: TaskCli) -> None:
    task = task_cli.new("chaos", "$ true", "--agent", AGENT)
    until(lambda: results(task_cli, task["id"]), TIMEOUT)
    task_cli.ok("daemon", "stop")
    task_cli.ok("session", "say", task["id"], "$ echo one > on\n$ echo two >> on")
    until(lambda: results(task_cli, task["id"]) > 1, TIMEOUT)

    told = [
        each["data"]["text"] for each in task_cli.events(task["id"]) if each["type"] == "notice"
    ]
    assert (Path(task["worktree"]) / "on").read_text() == "one\ntwo\n"
    assert [each.partition(":")[0] for each in told] == [
        "could not save the worktree (before a prompt)"
    ]


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnaskedTasks]:
    """One task for all, until a way is not brought back."""
    tasks = UnaskedTasks(tmp_path_factory)
    yield tasks
    tasks.close()


@pytest.mark.requirement("tasks.undo-unasked")
@pytest.mark.parametrize("way", SOME)
def test_an_agent_that_asks_nobody_and_destroys_its_tree_at_once_loses_nothing(
    way: str, chaos: UnaskedTasks
) -> None:
    with chaos.one() as task:
        before = whole(task.tree)

        task.turn(WAYS[way])
        task.undo()

        assert whole(task.tree) == before
