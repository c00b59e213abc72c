"""`symposium uninstall` after real use: what goes, and what stays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.git_repository import GitRepository
from tests.support.task_desk import Desk, until

pytestmark = pytest.mark.timeout(120)

Spec: TypeAlias = Callable[..., str]


def git(clone: Path, *words: str) -> str:
    return GitRepository(clone).git(*words)


@pytest.mark.requirement("cli.uninstall")
def test_everything_of_symposium_goes_and_the_work_of_tasks_stays(
    desk: Desk, scripted: Spec
) -> None:
    made = desk.new("works", "Do it", "--agent", scripted("any=text"))
    until(lambda: desk.tasks()["works"]["state"] == "idle")
    worktree = Path(made["worktree"])
    (worktree / "unsaved.txt").write_text("work\n", encoding="utf-8")
    git(desk.clone, "update-ref", "refs/symposium/snap/old/1", "HEAD")
    git(desk.clone, "config", "uploadpack.hideRefs", "refs/symposium/")

    listed = desk.run("uninstall")
    assert listed.returncode == 2
    assert "rerun with --yes" in listed.stderr
    assert desk.home.is_dir()
    done = desk.run("uninstall", "--yes")
    again = desk.run("uninstall", "--yes")

    assert done.returncode == 0, done.stderr
    assert f"running agent     {made['id']}" in done.stdout
    assert f"stays: worktree   {worktree}, branch {made['branch']}" in done.stdout
    assert not desk.home.exists()
    assert not (worktree.parent / ".symposium").exists()
    assert git(desk.clone, "for-each-ref", "refs/symposium/") == ""
    assert "symposium" not in (desk.clone / ".git" / "config").read_text(encoding="utf-8")
    assert (worktree / "unsaved.txt").read_text(encoding="utf-8") == "work\n"
    assert made["branch"] in git(desk.clone, "branch", "--format=%(refname:short)")
    assert again.returncode == 0
    assert "Nothing to remove." in again.stderr


@pytest.mark.requirement("cli.uninstall")
def test_editor_settings_are_undone(desk: Desk, tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{\n  // mine\n  "theme": "One"\n}\n', encoding="utf-8")
    before = settings.read_text(encoding="utf-8")
    environment = {**desk.environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    mine = Desk(desk.clone, environment)

    written = mine.run("setup", "zed", "--write", "--yes")
    changed = settings.read_text(encoding="utf-8")
    done = mine.run("uninstall", "--yes")

    assert (written.returncode, done.returncode) == (0, 0), written.stderr + done.stderr
    assert changed != before
    assert "editor settings   zed" in done.stdout
    assert settings.read_text(encoding="utf-8") == before


@pytest.mark.requirement("cli.uninstall")
def test_a_list_of_tasks_that_cannot_be_read_stops_it_before_anything_goes(desk: Desk) -> None:
    desk.home.mkdir(exist_ok=True)
    (desk.home / "taskspaces.db").write_bytes(b"not a database")
    (desk.home / "config.jsonc").write_text(json.dumps({"agent": "eliza"}), encoding="utf-8")

    done = desk.run("uninstall", "--yes")

    assert done.returncode != 0
    assert "taskspaces.db" in done.stderr
    assert (desk.home / "config.jsonc").exists()


@pytest.mark.requirement("cli.uninstall-repeatable")
def test_refs_that_cannot_be_removed_keep_the_files_until_uninstall_is_repeated(
    desk: Desk,
) -> None:
    desk.new("works", "--agent", "none")
    ref = "refs/symposium/snap/old/1"
    git(desk.clone, "update-ref", ref, "HEAD")
    lock = desk.clone / ".git" / f"{ref}.lock"
    lock.touch()

    failed = desk.run("uninstall", "--yes")
    kept = (desk.home / "taskspaces.db").exists()
    lock.unlink()
    done = desk.run("uninstall", "--yes")

    assert failed.returncode == 1
    assert f"{desk.clone}: " in failed.stderr
    assert "rerun `symposium uninstall`" in failed.stderr
    assert kept
    assert done.returncode == 0, done.stderr
    assert git(desk.clone, "for-each-ref", "refs/symposium/") == ""
    assert not desk.home.exists()
