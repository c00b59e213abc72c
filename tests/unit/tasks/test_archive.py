"""Deletion archives a task completely; undo restores it byte for byte."""

import asyncio
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.chaos import add_submodule
from tests.support.synced_files import SyncedFiles
from tests.support.task_harness import (
    EngineOptions,
    Prepared,
    Scene,
    attempt,
    git,
    open_scene,
    store_of,
    there,
    tree_of,
)

from symposium.tasks.creation import CreateRequest
from symposium.tasks.deletion import archive
from symposium.tasks.deletion.removal import ArchiveMode, BranchAction
from symposium.tasks.deletion.trash import DeletionConsent, DeletionDecision
from symposium.tasks.engine_context import NoAgents, file_of
from symposium.tasks.events import Changed, Event, Passed, Removed, Removing
from symposium.tasks.model import (
    NotSafeError,
    Taskspace,
    TaskspaceError,
    TaskState,
    UnknownTaskspaceError,
)
from symposium.tasks.tables import unfinished

STATE = (
    ("status", "--porcelain=v2", "--branch", "--ignored"),
    ("ls-files", "-s"),
    ("log", "--format=%H %s"),
    ("stash", "list", "--format=%H %gs"),
)


def state_of(worktree: Path) -> list[str]:
    return [git(*words, cwd=worktree) for words in STATE]


async def full(scene: Scene) -> Taskspace:
    """Create a task with every kind of content that can be lost."""
    made = await (scene.made() if scene.prepared else scene.make())
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "unpushed")
    (worktree / "README.md").write_text("stashed", encoding="utf-8")
    git("stash", "push", "-qm", "kept", cwd=worktree)
    (worktree / "src/app.py").write_text("staged", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    (worktree / "src/app.py").write_text("changed", encoding="utf-8")
    (worktree / "untracked\n").write_text("x", encoding="utf-8")
    (worktree / "secret/deep").mkdir(parents=True)
    (worktree / "secret/deep/key").write_bytes(bytes(range(256)))
    (worktree / "secret/deep/key").chmod(0o600)
    (worktree / "secret/link").symlink_to("deep/key")
    await scene.engine.records.log(made.id, "half way", "milestone")
    return made


@pytest.mark.requirement("taskspaces.archive-and-undo")
async def test_undo_restores_everything_byte_for_byte(scene: Scene) -> None:
    made = await full(scene)
    worktree = Path(made.worktree)
    tree, state = tree_of(worktree), state_of(worktree)
    log = await scene.engine.logs.entries(made.id)
    await scene.context.mirror(made.id)
    record = file_of(made).read_bytes()
    with pytest.raises(TaskspaceError, match="'Fix login' is not archived"):
        await scene.engine.trash.undo(made.id)

    archived = await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    gone = there(worktree), git("worktree", "list", cwd=scene.clone).count("\n")
    stored = await scene.engine.get(made.id)
    with pytest.raises(TaskspaceError, match="'Fix login' is archived"):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    back, notes = await scene.engine.trash.undo(made.id)

    assert archived == replace(
        made, standing=TaskState.ARCHIVED, archived_at=archived.archived_at, ports=None
    )
    assert (archived.archived_at or "") > made.created_at
    assert (stored, gone) == (archived, (False, 0))
    assert tree_of(worktree) == tree
    assert state_of(worktree) == state
    assert (worktree / "secret/deep/key").stat().st_mode & 0o777 == 0o600
    assert await scene.engine.logs.entries(made.id) == log
    assert (back, notes) == (made, ())
    assert file_of(made).read_bytes() == record
    assert not list((scene.root / "state" / "trash").iterdir())
    assert git("for-each-ref", "refs/symposium/trash", cwd=store_of(scene)) == ""


@pytest.mark.requirement("taskspaces.archive-and-undo")
async def test_task_whose_worktree_is_missing_is_archived_and_restored_with_its_commits(
    scene: Scene,
) -> None:
    made = await scene.made()
    tip = scene.commit(Path(made.worktree), "mine", "committed")
    await asyncio.to_thread(shutil.rmtree, made.worktree)

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)
    left = git("for-each-ref", "refs/heads/task", cwd=scene.clone)
    back = await scene.engine.trash.undo(made.id)
    git("checkout", "--", "mine", cwd=Path(made.worktree))

    assert (left, back) == ("", (made, ()))
    assert git("rev-parse", "HEAD", made.branch, cwd=Path(made.worktree)) == f"{tip}\n{tip}"
    assert tree_of(Path(made.worktree)) == {"mine": ("file", b"committed")}


@pytest.mark.requirement("taskspaces.removal-complete", "taskspaces.branch-kept")
async def test_task_whose_worktree_git_no_longer_lists_is_deleted_completely(scene: Scene) -> None:
    made = await scene.made()
    tip = scene.commit(Path(made.worktree), "mine", "committed")
    git("worktree", "remove", "--force", "--force", made.worktree, cwd=scene.clone)
    await asyncio.to_thread(shutil.rmtree, file_of(made).parent)

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)
    is_left = there(made.worktree)
    back = await scene.engine.trash.undo(made.id)

    assert (is_left, back) == (False, (made, ()))
    assert git("rev-parse", made.branch, cwd=Path(made.worktree)) == tip


@pytest.mark.requirement("taskspaces.archive-synced")
async def test_archive_is_synced_to_disk_before_the_deletion_continues(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.engine.close()
    state = scene.root / "state"
    found: list[list[Path]] = []

    def passed(step: str) -> None:
        if step == "delete.archive":
            assert list((state / "trash").rglob("manifest.json"))
            found.append([each for each in synced.lost(state) if "trash" in each.parts])

    again = open_scene(scene.root, EngineOptions(passed=passed))
    synced = SyncedFiles(monkeypatch)
    made = await full(again)
    await again.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    again.engine.close()

    assert found == [[]]


@pytest.mark.requirement("taskspaces.archive-submodules")
@pytest.mark.parametrize("name", ["free", "taken"])
async def test_undo_restores_a_submodule_with_its_own_commits(name: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    add_submodule(worktree)
    states = [state_of(worktree), state_of(worktree / "libs")]

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    if name == "taken":
        # Git names a worktree's record after its folder; a second one of that name gets a suffix.
        elsewhere = f"../elsewhere/{worktree.name}"
        git("worktree", "add", "-q", "--detach", elsewhere, cwd=scene.clone)
    await scene.engine.trash.undo(made.id)

    assert [state_of(worktree), state_of(worktree / "libs")] == states
    assert git("submodule", "status", cwd=worktree).startswith("+"), "its HEAD is ahead"


@pytest.mark.requirement("taskspaces.archive-and-undo")
async def test_undo_restores_from_the_bundle_when_clone_and_store_lost_the_task(
    scene: Scene,
) -> None:
    made = await full(scene)
    worktree = Path(made.worktree)
    tree, state = tree_of(worktree), state_of(worktree)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)

    refs = git("for-each-ref", "--format=%(refname)", "refs/symposium", cwd=store_of(scene))
    for ref in refs.splitlines():
        git("update-ref", "-d", ref, cwd=store_of(scene))
    git("update-ref", "-d", "refs/stash", cwd=scene.clone)
    git("gc", "-q", "--prune=now", cwd=store_of(scene))
    attempt("reflog", "expire", "--expire=now", "--all", cwd=scene.clone)
    git("gc", "-q", "--prune=now", cwd=scene.clone)
    await scene.engine.trash.undo(made.id)

    assert tree_of(worktree) == tree
    assert state_of(worktree)[1:] == state[1:]


@pytest.mark.requirement("taskspaces.archive-checked")
async def test_damaged_archive_is_refused_and_stays(scene: Scene) -> None:
    made = await full(scene)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    trash = scene.root / "state" / "trash" / made.id
    refused: list[str] = []

    async def refuse() -> None:
        with pytest.raises(TaskspaceError) as error:
            await scene.engine.trash.undo(made.id)
        refused.append(f"{error.value.message}; {error.value.hint}")
        assert not there(made.worktree)
        assert await scene.engine.trash.old() == [], "an archive without a known age stays"

    for name in ("work.bundle", "files.tar", "changes.patch", "manifest.json"):
        whole = (trash / name).read_bytes()
        (trash / name).write_bytes(whole[:-9] + b"otherwise")
        await refuse()
        (trash / name).write_bytes(whole)
    (trash / "added").touch()
    await refuse()
    (trash / "added").unlink()
    await asyncio.to_thread(shutil.rmtree, trash)
    await scene.engine.trash.purge(made.id)
    assert await scene.engine.taskspaces() == []

    hint = "its commits may still be in the store of the clone's snapshots"
    names = "work.bundle", "files.tar", "changes.patch", "a file was added"
    unreadable = f"the archive {trash} cannot be read: Input data was truncated; "
    assert refused[3] == unreadable
    assert refused[:3] + refused[4:] == [
        f"the archive {trash} is damaged: {each}; {hint}" for each in names
    ]


@pytest.mark.requirement("taskspaces.archive-checked")
async def test_archive_of_a_commit_that_is_no_snapshot_is_refused_and_stays(scene: Scene) -> None:
    made = await full(scene)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    manifest = scene.root / "state" / "trash" / made.id / "manifest.json"
    fields = json.loads(manifest.read_bytes())
    text = json.dumps({**fields, "commit": git("rev-parse", "HEAD", cwd=scene.clone).strip()})
    manifest.write_text(text, encoding="utf-8")

    with pytest.raises(TaskspaceError, match="is no snapshot") as refused:
        await scene.engine.trash.undo(made.id)

    assert refused.value.hint == "see the bundle in the archive"
    assert manifest.read_text(encoding="utf-8") == text
    assert not there(made.worktree)


@pytest.mark.requirement("taskspaces.branch-kept")
@pytest.mark.parametrize("action", [BranchAction.AUTO, BranchAction.KEEP, BranchAction.DROP])
async def test_branch_is_deleted_only_if_pushed_or_requested(
    action: BranchAction, scene: Scene
) -> None:
    pushed, own = await scene.make("pushed"), await scene.make("own")
    theirs = scene.commit(Path(pushed.worktree), "a", "1")
    git("push", "-q", "origin", "HEAD:refs/heads/theirs", cwd=Path(pushed.worktree))
    scene.commit(Path(own.worktree), "b", "1")
    tip = git("rev-parse", own.branch, cwd=scene.clone)

    for each in (pushed, own):
        await scene.engine.trash.delete(each.id, DeletionConsent.ARCHIVE, action)

    form = "--format=%(refname:short) %(objectname)"
    left = git("branch", "--list", "task/*", form, cwd=scene.clone).splitlines()
    expected = {
        BranchAction.AUTO: [f"{own.branch} {tip}"],
        BranchAction.KEEP: [f"{own.branch} {tip}", f"{pushed.branch} {theirs}"],
        BranchAction.DROP: [],
    }
    assert left == expected[action]
    held = git("rev-parse", f"refs/symposium/trash/{own.id}/branch", cwd=store_of(scene))
    assert held == tip


@pytest.mark.requirement("taskspaces.branch-kept")
async def test_branch_that_its_local_base_has_is_deleted(scene: Scene) -> None:
    git("branch", "local", cwd=scene.clone)
    made = await scene.engine.create(CreateRequest(scene.clone, "x", base="local"))
    tip = scene.commit(Path(made.worktree), "mine", "x")
    git("branch", "--force", "local", tip, cwd=scene.clone)

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    assert git("branch", "--list", made.branch, cwd=scene.clone) == ""


@pytest.mark.requirement("taskspaces.branch-kept")
async def test_branch_checked_out_elsewhere_is_kept(scene: Scene) -> None:
    made = await scene.made()
    git("worktree", "add", "-q", "--force", "../twin", made.branch, cwd=scene.clone)

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)

    assert git("branch", "--show-current", cwd=scene.root / "twin") == made.branch
    assert git("status", "--porcelain", cwd=scene.root / "twin") == ""


@pytest.mark.requirement("taskspaces.fourteen-days")
async def test_archive_is_removed_after_fourteen_days(place: Path) -> None:
    clock = [1_000_000.0]
    scene = open_scene(place, EngineOptions(now=lambda: clock[0]))
    made = await full(scene)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    clock[0] += 14 * 86400
    early = await scene.engine.trash.collect()
    clock[0] += 1
    late = await scene.engine.trash.collect()

    refs = git("for-each-ref", "refs/symposium", cwd=store_of(scene))
    with pytest.raises(UnknownTaskspaceError):
        await scene.engine.get(made.id)
    scene.engine.close()
    assert (early, late, refs) == ([], [made.id], "")
    assert not list((place / "state" / "shadow").iterdir())
    assert git("branch", "--list", made.branch, cwd=scene.clone).strip() == made.branch


@pytest.mark.requirement("taskspaces.fourteen-days")
async def test_only_an_archived_task_is_deleted_for_good_also_without_its_clone(
    scene: Scene,
) -> None:
    made = await scene.made()
    for wrong in (scene.engine.trash.purge(made.id), scene.engine.trash.undo(made.id)):
        with pytest.raises(TaskspaceError, match="'Fix login' is not archived"):
            await wrong
    await scene.context.put(replace(made, standing=TaskState.CREATING))
    with pytest.raises(TaskspaceError, match="'Fix login' is creating"):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.context.put(made)
    assert there(made.worktree)
    aside = Path(made.worktree).with_name(".fix-login.removing")
    aside.touch()
    with pytest.raises(TaskspaceError) as blocked:
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    assert blocked.value.message == f"{aside} cannot be removed: Not a directory"
    assert there(made.worktree)
    aside.unlink()
    (aside / "of a killed deletion").mkdir(parents=True)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    assert not there(aside)
    with pytest.raises(TaskspaceError, match="'Fix login' is archived"):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await asyncio.to_thread(scene.clone.rename, scene.root / "moved")

    await scene.engine.trash.purge(made.id)

    with pytest.raises(UnknownTaskspaceError):
        await scene.engine.get(made.id)
    assert not list((scene.root / "state" / "trash").iterdir())
    assert scene.events[-1] == Removed(made.id, is_archived=False)


@pytest.mark.requirement("taskspaces.undo-needs-its-place")
async def test_undo_does_not_overwrite_a_file_in_the_place_of_the_worktree(scene: Scene) -> None:
    made = await scene.made()
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    place = Path(made.worktree)

    for take, clear in ((place.mkdir, place.rmdir), (lambda: place.symlink_to("x"), place.unlink)):
        await asyncio.to_thread(take)
        with pytest.raises(TaskspaceError, match="already exists"):
            await scene.engine.trash.undo(made.id)
        await asyncio.to_thread(clear)


async def failed_undo(scene: Scene, made: Taskspace) -> str:
    with pytest.raises(TaskspaceError) as error:
        await scene.engine.trash.undo(made.id)
    assert (await scene.engine.get(made.id)).standing is TaskState.ARCHIVED
    return f"{error.value.message}; {error.value.hint}"


@pytest.mark.requirement("taskspaces.undo-repeatable")
async def test_failed_undo_is_explained_and_can_be_repeated(
    place: Path, prepared: Prepared
) -> None:
    kept = place / "kept.tar"

    def passed(stage: str) -> None:
        if stage == "undo.worktree" and not there(kept):
            (trash / "files.tar").rename(kept)

    scene = open_scene(place, EngineOptions(passed=passed))
    scene.prepared = prepared
    made = await full(scene)
    trash, tree = place / "state" / "trash" / made.id, tree_of(Path(made.worktree))
    pack = scene.clone / ".git" / "objects" / "pack"
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    pack.rename(place / "pack")
    pack.touch()
    clone_in_the_way = await failed_undo(scene, made)
    pack.unlink()
    (place / "pack").rename(pack)
    without_files = await failed_undo(scene, made)
    kept.rename(trash / "files.tar")
    kept.touch()
    half_restored = await failed_undo(scene, made)
    await asyncio.to_thread(Path(made.worktree).rename, place / "moved away")
    assert await scene.engine.trash.undo(made.id) == (made, ())

    missing = f"[Errno 2] No such file or directory: '{trash}/files.tar'"
    taken = f"{scene.clone}/.git cannot be written: [Errno 17] File exists: '{pack}'; "
    assert clone_in_the_way == taken
    assert without_files == f"ignored files cannot be restored: {missing}; "
    assert half_restored == f"{made.worktree} already exists; move it away"
    assert scene.events[-2:] == [Changed(made), Passed(made.id, "undo.done")]
    assert tree_of(Path(made.worktree)) == tree
    assert f"locked a symposium taskspace {made.id}" in git(
        "worktree", "list", "--porcelain", cwd=scene.clone
    )
    scene.engine.close()


@pytest.mark.requirement("taskspaces.undo-needs-its-place")
async def test_new_task_of_the_same_name_leaves_the_path_of_an_archived_one(
    scene: Scene,
) -> None:
    made = await scene.made()
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    other = await scene.make()
    archived = await scene.engine.get(made.id)
    await scene.context.put(replace(archived, spawned=2))
    back, _ = await scene.engine.trash.undo(made.id)

    assert other.worktree != made.worktree
    assert (back.worktree, back.spawned) == (made.worktree, 2)
    assert back.ports != other.ports


@pytest.mark.requirement("taskspaces.removal-complete", "taskspaces.asker-goes")
async def test_deletion_leaves_no_file_behind_when_its_caller_is_canceled(
    place: Path, prepared: Prepared
) -> None:
    def passed(stage: str) -> None:
        if stage == "delete.anchored":
            deleting.cancel()

    scene = open_scene(place, EngineOptions(passed=passed))
    scene.prepared = prepared
    made = await scene.made()
    aside = place / "clone.tasks" / ".fix-login.removing"
    aside.symlink_to(place / "upstream")
    (Path(made.worktree) / "link to a folder").symlink_to(place / "upstream")
    kept, mode = tree_of(place / "upstream"), (place / "upstream").stat().st_mode

    async with asyncio.TaskGroup() as tasks:
        deleting = tasks.create_task(scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE))
        await asyncio.wait({deleting})
    scene.engine.close()

    assert deleting.cancelled()
    assert [each.name for each in (place / "clone.tasks").iterdir()] == [".symposium"]
    assert not list((place / "clone.tasks" / ".symposium").iterdir())
    assert not list((scene.clone / ".git" / "worktrees").glob("*"))
    assert "task/" not in git("config", "--local", "--list", cwd=scene.clone)
    assert tree_of(place / "upstream") == kept, "a link is removed, not its target"
    assert (place / "upstream").stat().st_mode == mode
    assert Removed(made.id, is_archived=True) in scene.events


class WatchedAgents(NoAgents):
    """Agents that record, on stop, the removal events, the worktree, and the task's state.

    The first caller is canceled.
    """

    def __init__(self, worktree: Path) -> None:
        self.events: list[Event] = []
        self._worktree = worktree
        self.seen: list[tuple[list[Removing], bool]] = []
        self.states: list[TaskState] = []
        self.scene: Scene | None = None

    async def stop(self, taskspace: str) -> None:
        """Note it."""
        assert self.scene is not None
        self.states.append((await self.scene.engine.get(taskspace)).standing)
        removing = [each for each in self.events if isinstance(each, Removing)]
        self.seen.append((removing, (self._worktree / "README.md").exists()))
        if len(self.seen) == 1:
            raise asyncio.CancelledError


@pytest.mark.requirement("taskspaces.deletion-announced")
async def test_deletion_is_announced_before_the_agent_stops_and_files_go(
    place: Path,
) -> None:
    agents = WatchedAgents(place / "clone.tasks" / "fix-login")
    scene = open_scene(place, EngineOptions(agents=agents))
    agents.events, agents.scene = scene.events, scene
    made = await scene.make()
    (Path(made.worktree) / "work").write_text("x", encoding="utf-8")
    with pytest.raises(NotSafeError):
        await scene.engine.trash.delete(made.id, DeletionConsent.ONLY_IF_SAFE)
    assert not [each for each in scene.events if isinstance(each, Removing)]
    with pytest.raises(asyncio.CancelledError):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    assert await scene.engine.get(made.id) == made
    assert await scene.context.journal.read(unfinished) == []
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    assert agents.seen == [([Removing(made)], True), ([Removing(made)] * 2, True)]
    assert agents.states == [TaskState.DELETING] * 2
    scene.engine.close()


@pytest.mark.requirement("taskspaces.failed-archive-deletes-nothing")
async def test_nothing_is_deleted_when_the_archive_cannot_be_written(scene: Scene) -> None:
    made = await full(scene)
    worktree = Path(made.worktree)
    tree = tree_of(worktree)
    (scene.root / "state" / "trash").write_text("in the way", encoding="utf-8")

    with pytest.raises(TaskspaceError, match="archive cannot be written") as error:
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    assert error.value.hint == "make room"
    assert tree_of(worktree) == tree
    assert await scene.engine.get(made.id) == made
    assert await scene.context.journal.read(unfinished) == []


@pytest.mark.requirement("taskspaces.delete-requests")
async def test_two_deletion_requests_wait_for_one_decision(
    scene: Scene,
) -> None:
    requests = scene.engine.trash.requests
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(requests.ask("a", "done")) for _ in range(2)]
        lapsed = tasks.create_task(requests.ask("b", expiry=0.0))
        await lapsed
        waiting = [each.taskspace for each in requests.pending()]
        answered = requests.decide("a", DeletionDecision.CANCELLED)

    assert (waiting, answered) == (["a"], 2)
    assert [each.result() for each in asked] == [DeletionDecision.CANCELLED] * 2
    assert lapsed.result() is DeletionDecision.EXPIRED
    assert requests.pending() == []
    assert requests.decide("a", DeletionDecision.DELETED) == 0


@pytest.mark.requirement("taskspaces.archive-large")
async def test_changes_too_large_for_a_patch_are_in_the_bundle_with_a_note(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_PATCHED", 1000)
    made = await scene.made()
    large = Path(made.worktree) / "large"
    content = bytes(range(256)) * 10
    large.write_bytes(content)
    (large.parent / "README.md").write_bytes(b"new")  # from 9 bytes

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    trash = archive.trash_of(scene.root / "state", made.id)
    manifest = archive.read_archive(trash)
    await scene.engine.trash.undo(made.id)

    assert manifest.notes == ("no changes.patch: 2572 bytes have changed; work.bundle has them",)
    assert "changes.patch" not in manifest.sums
    assert large.read_bytes() == content


@pytest.mark.requirement("taskspaces.archive-large")
async def test_patch_has_the_uncommitted_changes(scene: Scene) -> None:
    made = await full(scene)
    trash = archive.trash_of(scene.root / "state", made.id)
    left = trash.with_name(f"{made.id}.partial")
    left.mkdir(parents=True)
    (left / "of a killed deletion").touch()

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    assert sorted(each.name for each in trash.iterdir()) == [
        *("changes.patch", "files.tar", "manifest.json", "work.bundle")
    ]
    assert b"+changed" in (trash / "changes.patch").read_bytes()
    assert archive.read_archive(trash).notes == ()


@pytest.mark.requirement("taskspaces.archive-and-undo")
async def test_task_on_a_branch_without_commits_is_archived_and_restored(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    git("checkout", "--quiet", "--orphan", "fresh", cwd=worktree)
    (worktree / "new").write_text("text", encoding="utf-8")

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    trash = archive.trash_of(scene.root / "state", made.id)
    assert b"+text" in (trash / "changes.patch").read_bytes()
    await scene.engine.trash.undo(made.id)

    assert (worktree / "new").read_text(encoding="utf-8") == "text"


@pytest.mark.requirement("taskspaces.nothing-kept")
async def test_deletion_without_archive_writes_no_archive(scene: Scene) -> None:
    made = await full(scene)
    partial = scene.root / "state" / "trash" / f"{made.id}.partial"
    partial.mkdir(parents=True)
    (partial / "of a killed deletion").touch()
    seen: list[str] = []
    options = EngineOptions(passed=seen.append)
    scene.engine.close()
    scene = open_scene(scene.root, options)

    await scene.engine.trash.delete(
        made.id, DeletionConsent.ARCHIVE, BranchAction.DROP, ArchiveMode.NOTHING
    )

    with pytest.raises(UnknownTaskspaceError):
        await scene.engine.get(made.id)
    scene.engine.close()
    assert "delete.snapshot" not in seen
    assert seen[-1] == "delete.done"
    assert not list((scene.root / "state" / "trash").iterdir())
    assert not there(made.worktree)
    assert git("for-each-ref", f"refs/heads/{made.branch}", cwd=scene.clone) == ""
    assert git("for-each-ref", "refs/symposium", cwd=store_of(scene)) == ""


@pytest.mark.requirement("taskspaces.nothing-kept")
async def test_killed_deletion_without_archive_finishes_at_the_next_start(place: Path) -> None:
    class KilledError(Exception):
        pass

    def killed(stage: str) -> None:
        if stage == "delete.worktree":
            raise KilledError

    scene = open_scene(place, EngineOptions(passed=killed))
    made = await full(scene)
    git("branch", "--move", "renamed", cwd=Path(made.worktree))
    with pytest.raises(KilledError):
        await scene.engine.trash.delete(
            made.id, DeletionConsent.ARCHIVE, keeping=ArchiveMode.NOTHING
        )
    scene.engine.close()

    again = open_scene(place)
    await again.engine.start()
    left = await again.engine.taskspaces()
    again.engine.close()

    assert left == []
    assert not list((place / "state" / "trash").iterdir())


@pytest.mark.requirement("taskspaces.archived-files")
def test_archived_files_return_with_their_modes_and_existing_ones_stay(tmp_path: Path) -> None:
    trash, source, worktree = [tmp_path / name for name in ("trash", "source", "worktree")]
    for each in (trash, source / "build", source / "empty", worktree):
        each.mkdir(parents=True)
    (source / "build" / "tool").write_bytes(b"program")
    (source / "build" / "tool").chmod(0o750)
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "file").write_bytes(b"without its folders")
    (source / "key").write_bytes(b"secret")
    (source / "key").chmod(0o600)
    (source / "link").symlink_to("missing")
    (source / "there").write_bytes(b"old")
    (worktree / "there").write_bytes(b"new")
    with tarfile.open(trash / "files.tar", "w") as made:
        for path in sorted(set(source.rglob("*")) - {source / "deep", source / "deep" / "er"}):
            made.add(path, str(path.relative_to(source)), recursive=False)

    archive.unpack_files(trash, worktree)

    assert (worktree / "build" / "tool").read_bytes() == b"program"
    assert (worktree / "deep" / "er" / "file").read_bytes() == b"without its folders"
    modes = [(worktree / name).stat().st_mode & 0o777 for name in ("build/tool", "key")]
    assert modes == [0o750, 0o600]
    assert (worktree / "link").readlink() == Path("missing")
    assert (worktree / "empty").is_dir()
    assert (worktree / "there").read_bytes() == b"new"
