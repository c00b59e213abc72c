"""Worktrees of a repository, found from its files."""

from pathlib import Path

import pytest
from tests.support.git_repository import GitRepository

from symposium.cli.walkthroughs import worktrees_of


@pytest.mark.requirement("walkthroughs.project-worktrees")
def test_all_worktrees_are_found_from_any_worktree(tmp_path: Path) -> None:
    main, linked = GitRepository(tmp_path / "main"), tmp_path / "linked"
    main.commit()
    main.git("worktree", "add", "--quiet", str(linked))
    (linked / "deep").mkdir()

    for place in (main.path, linked, linked / "deep"):
        assert worktrees_of(place) == [main.path, linked]
    assert worktrees_of(tmp_path) == []


@pytest.mark.requirement("walkthroughs.project-worktrees")
def test_folder_of_a_bare_repository_is_not_a_worktree(tmp_path: Path) -> None:
    main, bare, linked = (
        GitRepository(tmp_path / "main"),
        tmp_path / "bare.git",
        tmp_path / "linked",
    )
    main.commit()
    main.git("clone", "--quiet", "--bare", ".", str(bare))
    main.git("--git-dir", str(bare), "worktree", "add", "--quiet", str(linked))

    assert worktrees_of(linked) == [linked]
