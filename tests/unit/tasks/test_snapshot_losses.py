"""Snapshots contain every change, also after failures and races."""

import asyncio
import os
import resource
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from tests.support.synced_files import SyncedFiles
from tests.support.task_harness import Scene, git, store_of, tree_of

from localio.git import GitCommandError
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.snapshots import exclusions, file_restore
from symposium.tasks.snapshots.clone_state import Refs
from symposium.tasks.snapshots.file_contents import SnapshotReading
from symposium.tasks.snapshots.file_metadata import Mirror
from symposium.tasks.snapshots.objects import Objects
from symposium.tasks.snapshots.scan import Scan

STEPS: tuple[tuple[type, str], ...] = (
    (Scan, "visit"),
    (Scan, "apply_ignored"),
    (Scan, "exclude_large_folders"),
    (SnapshotReading, "read"),
    (Objects, "put_file"),
    (Mirror, "build"),
    (Objects, "sync"),
)
DAYS_AGO = 5 * 86400


def texts_of(paths: Iterable[str]) -> list[str]:
    return [Path(each).read_text(encoding="utf-8") for each in paths]


@pytest.fixture
async def made(scene: Scene) -> Taskspace:
    """A task with one snapshot."""
    made = await scene.made()
    await scene.engine.history.snapshot(made.id, "first")
    return made


def change(worktree: Path) -> None:
    """Write a file, create one, and delete one."""
    (worktree / "README.md").write_text("work", encoding="utf-8")
    (worktree / "new").mkdir()
    (worktree / "new/file").write_text("work", encoding="utf-8")
    (worktree / "src/app.py").unlink()


def empty(worktree: Path) -> None:
    """Delete everything except `.git`."""
    for each in worktree.iterdir():
        if each.name != ".git":
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()


async def assert_kept(scene: Scene, made: Taskspace) -> None:
    """Assert that the next snapshot contains the current files, and that undo restores them."""
    worktree = Path(made.worktree)
    before = tree_of(worktree)
    taken = await scene.engine.history.snapshot(made.id, "tool call")
    empty(worktree)
    await scene.engine.history.restore(made.id, taken.ref)
    assert tree_of(worktree) == before


def full(*_: object) -> None:
    """Fail like a full disk."""
    raise OSError(ENOSPC, os.strerror(ENOSPC))


@pytest.mark.requirement("snapshots.after-failure")
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=lambda each: getattr(each, "__name__", each))
async def test_changes_of_a_failed_snapshot_are_in_the_next_one(
    owner: type, step: str, scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(Path(made.worktree))

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, full)
        with pytest.raises(TaskspaceError, match="No space left"):
            await scene.engine.history.snapshot(made.id, "tool call")

    await assert_kept(scene, made)


@pytest.mark.requirement("snapshots.after-failure")
async def test_no_longer_ignored_files_are_complete_after_a_failed_snapshot(
    scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree, excluded = Path(made.worktree), scene.clone / ".git/info/exclude"
    monkeypatch.setattr(exclusions.Bounds.__init__, "__defaults__", (100, 2000, 10000))
    excluded.write_text("large\n", encoding="utf-8")
    (worktree / "large").write_text("x" * 1000, encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "ignored")
    # The known state is saved at the end.
    scene = scene.again()
    await scene.engine.history.snapshot(made.id, "ignored, after a restart")
    excluded.write_text("", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(Scan, "visit", full)
        with pytest.raises(TaskspaceError, match="No space left"):
            await scene.engine.history.snapshot(made.id, "tool call")

    await assert_kept(scene, made)
    scene.engine.close()


@pytest.mark.requirement("snapshots.after-failure")
@pytest.mark.parametrize(("owner", "step"), [(SnapshotReading, "read"), (Mirror, "build")])
async def test_changes_of_a_canceled_snapshot_are_in_the_next_one(
    owner: type, step: str, scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(Path(made.worktree))
    loop, goes_on, is_over = asyncio.get_running_loop(), threading.Event(), threading.Event()
    real: Callable[..., Any] = getattr(owner, step)

    def slow(*values: object) -> object:
        loop.call_soon_threadsafe(taking.cancel)
        goes_on.wait(60)
        try:
            return real(*values)
        finally:
            is_over.set()

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, slow)
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(scene.engine.history.snapshot(made.id, "canceled"))
    (Path(made.worktree) / "new/another").write_text("work", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "while a thread is still at work")
    goes_on.set()
    assert is_over.wait(60)

    assert taking.cancelled()
    await assert_kept(scene, made)


@pytest.mark.requirement("snapshots.watched")
async def test_change_is_detected_after_the_parent_folder_was_replaced(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    parent, aside = worktree.parent, worktree.parent.with_name("aside")
    parent.rename(aside)
    shutil.copytree(aside, parent, symlinks=True)

    change(worktree)

    await assert_kept(scene, made)


@pytest.mark.requirement("snapshots.refs")
async def test_ref_packed_during_the_read_is_found(
    scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "idea", cwd=scene.clone)
    refs = Refs(scene.clone / ".git")
    before = await refs.read()
    walk = os.walk

    def packed(place: Path) -> Iterator[Any]:
        git("pack-refs", "--all", cwd=scene.clone)
        return walk(place)

    monkeypatch.setattr(os, "walk", packed)

    assert await refs.read() == before
    assert made.branch is not None
    assert f"refs/heads/{made.branch}" in before


@pytest.mark.requirement("snapshots.refs")
async def test_packed_refs_changed_with_equal_size_and_time_are_read_again(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    git("branch", "idea", cwd=worktree)
    git("pack-refs", "--all", cwd=worktree)
    packed = scene.clone / ".git/packed-refs"
    await scene.engine.history.snapshot(made.id, "one")
    await scene.engine.history.snapshot(made.id, "two")
    state, text = packed.stat(), packed.read_text(encoding="utf-8")

    packed.write_text(text.replace("refs/heads/idea", "refs/heads/lost"), encoding="utf-8")
    os.utime(packed, ns=(state.st_atime_ns, state.st_mtime_ns))
    await scene.engine.history.snapshot(made.id, "three")
    git("update-ref", "-d", "refs/heads/lost", cwd=worktree)
    await scene.engine.history.undo(made.id)

    assert "refs/heads/lost" in git("for-each-ref", cwd=worktree)


@pytest.mark.requirement("snapshots.flags")
async def test_index_changed_with_equal_size_and_time_is_saved_again(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    index = Path(git("rev-parse", "--absolute-git-dir", cwd=worktree)) / "index"
    git("update-index", "--assume-unchanged", "README.md", cwd=worktree)
    flagged = index.read_bytes()
    git("update-index", "--no-assume-unchanged", "README.md", cwd=worktree)
    first = await scene.engine.history.snapshot(made.id, "one")
    await scene.engine.history.snapshot(made.id, "two")
    state = index.stat()
    assert len(flagged) == state.st_size

    with index.open("r+b") as file:
        file.write(flagged)
    os.utime(index, ns=(state.st_atime_ns, state.st_mtime_ns))
    second = await scene.engine.history.snapshot(made.id, "three")

    assert second.key != first.key


@pytest.mark.requirement("snapshots.unheld")
@pytest.mark.parametrize("event", ["removed", "replaced"])
async def test_undo_keeps_a_file_that_changed_after_the_snapshot(
    event: str, scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = Path(made.worktree)
    file = worktree / ("new" if event == "removed" else "README.md")
    file.write_text("kept", encoding="utf-8")
    prepare = file_restore.restore_files

    async def late(*values: Any) -> list[str]:
        for folder in values[1].top.below():
            for known in folder.entries.values():
                if hasattr(known, "stamp"):
                    # Like a file that was written just before it was read.
                    known.stamp = 0
        file.write_text("late", encoding="utf-8")
        return await prepare(*values)

    monkeypatch.setattr("symposium.tasks.snapshots.restore.restore_files", late)
    restored = await scene.engine.history.undo(made.id)

    (note,) = [each for each in restored.notes if "in the way" in each]
    assert b"late" in [
        text for _, text in tree_of(Path(note.rpartition("moved to ")[2]).parent).values()
    ]


@pytest.mark.requirement("snapshots.unheld", "snapshots.undo")
@pytest.mark.parametrize("text", ["kept", "late"])
async def test_file_that_appears_during_an_undo_is_moved_unless_it_is_the_saved_one(
    text: str, scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(made.worktree) / "new"
    file.write_text("kept", encoding="utf-8")
    file.chmod(0o640)
    await scene.engine.history.snapshot(made.id, "tool call")
    git("repack", "-adq", cwd=store_of(scene))
    file.unlink()
    prepare = file_restore.restore_files

    async def late(*values: Any) -> list[str]:
        file.write_text(text, encoding="utf-8")
        return await prepare(*values)

    monkeypatch.setattr("symposium.tasks.snapshots.restore.restore_files", late)
    restored = await scene.engine.history.undo(made.id)

    assert file.read_text(encoding="utf-8") == "kept"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    moved = [each.rpartition("moved to ")[2] for each in restored.notes if "in the way" in each]
    assert texts_of(moved) == (["late"] if text == "late" else [])


@pytest.mark.requirement("snapshots.unheld")
async def test_undo_follows_no_link_that_replaces_a_folder_during_the_restore(
    scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, outside = Path(made.worktree) / "src", tmp_path / "outside"
    before = tree_of(folder)
    (folder / "app.py").write_text("work", encoding="utf-8")
    prepare = file_restore.restore_files

    async def late(*values: Any) -> list[str]:
        folder.rename(outside)
        folder.symlink_to(outside)
        return await prepare(*values)

    monkeypatch.setattr("symposium.tasks.snapshots.restore.restore_files", late)
    restored = await scene.engine.history.undo(made.id)

    (note,) = [each for each in restored.notes if "in the way" in each]
    start, _, aside = note.rpartition("moved to ")
    assert start == "src was in the way and is in no snapshot; "
    assert tree_of(Path(aside).parent)["src"] == ("link", os.fsencode(outside))
    assert (outside / "app.py").read_text(encoding="utf-8") == "work"
    assert tree_of(folder)["app.py"] == before["app.py"]
    assert not folder.is_symlink()


@pytest.mark.requirement("snapshots.not-half")
async def test_snapshot_fails_when_the_disk_is_full(scene: Scene, made: Taskspace) -> None:
    worktree = Path(made.worktree)
    git("checkout", "-q", "--detach", cwd=worktree)
    (worktree / "large").write_bytes(os.urandom(1 << 20))
    git("add", "large", cwd=worktree)
    git("commit", "-qm", "large", cwd=worktree)
    git("branch", "idea", cwd=worktree)
    git("checkout", "-q", made.branch or "", cwd=worktree)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(GitCommandError):
            await scene.engine.history.snapshot(made.id, "tool call")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    commit = git("rev-parse", "idea", cwd=worktree)
    await scene.engine.history.snapshot(made.id, "tool call")
    git("branch", "-qD", "idea", cwd=worktree)
    git("reflog", "expire", "--expire=now", "--all", cwd=worktree)
    git("gc", "-q", "--prune=now", cwd=worktree)

    await scene.engine.history.undo(made.id)

    assert git("rev-parse", "idea", cwd=worktree) == commit
    assert git("cat-file", "-s", "idea:large", cwd=worktree) == str(1 << 20)


@pytest.mark.requirement("snapshots.pruned")
async def test_old_object_used_by_a_new_snapshot_is_not_pruned(
    scene: Scene, made: Taskspace
) -> None:
    objects = Objects(store_of(scene) / "objects", "sha1")
    id_ = objects.put("blob", b"used again")
    path = store_of(scene) / "objects" / id_[:2] / id_[2:]
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - DAYS_AGO))

    objects.put("blob", b"used again")
    git("prune", "--expire=2.days.ago", cwd=store_of(scene))

    assert made.id
    assert objects.has(id_)


@pytest.mark.requirement("snapshots.synced")
async def test_snapshot_is_synced_to_disk_when_it_is_taken(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch)
    made = await scene.make()
    worktree = Path(made.worktree)
    change(worktree)
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", "new objects in the clone", cwd=worktree)
    (worktree / "staged").write_text("staged", encoding="utf-8")
    git("add", "staged", cwd=worktree)

    await scene.engine.history.snapshot(made.id, "tool call")

    assert synced.lost(store_of(scene) / "objects") == []
    assert synced.lost(store_of(scene) / "refs") == []


@pytest.mark.requirement("snapshots.synced")
def test_object_of_another_worktree_is_synced_by_the_snapshot_that_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch)
    one, two = Objects(tmp_path, "sha1"), Objects(tmp_path, "sha1")
    one.put("blob", b"of both")

    two.put("blob", b"of both")
    two.sync()

    assert synced.lost(tmp_path) == []


@pytest.mark.requirement("snapshots.synced-at-once")
@pytest.mark.parametrize(("count", "syncs"), [(256, 0), (257, 1)])
def test_more_than_256_objects_are_synced_by_one_call(
    count: int, syncs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch, tmp_path)
    objects = Objects(tmp_path, "sha1")
    for number in range(count):
        objects.put("blob", b"%d" % number)

    objects.sync()

    assert synced.lost(tmp_path) == []
    assert synced.syncs == syncs
    objects.sync()
    assert synced.syncs == syncs


@pytest.mark.requirement("snapshots.synced")
def test_object_whose_sync_failed_is_synced_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = Objects(tmp_path, "sha1")
    objects.put("blob", b"x")

    def broken(*_: int) -> None:
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="No space left"):
            objects.sync()
    synced = SyncedFiles(monkeypatch)
    objects.sync()

    assert synced.lost(tmp_path) == []


@pytest.mark.requirement("snapshots.refs")
async def test_packed_refs_are_empty_when_their_file_was_deleted(
    scene: Scene, made: Taskspace
) -> None:
    git("branch", "idea", cwd=scene.clone)
    git("pack-refs", "--all", cwd=scene.clone)
    refs = Refs(scene.clone / ".git")
    before = await refs.read()

    (scene.clone / ".git/packed-refs").unlink()

    assert "refs/heads/idea" in before
    assert [name for name in await refs.read() if name.startswith("refs/heads/")] == []
    assert made.branch is not None
