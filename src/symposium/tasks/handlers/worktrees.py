"""Handlers of bus messages from users about worktrees: keep, undo, delete, restore."""

from pathlib import Path

from localio.git import GitRunError
from localio.text import minute_of
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.worktrees import (
    Collected,
    CollectTaskspaces,
    Removal,
    RemoveTaskspace,
    ReportTaskspace,
    Restored,
    RestoreTaskspace,
    SafetyReport,
    Snapped,
    SnapshotTaskspace,
    Undone,
    UndoTaskspace,
)
from symposium.sessions.session import SessionSpec
from symposium.tasks.deletion.archive import ARCHIVE_DAYS
from symposium.tasks.deletion.removal import ArchiveMode, BranchAction
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.handlers.task_views import snapshot_view, task_view
from symposium.tasks.model import TaskspaceError, TaskState
from symposium.tasks.queries import LIVE


class WorktreeHandlers:
    """Handlers for one engine.

    Args:
        engine: the taskspaces.
        agents: their agents.
    """

    def __init__(self, engine: Engine, agents: TaskAgents) -> None:
        self._engine = engine
        self._agents = agents

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(ReportTaskspace, self._report)
        answers.on_request(RemoveTaskspace, self._remove)
        answers.on_request(RestoreTaskspace, self._restore)
        answers.on_request(UndoTaskspace, self._undo)
        answers.on_request(SnapshotTaskspace, self._snapshot)
        answers.on_request(CollectTaskspaces, self._collect)
        return answers

    async def _report(self, message: ReportTaskspace, asked: RequestContext) -> SafetyReport:
        del asked
        report = await self._engine.trash.report(message.taskspace_uuid)
        unknowns = tuple(f"{each.risk}: {each.reason}" for each in report.unknowns)
        return SafetyReport(is_safe=report.is_safe, lines=report.lines, unknowns=unknowns)

    async def _purge(self, id_: str) -> None:
        """Delete an archived task for good, with the transcript of its agent."""
        await self._engine.trash.purge(id_)
        self._agents.forget(id_)

    async def _remove(self, message: RemoveTaskspace, asked: RequestContext) -> Removal:
        known = await self._engine.get(message.taskspace_uuid)
        if known.standing is TaskState.ARCHIVED and message.archived_for_good:
            await self._purge(known.id)
            return Removal(lines=(f"{known.name} is deleted for good; this cannot be undone",))
        asked.progress("checking for work that would be lost")
        try:
            action = BranchAction(message.branch)
        except ValueError as error:
            raise BusRefusedError("`branch` must be auto, keep, or drop", "bad_choice") from error
        consent = DeletionConsent.ONLY_IF_SAFE if message.only_if_safe else DeletionConsent.ARCHIVE
        keeping = ArchiveMode.NOTHING if message.archived_for_good else ArchiveMode.ARCHIVE
        removed = await self._engine.trash.delete(message.taskspace_uuid, consent, action, keeping)
        lines = [f"{removed.name} is deleted"]
        if keeping is ArchiveMode.NOTHING:
            self._agents.forget(removed.id)
            lines.append("no archive was kept; this cannot be undone")
        else:
            lines.append(f"`symposium task undo {removed.id}` restores it, for {ARCHIVE_DAYS} days")
        return Removal(lines=tuple(lines))

    async def _restore(self, message: RestoreTaskspace, asked: RequestContext) -> Restored:
        del asked
        taskspace, notes = await self._engine.trash.undo(message.taskspace_uuid)
        log = await self._engine.logs.summary(taskspace.id)
        view = task_view(taskspace, log, self._agents.status(taskspace.id))
        return Restored(taskspace=view, lines=notes)

    async def _undo(self, message: UndoTaskspace, asked: RequestContext) -> Undone:
        del asked
        history, id_ = self._engine.history, message.taskspace_uuid
        if message.snapshot is None:
            restored = await history.undo(id_)
        else:
            restored = await history.restore(id_, message.snapshot)
        now, before = snapshot_view(restored.snapshot), snapshot_view(restored.before)
        return Undone(now=now, before=before, lines=restored.notes)

    async def _snapshot(self, message: SnapshotTaskspace, asked: RequestContext) -> Snapped:
        del asked
        history = self._engine.history
        id_, reason, called_at = message.taskspace_uuid, message.reason, message.called_at
        taken = await history.snapshot(id_, reason, called_at=called_at)
        return Snapped(snapshot=snapshot_view(taken))

    async def _collect(self, message: CollectTaskspaces, asked: RequestContext) -> Collected:
        del asked
        orphans: tuple[str, ...] = ()
        if message.project is not None:
            found = await self._engine.orphans(Path(message.project))
            orphans = tuple(str(each.path) for each in found)
        lines = await (self._cleared() if message.is_applied else self._to_clear())
        live = [each for each in await self._engine.taskspaces() if each.standing in LIVE]
        history, done = self._engine.history, "removed" if message.is_applied else "to remove"
        count = history.prune if message.is_applied else history.old
        for each in live:
            try:
                if many := await count(each.id):
                    lines.append(
                        f"{each.name}: {many} old snapshot{'' if many == 1 else 's'} {done}"
                    )
            except (GitRunError, TaskspaceError) as error:
                lines.append(f"{each.name} is unchanged: {error.message}")
        return Collected(lines=tuple(lines), orphans=orphans)

    async def _to_clear(self) -> list[str]:
        """Expired archives and snapshots, each with the reason."""
        archived = [
            f"the archive of {each.name} (task deleted {minute_of(each.archived_at or '')})"
            for each in await self._engine.trash.old()
        ]
        return [*archived, *(_left(each.title) for each in await self._leftovers())]

    async def _cleared(self) -> list[str]:
        """Remove expired archives and leftover sessions; describe each."""
        lines = [f"removed the archive of {id_}" for id_ in await self._engine.trash.collect()]
        for left in await self._leftovers():
            self._agents.forget(left.id)
            lines.append(f"removed {_left(left.title)}")
        return lines

    async def _leftovers(self) -> list[SessionSpec]:
        return self._agents.leftovers({each.id for each in await self._engine.taskspaces()})


def _left(name: str) -> str:
    return f"the session of {name}, which was deleted for good"
