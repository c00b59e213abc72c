"""The snapshots of taskspaces, by their ids."""

from pathlib import Path

from symposium.taskspaces.events import Snapped
from symposium.taskspaces.failures import AbsentError, TaskspaceError
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.projects import open_project
from symposium.taskspaces.snapshots.restore import Restored
from symposium.taskspaces.snapshots.snapshots import DAYS
from symposium.taskspaces.snapshots.state import Snapshot
from symposium.taskspaces.snapshots.subject import Subject
from symposium.taskspaces.subjects import subject_of, subject_without_clone


class History:
    """What a taskspace was, and the way back."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._subjects: dict[str, Subject] = {}
        self._last: dict[str, str] = {}

    async def _subject(self, id_: str) -> Subject:
        taskspace = await self._ground.get(id_)
        known = self._subjects.get(taskspace.id)
        if known is None or str(known.worktree) != taskspace.worktree:
            try:
                opened = await open_project(Path(taskspace.project))
            except AbsentError:
                # A clone that git no longer reads: its store may bring it back.
                damaged = subject_without_clone(self._ground, taskspace)
                if damaged is None:
                    raise
                return damaged
            known = subject_of(self._ground, taskspace, opened.repository)
            self._subjects[taskspace.id] = known
        return known

    async def snapshot(self, id_: str, reason: str, *, called_at: float | None = None) -> Snapshot:
        """Keep what a taskspace is now; to be called at every tool call and state change.

        Args:
            id_: of the taskspace.
            reason: why, for people.
            called_at: when the tool call was heard of, if it may have begun by now; see
                `Snapshots.take`.

        Raises:
            TaskspaceError: there is none, or it cannot be kept.
        """
        taken = await self._ground.snapshots.take(await self._subject(id_), reason, called_at)
        self._announce(id_, taken)
        return taken

    def _announce(self, id_: str, *taken: Snapshot) -> None:
        """Tell of snapshots that are new: where nothing changed, the last one is returned."""
        for each in taken:
            if self._last.get(id_.lower()) != each.ref:
                self._last[id_.lower()] = each.ref
                self._ground.tell(Snapped(id_.lower(), each))

    async def snapshots(self, id_: str) -> list[Snapshot]:
        """The snapshots of a taskspace, oldest first.

        Raises:
            TaskspaceError: there is none.
        """
        return await self._ground.snapshots.history(await self._subject(id_))

    async def undo(self, id_: str) -> Restored:
        """Bring a taskspace back to the state before this one; what is now is kept first.

        Raises:
            TaskspaceError: there is no earlier state, or it cannot be restored.
        """
        subject = await self._subject(id_)
        async with self._ground.clone_turn(subject.common):
            work = self._ground.snapshots.undo(subject)
            restored = await self._ground.undertakings.to_its_end(work)
        self._announce(id_, restored.before, restored.snapshot)
        return restored

    async def restore(self, id_: str, ref: str) -> Restored:
        """Bring a taskspace back to a snapshot, by its ref; what is now is kept first.

        Raises:
            TaskspaceError: there is no such snapshot, or it cannot be restored.
        """
        subject = await self._subject(id_)
        found = [each for each in await self._ground.snapshots.history(subject) if each.ref == ref]
        if not found:
            hint = f"`symposium task undo {subject.id[:8]} --list` shows its snapshots"
            raise TaskspaceError(f"there is no snapshot {ref}", hint)
        async with self._ground.clone_turn(subject.common):
            work = self._ground.snapshots.restore(subject, found[0])
            restored = await self._ground.undertakings.to_its_end(work)
        self._announce(id_, restored.before, restored.snapshot)
        return restored

    async def old(self, id_: str) -> int:
        """How many snapshots `prune` would let go of.

        Raises:
            TaskspaceError: there is no such taskspace.
        """
        return len(await self._ground.snapshots.old(await self._subject(id_)))

    async def prune(self, id_: str, days: float = DAYS) -> int:
        """Let go of old snapshots; how many.

        Raises:
            TaskspaceError: there is no such taskspace.
        """
        return await self._ground.snapshots.prune(await self._subject(id_), days=days)
