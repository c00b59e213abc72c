"""Files whose content snapshots take from git in a large worktree."""

import os
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, git


@pytest.mark.requirement("snapshots.seeded")
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_file_that_git_does_not_compare_is_saved(
    flag: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a large worktree, where git reports the unchanged files.
    monkeypatch.setattr("symposium.tasks.snapshots.watched_files._SEEDED", 0)
    made = await scene.made()
    worktree = Path(made.worktree)
    git("update-index", flag, "README.md", cwd=worktree)
    (worktree / "README.md").write_text("hidden work\n", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "tool call")

    (worktree / "README.md").write_text("gone\n", encoding="utf-8")
    os.truncate(worktree / "src/app.py", 0)
    await scene.engine.history.undo(made.id)

    assert (worktree / "README.md").read_text(encoding="utf-8") == "hidden work\n"
