"""Take, list, prune, and restore snapshots of worktrees."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from symposium.tasks.model import TaskspaceError
from symposium.tasks.snapshots.capture import (
    CACHE,
    CaptureMemory,
    Moment,
    key_of,
    parts_of,
    remember,
    work_of,
    write,
)
from symposium.tasks.snapshots.changes_since_call import changed_since_call
from symposium.tasks.snapshots.restore import RestoredSnapshot, move_in, restore_worktree
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget, snapshot_of
from symposium.tasks.snapshots.store import COPY_TIMEOUT, Store, open_store, refs_in

SNAPSHOT_DAYS: Final = 14
"""Maximum age of snapshots in days; the newest one of a task is always kept."""

MAX_SNAPSHOTS: Final = 2000
"""Maximum number of snapshots of one task."""

UNDO: Final = "before undo"
"""Reason of the snapshot before a restore."""

BACK: Final = "back to "
"""Prefix of the reason of the snapshot after a restore; the ref of its target follows."""

MAX_REMEMBERED: Final = 32
"""Maximum number of watched worktrees; the next snapshot of any other scans every file."""


class _Memories:
    """Capture data of the worktrees that were used last."""

    def __init__(self) -> None:
        self.known: dict[str, CaptureMemory] = {}

    async def of(self, subject: SnapshotTarget) -> CaptureMemory:
        memory = self.known.pop(subject.id, None)
        if memory is not None and memory.files.mirror.root != subject.worktree:
            memory.close()
            memory = None
        if memory is None:
            memory = await remember(subject)
            await move_in(memory.store, subject.id)
        # The dict is in the order of use.
        self.known[subject.id] = memory
        while len(self.known) > MAX_REMEMBERED:
            unused = self.known.pop(next(iter(self.known)))
            # Save without an await, because a prune removes saved files.
            unused.save()
            await asyncio.to_thread(unused.end_watches)
        return memory

    def drop(self, id_: str) -> None:
        if (memory := self.known.pop(id_, None)) is not None:
            memory.close()

    def close(self) -> None:
        for id_ in list(self.known):
            self.drop(id_)


class Snapshots:
    """Snapshots of all worktrees; operations on one worktree run one after another."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._memories = _Memories()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._last: dict[str, Snapshot] = {}

    async def take(
        self, subject: SnapshotTarget, reason: str, called_at: float | None = None
    ) -> Snapshot:
        """Take a snapshot of a worktree; return the last one if nothing has changed.

        Args:
            subject: the worktree.
            reason: reason for the user.
            called_at: when a tool call was announced that may have started, in seconds since 1970.
                If files have changed since, undo skips this state.

        Raises:
            TaskspaceError: the snapshot cannot be written.
        """
        async with self._turns[subject.id]:
            return await self._take(subject, reason, called_at)

    async def work_commit(self, subject: SnapshotTarget) -> str:
        """Write a commit of a worktree's current files into its store, without a snapshot.

        Raises:
            TaskspaceError: the files cannot be read.
        """
        async with self._turns[subject.id]:
            try:
                return await work_of(subject, await self._memories.of(subject))
            except OSError as error:
                raise TaskspaceError(f"{subject.worktree} cannot be read: {error}", "") from error

    async def _take(
        self,
        subject: SnapshotTarget,
        reason: str,
        called_at: float | None = None,
        *,
        is_whole: bool = False,
    ) -> Snapshot:
        try:
            memory = await self._memories.of(subject)
            parts = await parts_of(subject, memory, is_whole=is_whole)
            last = self._last.get(subject.id) or next(
                iter((await self.history(subject))[-1:]), None
            )
            # Always write the snapshot after a restore: it records the target.
            if last is not None and last.key == key_of(parts) and not reason.startswith(BACK):
                # A snapshot of an older version has no `tree`.
                last = replace(last, tree=parts.work)
                self._last[subject.id] = last
                return last
            at = max(self._now(), last.at + 0.001 if last else 0.0)
            found = await changed_since_call(subject, memory.store, parts, last, called_at)
            made = await write(subject, parts, memory, Moment(at, reason, found))
        except OSError as error:
            raise TaskspaceError(
                f"cannot take a snapshot of {subject.worktree}: {error}", ""
            ) from error
        self._last[subject.id] = made
        return made

    async def store(self, subject: SnapshotTarget) -> Store:
        """Open the store of a worktree's snapshots; move snapshots of earlier versions into it.

        Raises:
            TaskspaceError: the store cannot be created or read.
        """
        try:
            known = self._memories.known.get(subject.id)
            if known is not None:
                return known.store
            store = await open_store(subject.store, subject.common)
            await move_in(store, subject.id)
        except OSError as error:
            raise TaskspaceError(f"{subject.store} cannot be read: {error}", "") from error
        return store

    async def history(self, subject: SnapshotTarget) -> list[Snapshot]:
        """The snapshots of a worktree, oldest first, without damaged ones.

        Raises:
            TaskspaceError: the snapshots cannot be listed.
        """
        store = await self.store(subject)
        try:
            names = await asyncio.to_thread(refs_in, store, subject.refs)
        except OSError as error:
            raise TaskspaceError(f"{subject.store} cannot be read: {error}", "") from error
        texts = await store.read(names.values())
        found: list[Snapshot] = []
        for ref, commit in names.items():
            message = texts.get(commit, b"").partition(b"\n\n")[2]
            made = snapshot_of(ref, commit, message.decode(errors="surrogateescape"))
            if made is not None:
                found.append(made)
        return sorted(found, key=lambda each: each.ref)

    async def restore(self, subject: SnapshotTarget, snapshot: Snapshot) -> RestoredSnapshot:
        """Restore a worktree to a snapshot, after a snapshot of its current state.

        Raises:
            TaskspaceError: the current state cannot be saved, or the snapshot cannot be restored.
        """
        async with self._turns[subject.id]:
            before = await self._take(subject, UNDO, is_whole=True)
            return await self._restore(subject, snapshot, before)

    async def _restore(
        self, subject: SnapshotTarget, snapshot: Snapshot, before: Snapshot
    ) -> RestoredSnapshot:
        try:
            memory = await self._memories.of(subject)
            notes = await restore_worktree(subject, memory, snapshot, before)
        except OSError as error:
            reason = f"{subject.worktree} cannot be restored: {error}"
            raise TaskspaceError(
                reason, "the state before the undo is saved as a snapshot; try again"
            ) from error
        await self._take(subject, f"{BACK}{snapshot.ref}")
        return RestoredSnapshot(snapshot, before, tuple(notes))

    async def undo(self, subject: SnapshotTarget) -> RestoredSnapshot:
        """Restore a worktree to the state before the current one.

        Raises:
            TaskspaceError: no earlier state exists, or see `restore`.
        """
        async with self._turns[subject.id]:
            current = await self._take(subject, UNDO, is_whole=True)
            target = state_before(await self.history(subject), current.key)
            if target is None:
                raise TaskspaceError(
                    "there is no earlier state than this one",
                    "snapshots are taken when a task is created, and at tool calls of ACP agents",
                )
            return await self._restore(subject, target, current)

    async def prune(
        self, subject: SnapshotTarget, *, days: float = SNAPSHOT_DAYS, most: int = MAX_SNAPSHOTS
    ) -> int:
        """Remove old snapshots; return their number.

        Raises:
            TaskspaceError: git fails to remove them.
        """
        dropped = await self.old(subject, days=days, most=most)
        await self._drop(subject, dropped)
        return len(dropped)

    async def _drop(self, subject: SnapshotTarget, dropped: list[Snapshot]) -> None:
        if not dropped:
            return
        git = (await self.store(subject)).git()
        commands = "".join(f"delete {each.ref} {each.commit}\n" for each in dropped)
        await git.ask("update-ref", "--no-deref", "--stdin", stdin=commands.encode())
        # Caches name objects that this prune may remove.
        self._memories.close()
        for cache in subject.shadow.parent.glob(f"*/*{CACHE}"):
            cache.unlink(missing_ok=True)
        await git.run("prune", "--expire=2.days.ago", timeout=COPY_TIMEOUT)

    async def old(
        self, subject: SnapshotTarget, *, days: float = SNAPSHOT_DAYS, most: int = MAX_SNAPSHOTS
    ) -> list[Snapshot]:
        """Snapshots that `prune` removes, never the last one.

        Raises:
            TaskspaceError: the snapshots cannot be listed.
        """
        found = await self.history(subject)
        oldest = self._now() - days * 86400
        dropped = [each for each in found[:-1] if each.at < oldest]
        rest = [each for each in found if each not in dropped]
        return [*dropped, *rest[: max(len(rest) - most, 0)]]

    async def forget(self, subject: SnapshotTarget) -> None:
        """Remove all snapshots of a permanently deleted worktree.

        Raises:
            TaskspaceError: git fails to remove them.
        """
        self.drop_memory(subject.id)
        await self._drop(subject, await self.history(subject))

    def drop_memory(self, id_: str) -> None:
        """Scan every file at the next snapshot of a worktree."""
        self._memories.drop(id_)
        self._last.pop(id_, None)

    def close(self) -> None:
        """Stop watching all worktrees."""
        self._memories.close()


def state_before(found: list[Snapshot], key: str) -> Snapshot | None:
    """The newest state before the current one that was not undone; None if it does not exist.

    Undone states lie between a restore and its target. They are skipped, so that a second undo goes
    back one state more. A state that a running tool call had already changed is skipped, too.
    """
    places = {each.ref: place for place, each in enumerate(found)}
    # A restore may skip refs of other worktrees, so its key can differ from the target's.
    same = {key}
    place = len(found) - 1
    while place >= 0:
        here = found[place]
        is_back = here.reason.startswith(BACK)
        earlier = here.called_on or (here.reason.removeprefix(BACK) if is_back else "")
        target = places.get(earlier, place)
        is_begun = bool(here.called_on) and target < place
        if is_back and here.key in same and target < place:
            same.add(found[target].key)
        if here.key not in same and not is_begun:
            return here
        place = target if target < place else place - 1
    return None
