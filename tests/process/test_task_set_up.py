"""Set-up files of a task that are trusted outside of the inbox."""

from pathlib import Path

import pytest
from tests.support.task_cli import TaskCli, git


@pytest.fixture
def asking(task_cli: TaskCli) -> TaskCli:
    """Clone whose tasks need a set-up."""
    recipe = task_cli.clone / ".symposium" / "workspace.toml"
    recipe.parent.mkdir()
    recipe.write_text('setup = ["touch was-run"]\n')
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    return task_cli


@pytest.mark.requirement("tasks.trusted-later")
@pytest.mark.parametrize("agent", ["none", "eliza"])
def test_set_up_trusted_later_waits_until_resume_runs_it(
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
def test_set_up_has_the_environment_of_the_command_that_creates_the_task(task_cli: TaskCli) -> None:
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
def test_untrusted_set_up_is_not_run_by_resume(asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "none")
    again = asking.run("task", "resume", "task")

    assert again.returncode == 0
    assert "waits for trust" in again.stderr
    assert not (Path(made["worktree"]) / "was-run").exists()
    assert [item["kind"] for item in asking.json("inbox")] == ["trust"]
