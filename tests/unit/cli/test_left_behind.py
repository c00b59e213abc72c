"""Notes of a new task about work in the checkout that its base lacks."""

from pathlib import Path

import pytest
from tests.support.git_repository import GitRepository

from symposium.cli.task_changes import left_behind

MAIN = "refs/heads/main"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "symposium"))
    made = GitRepository(tmp_path / "repository")
    made.write("a.txt", "a\n")
    made.commit()
    return made


@pytest.mark.requirement("tasks.new-left-behind")
async def test_clean_checkout_of_the_base_has_no_note(repository: GitRepository) -> None:
    assert await left_behind(repository.path, MAIN) == ""
    assert await left_behind(repository.path / "nowhere", MAIN) == ""


@pytest.mark.requirement("tasks.new-left-behind")
async def test_missing_changes_and_commits_are_counted(
    repository: GitRepository,
) -> None:
    place = repository.path
    repository.write("a.txt", "changed\n")
    changed = await left_behind(place, MAIN)
    repository.write("new.txt", "new\n")
    both = await left_behind(place, MAIN)
    repository.git("checkout", "-q", "-b", "other")
    repository.commit()
    ahead = await left_behind(place, MAIN)
    repository.git("checkout", "-q", "--detach")
    detached = await left_behind(place, MAIN)
    repository.git("checkout", "-q", "--detach", "main")
    at_base = await left_behind(place, "refs/remotes/origin/main")

    assert changed == f"the task starts from main, without 1 uncommitted change of {place}"
    assert both == f"the task starts from main, without 2 uncommitted changes of {place}"
    assert ahead == f"the task starts from main, without 1 commit of {place}"
    assert detached == f"the task starts from main, without 1 commit of {place} (HEAD is detached)"
    assert (
        at_base == f"the task starts from origin/main, not from HEAD of {place} (HEAD is detached)"
    )
