"""Clones of every kind work with the configuration that Symposium gives to git."""

from pathlib import Path

import pytest
from tests.support.task_harness import Scene, git, there

from symposium.tasks.creation import CreateRequest
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.land import Join, Landed, LandOptions


async def live(scene: Scene, clone: Path, join: Join = Join.REBASE) -> Path:
    """Create, change, land, delete, and restore a task; return its worktree."""
    made = await scene.engine.create(CreateRequest(clone, "whole life"))
    worktree = Path(made.worktree)
    scene.commit(scene.upstream, "theirs", "theirs\n")
    scene.commit(worktree, "mine", "mine\n")
    await scene.engine.history.snapshot(made.id, "tool call")
    assert isinstance(await scene.engine.land(made.id, LandOptions(join)), Landed)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.engine.trash.undo(made.id)
    assert git("status", "--porcelain", cwd=worktree) == ""
    assert (worktree / "mine").read_text(encoding="utf-8") == "mine\n"
    assert (worktree / "theirs").read_text(encoding="utf-8") == "theirs\n"
    return worktree


@pytest.mark.requirement("taskspaces.clone-kinds")
@pytest.mark.parametrize("join", list(Join))
async def test_partial_clone_fetches_the_files_of_a_task(join: Join, scene: Scene) -> None:
    git("config", "uploadpack.allowFilter", "true", cwd=scene.upstream)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=scene.upstream)
    clone = scene.root / "partial"
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{scene.upstream}")
    git(*words, str(clone), cwd=scene.root)

    worktree = await live(scene, clone, join)

    assert (worktree / "src/app.py").read_bytes().startswith(b"line = 1\n")


@pytest.mark.requirement("taskspaces.clone-kinds")
async def test_task_of_a_sparse_checkout_is_sparse(scene: Scene) -> None:
    git("sparse-checkout", "set", "--cone", "docs", cwd=scene.clone)

    worktree = await live(scene, scene.clone)

    assert not there(worktree / "src")
    assert git("sparse-checkout", "list", cwd=worktree) == "docs"


@pytest.mark.requirement("taskspaces.clone-kinds")
async def test_repository_with_sha256_hashes_works(scene: Scene) -> None:
    upstream = scene.upstream
    git("init", "-q", "--object-format=sha256", "-b", "main", str(scene.root / "up"), cwd=upstream)
    (upstream / ".git").rename(scene.root / "old")
    (scene.root / "up" / ".git").rename(upstream / ".git")
    git("add", "-A", cwd=upstream)
    git("commit", "-qm", "first", cwd=upstream)
    clone = scene.root / "other"
    git("clone", "-q", str(upstream), str(clone), cwd=scene.root)

    worktree = await live(scene, clone)

    assert len(git("rev-parse", "HEAD", cwd=worktree)) == 64


@pytest.mark.requirement("taskspaces.clone-kinds")
async def test_filters_of_the_user_run_and_those_of_a_clone_do_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = scene.root / "own"
    own.write_text(
        "[user]\n\tname = Tess\n\temail = t@example.org\n"
        '[filter "upper"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    git("config", "filter.lower.smudge", "tr a-z x", cwd=scene.clone)
    scene.commit(scene.upstream, ".gitattributes", "*.up filter=upper\n*.lo filter=lower\n")
    scene.commit(scene.upstream, "a.up", "text\n")
    scene.commit(scene.upstream, "a.lo", "text\n")

    worktree = Path((await scene.make()).worktree)

    assert (worktree / "a.up").read_text(encoding="utf-8") == "TEXT\n"
    assert (worktree / "a.lo").read_text(encoding="utf-8") == "text\n"
