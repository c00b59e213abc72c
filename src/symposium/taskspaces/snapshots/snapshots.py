"""Takes, lists, prunes and restores the snapshots of worktrees."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.snapshots.capture import (
    Memory,
    Moment,
    key_of,
    parts_of,
    work_of,
    write,
)
from symposium.taskspaces.snapshots.lateness import state_at_call
from symposium.taskspaces.snapshots.restore import Restored, bring_back
from symposium.taskspaces.snapshots.state import Snapshot, snapshot_of
from symposium.taskspaces.snapshots.subject import Subject

DAYS: Final = 14
"""How long a snapshot is kept; the newest of a taskspace stays."""

MOST: Final = 2000
"""Snapshots of one taskspace."""

UNDO: Final = "before undo"
"""The reason of a snapshot that a restore takes first."""

BACK: Final = "back to "
"""What the reason of a snapshot begins with that a restore takes last; its target's ref follows."""

_FORMAT: Final = "%(refname)%00%(objectname)%00%(contents)%00%01"


class Snapshots:
    """Those of all worktrees; one thing at a time happens to each."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._memories: defaultdict[str, Memory] = defaultdict(Memory)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._last: dict[str, Snapshot] = {}

    async def take(self, subject: Subject, reason: str, called_at: float | None = None) -> Snapshot:
        """Keep what a worktree is now; the last snapshot if nothing has changed since.

        Args:
            subject: the worktree.
            reason: why, for people.
            called_at: when a tool call was heard of that may have begun by now, in seconds since
                1970: if something has changed just then, undo passes this state over.

        Raises:
            TaskspaceError: it cannot be kept.
        """
        async with self._turns[subject.id]:
            return await self._take(subject, reason, called_at)

    async def look(self, subject: Subject) -> str:
        """A commit of a worktree's files as they are now; no snapshot is made of it.

        Raises:
            TaskspaceError: they cannot be read.
        """
        async with self._turns[subject.id]:
            try:
                return await work_of(subject, self._memories[subject.id])
            except OSError as error:
                raise TaskspaceError(f"{subject.worktree} cannot be read: {error}", "") from error

    async def _take(
        self, subject: Subject, reason: str, called_at: float | None = None
    ) -> Snapshot:
        memory = self._memories[subject.id]
        try:
            parts = await parts_of(subject, memory)
            last = self._last.get(subject.id) or await self._newest(subject)
            # The end of a restore is written in any case: it says where that has led.
            if last is not None and last.key == key_of(parts) and not reason.startswith(BACK):
                self._last[subject.id] = last
                return last
            at = max(self._now(), last.at + 0.001 if last else 0.0)
            found = await state_at_call(subject, parts, last, called_at)
            made = await write(subject, parts, memory, Moment(at, reason, found))
        except OSError as error:
            raise TaskspaceError(f"{subject.worktree} cannot be kept: {error}", "") from error
        self._last[subject.id] = made
        return made

    async def _newest(self, subject: Subject) -> Snapshot | None:
        found = await self.history(subject)
        return found[-1] if found else None

    async def history(self, subject: Subject) -> list[Snapshot]:
        """The snapshots of a worktree, oldest first."""
        listed = await subject.clone().ask("for-each-ref", f"--format={_FORMAT}", subject.refs)
        found: list[Snapshot] = []
        for record in listed.out.decode(errors="surrogateescape").split("\0\x01"):
            ref, _, rest = record.lstrip("\n").partition("\0")
            commit, _, message = rest.partition("\0")
            made = snapshot_of(ref, commit, message)
            if made is not None:
                found.append(made)
        return sorted(found, key=lambda each: each.ref)

    async def restore(self, subject: Subject, snapshot: Snapshot) -> Restored:
        """Bring a worktree back to a snapshot; what it is now is snapshotted first.

        Raises:
            TaskspaceError: what is there cannot be kept, or the other not be written.
        """
        async with self._turns[subject.id]:
            before = await self._take(subject, UNDO)
            try:
                notes = await bring_back(subject, snapshot, before)
            except OSError as error:
                reason = f"{subject.worktree} cannot be restored: {error}"
                raise TaskspaceError(reason, "the state before is kept; try again") from error
            finally:
                self._memories.pop(subject.id, None)
            await self._take(subject, f"{BACK}{snapshot.ref}")
            return Restored(snapshot, before, tuple(notes))

    async def undo(self, subject: Subject) -> Restored:
        """Bring a worktree back to the state before this one.

        Raises:
            TaskspaceError: there is none, or as `restore`.
        """
        async with self._turns[subject.id]:
            current = await self._take(subject, UNDO)
        target = state_before(await self.history(subject), current.key)
        if target is None:
            raise TaskspaceError(
                "there is no earlier state than this one",
                "one is kept when a task is made, and at tool calls of agents that speak ACP",
            )
        return await self.restore(subject, target)

    async def prune(self, subject: Subject, *, days: float = DAYS, most: int = MOST) -> int:
        """Drop old snapshots; how many.

        Raises:
            TaskspaceError: git cannot.
        """
        dropped = await self.old(subject, days=days, most=most)
        commands = "".join(f"delete {each.ref} {each.commit}\n" for each in dropped)
        if dropped:
            await subject.clone().ask("update-ref", "--stdin", stdin=commands.encode())
        return len(dropped)

    async def old(
        self, subject: Subject, *, days: float = DAYS, most: int = MOST
    ) -> list[Snapshot]:
        """The snapshots that `prune` drops; the last one never is.

        Raises:
            TaskspaceError: git cannot.
        """
        found = await self.history(subject)
        oldest = self._now() - days * 86400
        dropped = [each for each in found[:-1] if each.at < oldest]
        rest = [each for each in found if each not in dropped]
        return [*dropped, *rest[: max(len(rest) - most, 0)]]

    async def forget(self, subject: Subject) -> None:
        """Drop all snapshots of a worktree: it is gone for good.

        Raises:
            TaskspaceError: git cannot.
        """
        found = await self.history(subject)
        commands = "".join(f"delete {each.ref} {each.commit}\n" for each in found)
        if found:
            await subject.clone().ask("update-ref", "--stdin", stdin=commands.encode())
        self.drop_memory(subject.id)

    def drop_memory(self, id_: str) -> None:
        """Look at a worktree anew next time."""
        self._memories.pop(id_, None)
        self._last.pop(id_, None)


def state_before(found: list[Snapshot], key: str) -> Snapshot | None:
    """The newest state other than this one that led to it; None if there is none.

    What was undone lies between a restore and its target and led nowhere: it is passed over, so
    that undoing twice goes back twice. So is a state that a tool call had begun to change.
    """
    places = {each.ref: place for place, each in enumerate(found)}
    place = len(found) - 1
    while place >= 0:
        here = found[place]
        is_back = here.reason.startswith(BACK)
        earlier = here.called_on or (here.reason.removeprefix(BACK) if is_back else "")
        target = places.get(earlier, place)
        is_begun = bool(here.called_on) and target < place
        if here.key != key and not is_begun:
            return here
        place = target if target < place else place - 1
    return None
