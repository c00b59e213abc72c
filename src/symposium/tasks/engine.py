"""The engine of tasks: one object for all requests. Knows no bus."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from symposium.tasks.conflict_resolutions import Resolutions
from symposium.tasks.creation import CreateRequest, create
from symposium.tasks.deletion.trash import Trash
from symposium.tasks.engine_context import EngineContext, subject_of, subject_without_clone
from symposium.tasks.events import SnapshotEvent
from symposium.tasks.land import Landed, LandOptions, LandOutcome, keep_landed, land
from symposium.tasks.logs import GuidanceLog, LogReader
from symposium.tasks.model import AbsentError, Taskspace, TaskspaceError, TaskState
from symposium.tasks.overlaps import Overlap, OverlapDetector
from symposium.tasks.projects import open_project
from symposium.tasks.queries import LIVE, TaskQueries
from symposium.tasks.recipe import SetUpRecipe
from symposium.tasks.reconciliation import Report, reconcile
from symposium.tasks.records import Records, TaskPresence
from symposium.tasks.recovery import Recovered, recover
from symposium.tasks.repository import EngineLock
from symposium.tasks.setup import recipe_of, resume, set_up
from symposium.tasks.snapshots.restore import RestoredSnapshot
from symposium.tasks.snapshots.snapshot_values import Snapshot, SnapshotTarget
from symposium.tasks.snapshots.snapshots import SNAPSHOT_DAYS
from symposium.tasks.spawning import BUILT_IN, AgentCommands, Spawning
from symposium.tasks.task_discovery import Orphan, adopt, check, find, load_project, orphans


class TaskHistory:
    """Snapshots of a task, and undo."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._subjects: dict[str, SnapshotTarget] = {}
        self._last: dict[str, str] = {}

    async def _subject(self, id_: str) -> SnapshotTarget:
        taskspace = await self._context.get(id_)
        known = self._subjects.get(taskspace.id)
        if known is None or str(known.worktree) != taskspace.worktree:
            try:
                opened = await open_project(Path(taskspace.project))
            except AbsentError:
                # A clone that git no longer reads: its store may restore it.
                damaged = subject_without_clone(self._context, taskspace)
                if damaged is None:
                    raise
                return damaged
            known = subject_of(self._context, taskspace, opened.repository)
            self._subjects[taskspace.id] = known
        return known

    async def snapshot(self, id_: str, reason: str, *, called_at: float | None = None) -> Snapshot:
        """Snapshot a task; called at every tool call and change of state.

        Args:
            id_: the task.
            reason: the reason, for the user.
            called_at: when the tool call was reported, if it may have started by now; see
                `Snapshots.take`.

        Raises:
            TaskspaceError: the task does not exist, or the snapshot failed.
        """
        taken = await self._context.snapshots.take(await self._subject(id_), reason, called_at)
        self._announce(id_, taken)
        return taken

    def _announce(self, id_: str, *taken: Snapshot) -> None:
        """Announce new snapshots: where nothing changed, the last one is returned."""
        for each in taken:
            if self._last.get(id_.lower()) != each.ref:
                self._last[id_.lower()] = each.ref
                self._context.tell(SnapshotEvent(id_.lower(), each))

    async def snapshots(self, id_: str) -> list[Snapshot]:
        """List the snapshots of a task, oldest first.

        Raises:
            TaskspaceError: the task does not exist.
        """
        return await self._context.snapshots.history(await self._subject(id_))

    async def undo(self, id_: str) -> RestoredSnapshot:
        """Restore the state before the current one; snapshots the current one first.

        Raises:
            TaskspaceError: there is no earlier state, or it cannot be restored.
        """
        subject = await self._subject(id_)
        async with self._context.clone_lock(subject.common):
            work = self._context.snapshots.undo(subject)
            restored = await self._context.shielded.run_shielded(work)
        self._announce(id_, restored.before, restored.snapshot)
        return restored

    async def restore(self, id_: str, ref: str) -> RestoredSnapshot:
        """Restore a snapshot by its ref; snapshots the current state first.

        Raises:
            TaskspaceError: the snapshot does not exist, or cannot be restored.
        """
        subject = await self._subject(id_)
        found = [each for each in await self._context.snapshots.history(subject) if each.ref == ref]
        if not found:
            hint = f"`symposium task undo {subject.id[:8]} --list` lists the snapshots"
            raise TaskspaceError(f"snapshot {ref} does not exist", hint)
        async with self._context.clone_lock(subject.common):
            work = self._context.snapshots.restore(subject, found[0])
            restored = await self._context.shielded.run_shielded(work)
        self._announce(id_, restored.before, restored.snapshot)
        return restored

    async def old(self, id_: str) -> int:
        """Number of snapshots that `prune` would remove.

        Raises:
            TaskspaceError: the task does not exist.
        """
        return len(await self._context.snapshots.old(await self._subject(id_)))

    async def prune(self, id_: str, days: float = SNAPSHOT_DAYS) -> int:
        """Remove old snapshots; returns their number.

        Raises:
            TaskspaceError: the task does not exist.
        """
        return await self._context.snapshots.prune(await self._subject(id_), days=days)


_OTHER_GIT_TIMEOUT = 60.0
"""Seconds that a git of the last run may still run."""


class Engine:
    """All tasks of a user.

    Attributes:
        records: their state, progress, and questions.
        logs: reads the log entries.
        guidance: the texts that their agents have read.
        queries: finds tasks by index.
        spawning: tasks created by agents.
        trash: deletion and its undo.
        history: snapshots and undo.
        resolutions: landings whose conflicts an agent resolves.
        presence: the windows that show them.
        shielded: running work that must complete.
    """

    def __init__(
        self, context: EngineContext, table: Mapping[str, AgentCommands] = BUILT_IN
    ) -> None:
        self._context = context
        self.shielded = context.shielded
        self.presence = TaskPresence()
        self.records = Records(context, table)
        self.logs = LogReader(context)
        self.guidance = GuidanceLog(context)
        self.queries = TaskQueries(context)
        self.spawning = Spawning(context)
        self.trash = Trash(context, self.presence, self.spawning.wake)
        self.history = TaskHistory(context)
        self.resolutions = Resolutions(context)
        self._detector = OverlapDetector(context)
        self._lease = EngineLock(context.state / "lease")

    async def start(self) -> Recovered:
        """Finish or roll back the work of the last run; call it first.

        Raises:
            TaskspaceError: another engine uses the same state.
        """
        await asyncio.to_thread(self._lease.take, _OTHER_GIT_TIMEOUT)
        return await recover(self._context)

    async def reconcile(self, report: Report) -> None:
        """Check every task once, and report changes since the last run.

        Called after the start: it takes seconds for thousands of tasks, while requests run.
        """
        await reconcile(self._context, report)

    def close(self) -> None:
        """Close the journal, and stop watching worktrees."""
        self._context.snapshots.close()
        self._context.journal.close()
        self._lease.give_back()

    async def create(self, order: CreateRequest) -> Taskspace:
        """Create a task; see `symposium.tasks.creation`.

        Raises:
            TaskspaceError: the creation failed; everything was rolled back.
        """
        return await create(self._context, order)

    async def retry(self, id_: str, declined: str | None = None) -> Taskspace:
        """Retry the setup of a task.

        Args:
            id_: the task.
            declined: the digest of a setup that the user has seen and declined: while the
                files ask for that, the task continues without it.

        Raises:
            TaskspaceError: the task does not exist, or its project cannot be opened.
        """
        taskspace = await self._context.get(id_)
        if declined is not None:
            taskspace = replace(taskspace, declined=declined)
            await self._context.put(taskspace)
        opened = await open_project(Path(taskspace.project))
        return await set_up(self._context, taskspace, opened.repository)

    async def resume(self, id_: str) -> bool:
        """Restart a task's agent, as after a reboot; False if it may be running.

        Raises:
            TaskspaceError: the task is not ready, or its agent cannot be started.
        """
        taskspace = await self._context.get(id_)
        opened = await open_project(Path(taskspace.project))
        return await resume(self._context, taskspace, opened.repository)

    async def recipe(self, id_: str) -> SetUpRecipe:
        """Setup of a task as its files describe it, for display.

        Raises:
            TaskspaceError: the task does not exist, or its project cannot be opened.
        """
        taskspace = await self._context.get(id_)
        opened = await open_project(Path(taskspace.project))
        return recipe_of(taskspace, opened.repository)

    async def get(self, id_: str) -> Taskspace:
        """Look up a task by id.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        return await self._context.get(id_)

    async def find(self, directory: Path) -> Taskspace | None:
        """Find the task that contains a directory."""
        return await find(self._context, directory)

    async def taskspaces(self, project: Path | None = None) -> list[Taskspace]:
        """All tasks, or those of a project, last used first; archived ones last.

        Raises:
            TaskspaceError: the project does not exist.
        """
        found = await self._context.everything()
        if project is not None:
            opened = await open_project(project)
            await load_project(self._context, opened)
            directory = str(opened.project.directory)
            found = [each for each in await self._context.everything() if each.project == directory]
        checked = await check(self._context, found)
        by_time = sorted(checked, key=lambda each: each.activated_at, reverse=True)
        return sorted(by_time, key=lambda each: each.standing is TaskState.ARCHIVED)

    async def orphans(self, project: Path) -> list[Orphan]:
        """Worktrees of a clone that belong to no task.

        Raises:
            TaskspaceError: the project does not exist.
        """
        return await orphans(self._context, await open_project(project))

    async def adopt(self, path: Path, name: str | None = None) -> Taskspace:
        """Make a task of an existing worktree.

        Raises:
            TaskspaceError: the worktree cannot become one.
        """
        return await adopt(self._context, path, name)

    async def land(self, id_: str, options: LandOptions) -> LandOutcome:
        """Land a task's branch; see `symposium.tasks.land`.

        Raises:
            TaskspaceError: it cannot be landed in its current state.
        """
        taskspace = await self._context.get(id_)
        opened = await open_project(Path(taskspace.project))
        async with self._context.turns[taskspace.id]:
            outcome = await land(self._context, taskspace, opened.repository, options)
            if isinstance(outcome, Landed):
                outcome = await keep_landed(self._context, taskspace, opened.repository, outcome)
                await self.resolutions.end(taskspace.id)
            await self._context.mirror(taskspace.id)
            return outcome

    async def radar(self, project: Path) -> list[Overlap]:
        """Conflicts of a project's live tasks, with each other and with their base.

        Raises:
            TaskspaceError: the project does not exist, or a worktree cannot be read.
        """
        opened = await open_project(project)
        await load_project(self._context, opened)
        known = await self.queries.live(str(opened.project.directory))
        live = [each for each in await check(self._context, known) if each.standing in LIVE]
        return await self._detector.find_overlaps(live, opened.repository)
