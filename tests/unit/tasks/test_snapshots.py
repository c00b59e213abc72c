"""Snapshots save a worktree without changing it; undo restores it."""

import asyncio
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest
from tests.support.task_harness import EngineOptions, Scene, git, open_scene, store_of, tree_of

from symposium.tasks.engine_context import subject_of
from symposium.tasks.land import Landed, LandOptions
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.projects import open_project
from symposium.tasks.snapshots import store
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget
from symposium.tasks.snapshots.snapshots import MAX_SNAPSHOTS, SNAPSHOT_DAYS, Snapshots


@pytest.fixture
async def made(scene: Scene) -> Taskspace:
    """A task with every kind of work."""
    taskspace = await scene.made()
    worktree = Path(taskspace.worktree)
    (worktree / "src/app.py").write_text("changed\n", encoding="utf-8")
    git("add", "src/app.py", cwd=worktree)
    (worktree / "src/app.py").write_text("changed again\n", encoding="utf-8")
    (worktree / 'untracked\n"é.txt').write_text("untracked\n", encoding="utf-8")
    (worktree / ".env").write_text("SECRET=1\n", encoding="utf-8")
    (worktree / ".env").chmod(0o600)
    (worktree / "trace.log").write_text("ignored\n", encoding="utf-8")
    return taskspace


def run(commands: str, worktree: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=worktree, check=True)


def seen_by_git(worktree: Path) -> str:
    """Status, index, and branch, as git prints them."""
    commands = [("status", "--porcelain=v2", "--branch"), ("ls-files", "-s"), ("log", "--oneline")]
    return "\n".join(git(*words, cwd=worktree) for words in commands)


@pytest.mark.requirement("snapshots.untouched")
async def test_snapshot_changes_neither_index_nor_status(scene: Scene, made: Taskspace) -> None:
    worktree = Path(made.worktree)
    index = Path(git("rev-parse", "--git-path", "index", cwd=worktree))
    before = seen_by_git(worktree), tree_of(worktree)
    content = (worktree / index).read_bytes()

    await scene.engine.history.snapshot(made.id, "tool call")

    assert (worktree / index).read_bytes() == content
    assert (seen_by_git(worktree), tree_of(worktree)) == before
    assert git("status", "--porcelain", cwd=scene.clone) == ""


@pytest.mark.requirement("snapshots.hidden-refs", "snapshots.nothing-new")
async def test_snapshot_adds_one_ref_for_each_changed_state(scene: Scene, made: Taskspace) -> None:
    first = await scene.engine.history.snapshot(made.id, "one")
    same = await scene.engine.history.snapshot(made.id, "two")
    (Path(made.worktree) / "more").write_text("x", encoding="utf-8")
    other = await scene.engine.history.snapshot(made.id, "three")

    refs = git("for-each-ref", "--format=%(refname)", "refs/symposium", cwd=store_of(scene))
    assert same == first
    assert refs.splitlines()[1:] == [first.ref, other.ref]
    assert first.ref.startswith(f"refs/symposium/snap/{made.id}/")


@pytest.mark.requirement("snapshots.nothing-new")
async def test_unchanged_tree_is_not_saved_again_after_a_restart(
    scene: Scene, made: Taskspace
) -> None:
    first = await scene.engine.history.snapshot(made.id, "one")

    scene = scene.again()
    again = await scene.engine.history.snapshot(made.id, "two")

    scene.engine.close()
    assert again.ref == first.ref


@pytest.mark.requirement("snapshots.undo")
async def test_undo_restores_tree_index_branch_and_precious_files(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    await scene.engine.history.snapshot(made.id, "tool call")
    tree, shown = tree_of(worktree), seen_by_git(worktree)

    git("reset", "-q", "--hard", cwd=worktree)
    git("clean", "-qfdx", cwd=worktree)
    scene.commit(worktree, "other", "x")
    restored = await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == tree
    assert seen_by_git(worktree) == shown
    assert (worktree / ".env").stat().st_mode & 0o777 == 0o600
    assert restored.notes == ()


@pytest.mark.requirement("snapshots.undo-of-undo")
async def test_undo_can_be_undone_and_two_undos_go_back_twice(
    scene: Scene, made: Taskspace
) -> None:
    history, file = scene.engine.history, Path(made.worktree) / "note"
    for text in ("one", "two"):
        file.write_text(text, encoding="utf-8")
        await history.snapshot(made.id, text)
    file.write_text("three, not in a snapshot", encoding="utf-8")

    first = await history.undo(made.id)
    seen = [file.read_text(encoding="utf-8")]
    await history.undo(made.id)
    seen.append(file.read_text(encoding="utf-8"))
    await history.undo(made.id)
    assert not file.exists(), "the created state"
    with pytest.raises(TaskspaceError, match="no earlier state"):
        await history.undo(made.id)
    await history.restore(made.id, first.before.ref)
    seen.append(file.read_text(encoding="utf-8"))

    assert seen == ["two", "one", "three, not in a snapshot"]


@pytest.mark.requirement("snapshots.pruned")
async def test_old_snapshots_are_pruned_except_the_newest(place: Path) -> None:
    clock = [1_000_000.0]
    scene = open_scene(place, EngineOptions(now=lambda: clock[0]))
    made = await scene.make()
    taken: list[str] = []
    for number in range(4):
        clock[0] += 10 * 86400
        (Path(made.worktree) / "n").write_text(str(number), encoding="utf-8")
        taken.append((await scene.engine.history.snapshot(made.id, str(number))).ref)
    clock[0] += 30 * 86400

    dropped = await scene.engine.history.prune(made.id)

    left = await scene.engine.history.snapshots(made.id)
    scene.engine.close()
    assert dropped == 4
    assert [each.ref for each in left] == taken[-1:]


@pytest.mark.requirement("snapshots.pruned")
async def test_oldest_snapshots_above_the_limit_are_pruned(scene: Scene, made: Taskspace) -> None:
    history = scene.engine.history
    for number in range(4):
        (Path(made.worktree) / "n").write_text(str(number), encoding="utf-8")
        await history.snapshot(made.id, str(number))
    before = await history.snapshots(made.id)
    subject = subject_of(scene.context, made, (await open_project(scene.clone)).repository)

    dropped = await scene.context.snapshots.prune(subject, most=2)

    assert dropped == len(before) - 2
    assert await history.snapshots(made.id) == before[-2:]
    assert MAX_SNAPSHOTS == 2000
    assert (Snapshots.prune.__kwdefaults__, Snapshots.old.__kwdefaults__) == (
        {"days": SNAPSHOT_DAYS, "most": MAX_SNAPSHOTS},
    ) * 2


@pytest.mark.requirement("snapshots.pruned")
async def test_prune_deletes_objects_that_no_snapshot_needs(place: Path) -> None:
    clock = [time.time()]
    scene = open_scene(place, EngineOptions(now=lambda: clock[0]))
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / "old").write_text("only the old one has this", encoding="utf-8")
    blob = git("hash-object", "old", cwd=worktree)
    await scene.engine.history.snapshot(made.id, "old")
    (worktree / "old").unlink()
    await scene.engine.history.snapshot(made.id, "new")
    store = store_of(scene)
    loose = store / "objects" / blob[:2] / blob[2:]
    long_ago = time.time() - 3 * DAY
    for path in store.glob("objects/??/*"):
        os.utime(path, (long_ago, long_ago))

    clock[0] += 20 * DAY
    await scene.engine.history.prune(made.id)
    (worktree / "src/app.py").unlink()
    await scene.engine.history.undo(made.id)

    scene.engine.close()
    assert not loose.exists()
    assert (worktree / "src/app.py").is_file()


@pytest.mark.requirement("snapshots.raw-bytes")
async def test_bytes_are_saved_without_git_conversions(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".gitattributes").write_text(
        "*.txt text eol=lf\n*.id ident\n*.f filter=evil\n", encoding="utf-8"
    )
    git("config", "filter.evil.clean", f"touch {scene.root}/ran; tr a-z A-Z", cwd=scene.clone)
    git("config", "core.autocrlf", "true", cwd=scene.clone)
    content = {"a.txt": b"one\r\ntwo\nthree\r\n", "b.id": b"$Id: mine $\n", "c.f": b"lower\n"}
    for name, each in content.items():
        (worktree / name).write_bytes(each)
    await scene.engine.history.snapshot(made.id, "tool call")

    for name in content:
        (worktree / name).write_bytes(b"gone\n")
    await scene.engine.history.undo(made.id)

    assert {name: (worktree / name).read_bytes() for name in content} == content
    assert not (scene.root / "ran").exists()


@pytest.mark.requirement("snapshots.ignored-in-the-way")
async def test_ignored_file_in_the_way_is_moved_aside(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / "__pycache__").write_text("a file", encoding="utf-8")
    git("add", "-f", "__pycache__", cwd=worktree)
    (worktree / ".gitignore").write_text("__pycache__\n", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "tool call")
    git("rm", "-qf", "__pycache__", cwd=worktree)
    (worktree / "__pycache__").mkdir()
    (worktree / "__pycache__" / "out").write_text("no snapshot has this", encoding="utf-8")

    restored = await scene.engine.history.undo(made.id)

    assert (worktree / "__pycache__").read_text(encoding="utf-8") == "a file"
    aside = list((scene.root / "state" / "shadow" / made.id / "displaced").rglob("out"))
    assert [each.read_text(encoding="utf-8") for each in aside] == ["no snapshot has this"]
    assert str(aside[0].parent) in "".join(restored.notes)


@pytest.mark.requirement("snapshots.ignored-in-the-way")
async def test_what_is_in_the_way_of_a_folder_and_in_no_snapshot_is_moved_aside(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    await scene.engine.history.snapshot(made.id, "tool call")
    before = (worktree / "src" / "app.py").read_bytes()
    shutil.rmtree(worktree / "src")
    os.mknod(worktree / "src", stat.S_IFSOCK | 0o600)

    restored = await scene.engine.history.undo(made.id)

    assert (worktree / "src" / "app.py").read_bytes() == before
    displaced = scene.root / "state" / "shadow" / made.id / "displaced"
    (aside,) = [each for each in displaced.rglob("src") if each.is_socket()]
    assert f"src was in the way and is in no snapshot; moved to {aside}" in restored.notes


@pytest.mark.requirement("snapshots.ignored-in-the-way")
async def test_socket_in_the_way_of_an_empty_folder_is_moved_aside(
    scene: Scene, made: Taskspace
) -> None:
    empty = Path(made.worktree) / "empty"
    empty.mkdir()
    await scene.engine.history.snapshot(made.id, "tool call")
    empty.rmdir()
    os.mknod(empty, stat.S_IFSOCK | 0o600)

    restored = await scene.engine.history.undo(made.id)

    assert list(empty.iterdir()) == []
    displaced = scene.root / "state" / "shadow" / made.id / "displaced"
    (aside,) = [each for each in displaced.rglob("empty") if each.is_socket()]
    assert f"empty was in the way and is in no snapshot; moved to {aside}" in restored.notes


@pytest.mark.requirement("snapshots.stash-and-branches")
async def test_undo_restores_a_dropped_stash_and_a_deleted_branch(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    git("branch", "idea", cwd=worktree)
    git("stash", "push", "-qm", "first", "src/app.py", cwd=worktree)
    (worktree / "src/app.py").write_text("second", encoding="utf-8")
    git("stash", "push", "-qm", "second", "src/app.py", cwd=worktree)
    stashes = git("stash", "list", "--format=%H %gs", cwd=worktree)
    await scene.engine.history.snapshot(made.id, "tool call")

    git("stash", "clear", cwd=worktree)
    git("branch", "-D", "idea", cwd=worktree)
    (worktree / "README.md").unlink()
    restored = await scene.engine.history.undo(made.id)

    assert git("stash", "list", "--format=%H %gs", cwd=worktree) == stashes
    assert git("branch", "--list", "idea", cwd=worktree).strip() == "idea"
    assert restored.notes == ("refs/heads/idea was missing; restored",)


@pytest.mark.requirement("snapshots.serialised")
async def test_concurrent_snapshots_are_serialized(scene: Scene, made: Taskspace) -> None:
    async with asyncio.TaskGroup() as tasks:
        taken = [
            tasks.create_task(scene.engine.history.snapshot(made.id, str(number)))
            for number in range(5)
        ]

    assert len({task.result().ref for task in taken}) == 1


@pytest.mark.requirement("snapshots.each-state")
async def test_state_is_saved_when_a_task_is_created_adopted_resumed_and_landed(
    scene: Scene,
) -> None:
    git("worktree", "add", "-q", "-b", "mine", "../mine", cwd=scene.clone)
    made, adopted = await scene.make(), await scene.engine.adopt(scene.root / "mine")
    worktree = Path(made.worktree)
    (worktree / "by hand").write_text("x", encoding="utf-8")
    await scene.engine.resume(made.id)
    scene.commit(worktree, "more", "x")
    await scene.engine.land(made.id, LandOptions())
    shutil.rmtree(worktree / "src")

    await scene.engine.history.undo(made.id)
    kept = [each.reason for each in await scene.engine.history.snapshots(made.id)]

    assert (worktree / "src/app.py").is_file()
    assert kept[:2] == ["made", "resumed"]
    assert "before landing" in kept
    assert (worktree / "more").is_file()
    assert [each.reason for each in await scene.engine.history.snapshots(adopted.id)] == ["adopted"]


@pytest.mark.requirement("snapshots.each-state")
async def test_state_after_a_landing_is_saved(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(scene.upstream, "base", "of others")
    scene.commit(worktree, "more", "x")

    await scene.engine.land(made.id, LandOptions())
    kept = await scene.engine.history.snapshots(made.id)

    assert [each.reason for each in kept][-1] == "landed"
    assert kept[-1].tip == git("rev-parse", "HEAD", cwd=worktree)


@pytest.mark.requirement("snapshots.unkept-told")
async def test_landing_notes_that_its_state_could_not_be_saved(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    scene.commit(Path(made.worktree), "more", "x")
    take = Snapshots.take

    async def fails_at_last(
        snapshots: Snapshots, subject: SnapshotTarget, reason: str, called_at: float | None = None
    ) -> Snapshot:
        if reason == "landed":
            raise TaskspaceError("the disk is full", "")
        return await take(snapshots, subject, reason, called_at)

    monkeypatch.setattr(Snapshots, "take", fails_at_last)

    outcome = await scene.engine.land(made.id, LandOptions())

    assert isinstance(outcome, Landed)
    assert "cannot snapshot its state: the disk is full" in outcome.notes


DAY: Final = 86400.0

BEGUN: Final = {
    "files gone": "rm src/app.py",
    "a file cut": "truncate -s 0 src/app.py",
    "a folder gone": "rm -r src",
    "a commit taken back": "git reset -q --soft HEAD~1",
    "a stash": "git stash -q",
    "in a repository inside": "rm nested/.git/HEAD",
}


@pytest.mark.requirement("snapshots.not-waited")
@pytest.mark.parametrize("way", BEGUN)
async def test_undo_skips_states_inside_a_tool_call(
    way: str, scene: Scene, made: Taskspace
) -> None:
    worktree, history = Path(made.worktree), scene.engine.history
    scene.commit(worktree, "committed.txt", "committed\n")
    (worktree / "README.md").write_text("work", encoding="utf-8")
    git("init", "-q", "nested", cwd=worktree)
    await history.snapshot(made.id, "tool call over")
    whole = tree_of(worktree), seen_by_git(worktree)

    called_at = time.time()
    run(BEGUN[way], worktree)
    begun = await history.snapshot(made.id, "tool call", called_at=called_at)
    shutil.rmtree(worktree / "src", ignore_errors=True)
    (worktree / "README.md").unlink()
    await history.undo(made.id)

    assert begun.called_on
    assert (tree_of(worktree), seen_by_git(worktree)) == whole
    assert (worktree / "nested/.git/HEAD").is_file()


@pytest.mark.requirement("snapshots.not-waited")
async def test_undo_restores_the_state_before_a_tool_call(scene: Scene, made: Taskspace) -> None:
    worktree, history = Path(made.worktree), scene.engine.history
    await history.snapshot(made.id, "tool call over")
    (worktree / "README.md").write_text("by hand, meanwhile", encoding="utf-8")

    kept = await history.snapshot(made.id, "tool call", called_at=time.time() + DAY)
    (worktree / "README.md").unlink()
    await history.undo(made.id)

    assert kept.called_on == ""
    assert (worktree / "README.md").read_text(encoding="utf-8") == "by hand, meanwhile"


@pytest.mark.requirement("snapshots.not-waited")
async def test_undo_skips_a_change_shortly_before_the_announcement_of_a_tool_call(
    scene: Scene, made: Taskspace
) -> None:
    worktree, history = Path(made.worktree), scene.engine.history
    whole = tree_of(worktree)
    await history.snapshot(made.id, "tool call over")
    (worktree / "README.md").write_text("cut", encoding="utf-8")
    changed_at = (worktree / "README.md").stat().st_ctime

    # File systems round timestamps, and the announcement takes a moment.
    begun = await history.snapshot(made.id, "tool call", called_at=changed_at + 0.9)
    (worktree / "README.md").unlink()
    await history.undo(made.id)

    assert begun.called_on
    assert tree_of(worktree) == whole


@pytest.mark.requirement("snapshots.inside")
@pytest.mark.parametrize("where", ["new", "vendor/new", "vendor/a/b/new"])
async def test_repository_without_a_commit_is_saved_at_any_path(
    where: str, scene: Scene, made: Taskspace
) -> None:
    inside = Path(made.worktree) / where
    inside.mkdir(parents=True)
    git("init", "-q", cwd=inside)
    (inside / "work").write_text("x", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "tool call")

    shutil.rmtree(inside)
    restored = await scene.engine.history.undo(made.id)

    assert restored.notes == ()
    assert (inside / "work").read_text(encoding="utf-8") == "x"
    assert git("status", "--porcelain", cwd=inside) == "?? work"


PERMISSIONS: Final = {
    "token.txt": 0o600,
    "README.md": 0o640,
    "src/tool.sh": 0o700,
    "closed/deep/key": 0o400,
    "closed": 0o700,
    ".env": 0o600,
    "nested/key": 0o600,
}


@pytest.mark.requirement("snapshots.permissions")
async def test_restored_files_have_no_more_permissions_than_before(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    (worktree / "closed/deep").mkdir(parents=True)
    git("init", "-q", "nested", cwd=worktree)
    for name, mode in PERMISSIONS.items():
        if not (worktree / name).exists():
            (worktree / name).write_text("x", encoding="utf-8")
        (worktree / name).chmod(mode)
    first = await scene.engine.history.snapshot(made.id, "tool call")
    (worktree / "src/app.py").chmod(0o600)
    second = await scene.engine.history.snapshot(made.id, "another")

    for each in ("token.txt", "README.md", "src", "closed", ".env", "nested"):
        run(f"rm -rf {each}", worktree)
    await scene.engine.history.undo(made.id)

    now = {name: (worktree / name).stat().st_mode & 0o777 for name in PERMISSIONS}
    assert now == PERMISSIONS
    assert (worktree / "src/app.py").stat().st_mode & 0o777 == 0o600
    assert (worktree / "src/data.bin").stat().st_mode & 0o777 != 0o600
    assert first.key != second.key, "a change of permissions alone is saved, too"


@pytest.mark.requirement("snapshots.permissions")
async def test_private_files_stay_private(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    run("find . -type f -exec chmod 600 {} +; find . -type d -exec chmod 700 {} +", worktree)
    await scene.engine.history.snapshot(made.id, "tool call")

    run("rm -rf src README.md", worktree)
    await scene.engine.history.undo(made.id)

    assert (worktree / "README.md").stat().st_mode & 0o777 == 0o600
    assert (worktree / "src").stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("snapshots.undo")
async def test_large_and_small_files_in_a_pack_are_restored(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_LARGE", 10)
    (scene.upstream / "large").write_text("x" * 10, encoding="utf-8")
    (scene.upstream / "small").write_text("x" * 9, encoding="utf-8")
    git("add", "-A", cwd=scene.upstream)
    git("commit", "-qm", "files", cwd=scene.upstream)
    git("pull", "-q", cwd=scene.clone)
    git("gc", "-q", cwd=scene.clone)
    made = await scene.make()
    before = tree_of(Path(made.worktree))
    await scene.engine.history.snapshot(made.id, "tool call")
    for name in ("large", "small"):
        (Path(made.worktree) / name).unlink()

    await scene.engine.history.undo(made.id)

    assert tree_of(Path(made.worktree)) == before
