"""`symposium uninstall` after real use: removed and remaining files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.git_repository import GitRepository
from tests.support.task_cli import TaskCli, until

pytestmark = pytest.mark.timeout(120)

Spec: TypeAlias = Callable[..., str]


def git(clone: Path, *words: str) -> str:
    return GitRepository(clone).git(*words)


@pytest.mark.requirement("cli.uninstall")
def test_uninstall_removes_symposium_and_keeps_the_work_of_tasks(
    task_cli: TaskCli, scripted: Spec
) -> None:
    made = task_cli.new("works", "Do it", "--agent", scripted("any=text"))
    until(lambda: task_cli.tasks()["works"]["state"] == "idle")
    worktree = Path(made["worktree"])
    (worktree / "unsaved.txt").write_text("work\n", encoding="utf-8")
    git(task_cli.clone, "update-ref", "refs/symposium/snap/old/1", "HEAD")
    git(task_cli.clone, "config", "uploadpack.hideRefs", "refs/symposium/")

    listed = task_cli.run("uninstall")
    assert listed.returncode == 2
    assert "rerun with --yes" in listed.stderr
    assert task_cli.home.is_dir()
    done = task_cli.run("uninstall", "--yes")
    again = task_cli.run("uninstall", "--yes")

    assert done.returncode == 0, done.stderr
    assert f"running agent     {made['id']}" in done.stdout
    assert f"stays: worktree   {worktree}, branch {made['branch']}" in done.stdout
    assert not task_cli.home.exists()
    assert not (worktree.parent / ".symposium").exists()
    assert git(task_cli.clone, "for-each-ref", "refs/symposium/") == ""
    assert "symposium" not in (task_cli.clone / ".git" / "config").read_text(encoding="utf-8")
    assert (worktree / "unsaved.txt").read_text(encoding="utf-8") == "work\n"
    assert made["branch"] in git(task_cli.clone, "branch", "--format=%(refname:short)")
    assert again.returncode == 0
    assert "Nothing to remove." in again.stderr


@pytest.mark.requirement("cli.uninstall")
def test_editor_settings_are_undone(task_cli: TaskCli, tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{\n  // mine\n  "theme": "One"\n}\n', encoding="utf-8")
    before = settings.read_text(encoding="utf-8")
    environment = {**task_cli.environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    mine = TaskCli(task_cli.clone, environment)

    written = mine.run("setup", "zed", "--write", "--yes")
    changed = settings.read_text(encoding="utf-8")
    done = mine.run("uninstall", "--yes")

    assert (written.returncode, done.returncode) == (0, 0), written.stderr + done.stderr
    assert changed != before
    assert "editor settings   zed" in done.stdout
    assert settings.read_text(encoding="utf-8") == before


@pytest.mark.requirement("cli.uninstall")
def test_unreadable_list_of_tasks_stops_it_before_anything_is_removed(
    task_cli: TaskCli,
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "taskspaces.db").write_bytes(b"not a database")
    (task_cli.home / "config.jsonc").write_text(json.dumps({"agent": "eliza"}), encoding="utf-8")

    done = task_cli.run("uninstall", "--yes")

    assert done.returncode != 0
    assert "taskspaces.db" in done.stderr
    assert (task_cli.home / "config.jsonc").exists()


@pytest.mark.requirement("cli.uninstall-repeatable")
def test_refs_that_cannot_be_removed_keep_the_files_until_uninstall_is_repeated(
    task_cli: TaskCli,
) -> None:
    task_cli.new("works", "--agent", "none")
    ref = "refs/symposium/snap/old/1"
    git(task_cli.clone, "update-ref", ref, "HEAD")
    lock = task_cli.clone / ".git" / f"{ref}.lock"
    lock.touch()

    failed = task_cli.run("uninstall", "--yes")
    kept = (task_cli.home / "taskspaces.db").exists()
    lock.unlink()
    done = task_cli.run("uninstall", "--yes")

    assert failed.returncode == 1
    assert f"{task_cli.clone}: " in failed.stderr
    assert "rerun `symposium uninstall`" in failed.stderr
    assert kept
    assert done.returncode == 0, done.stderr
    assert git(task_cli.clone, "for-each-ref", "refs/symposium/") == ""
    assert not task_cli.home.exists()
