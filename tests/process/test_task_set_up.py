"""The set-up files of a task, trusted somewhere else than in the inbox."""

from pathlib import Path

import pytest
from tests.support.task_cli import TaskCli, git


@pytest.fixture
def asking(task_cli: TaskCli) -> TaskCli:
    """A clone whose tasks want a set-up."""
    recipe = task_cli.clone / ".symposium" / "workspace.toml"
    recipe.parent.mkdir()
    recipe.write_text('setup = ["touch was-run"]\n')
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    return task_cli


@pytest.mark.requirement("tasks.trusted-later")
@pytest.mark.parametrize("agent", ["none", "eliza"])
def test_what_was_trusted_since_waits_until_it_is_done_and_resuming_does_it(
    agent: str, asking: TaskCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(asking.clone)
    made = asking.new("task", "--agent", agent)
    asking.ok("trust", "grant", "--yes")
    (item,) = asking.json("inbox")
    resumed = asking.ok("task", "resume", "task")

    assert (item["kind"], item["taskspace"]) == ("trust", made["id"])
    assert (Path(made["worktree"]) / "was-run").exists()
    assert "task" in resumed
    assert asking.json("inbox") == []
    assert "not trusted" not in asking.ok("task", "show", "task")


@pytest.mark.requirement("tasks.environment")
def test_a_set_up_finds_what_who_makes_the_task_has_in_their_environment(task_cli: TaskCli) -> None:
    task_cli.ok("daemon", "start")
    recipe = task_cli.clone / ".symposium" / "workspace.toml"
    recipe.parent.mkdir()
    recipe.write_text("setup = ['echo \"$FAKE_REGISTRY $SYMPOSIUM_TASKSPACE\" > was-run']\n")
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    shell = TaskCli(task_cli.clone, {**task_cli.environment, "FAKE_REGISTRY": "ours"})
    made = shell.new("task", "--agent", "none")
    shell.ok("task", "resume", "task", "--trust")

    assert (Path(made["worktree"]) / "was-run").read_text() == f"ours {made['id']}\n"


@pytest.mark.requirement("tasks.trusted-later")
def test_what_is_not_trusted_is_not_done_by_resuming(asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "none")
    again = asking.run("task", "resume", "task")

    assert again.returncode == 0
    assert "not trusted" in again.stderr
    assert not (Path(made["worktree"]) / "was-run").exists()
    assert [item["kind"] for item in asking.json("inbox")] == ["trust"]
