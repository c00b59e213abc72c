"""The engine: one object with all that can be asked of taskspaces. It knows no bus."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from symposium.taskspaces.agent_commands import BUILT_IN, AgentCommands
from symposium.taskspaces.creation import Order, create
from symposium.taskspaces.git.lease import Lease
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.guidance_log import GuidanceLog
from symposium.taskspaces.history import History
from symposium.taskspaces.landing.land import (
    Landed,
    LandOptions,
    LandOutcome,
    keep_landed,
    land,
)
from symposium.taskspaces.landing.radar import Overlap, Radar
from symposium.taskspaces.landing.resolutions import Resolutions
from symposium.taskspaces.log_reader import LogReader
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.presence import Presence
from symposium.taskspaces.projects import open_project
from symposium.taskspaces.reconciliation import Report, reconcile
from symposium.taskspaces.records import Records
from symposium.taskspaces.recovery import Recovered, recover
from symposium.taskspaces.roster import Orphan, adopt, check, find, orphans, take_in
from symposium.taskspaces.setting_up import recipe_of, resume, set_up
from symposium.taskspaces.setup_files.recipe import SetUp
from symposium.taskspaces.spawning import Spawning
from symposium.taskspaces.task_queries import LIVE, TaskQueries
from symposium.taskspaces.trash import Trash

_PATIENCE = 60.0
"""Seconds that a git of the last run may still be at work."""


class Engine:
    """All taskspaces of a user.

    Attributes:
        records: their state, progress and questions.
        logs: reads what was logged.
        guidance: which texts their agents have read.
        queries: finds tasks by index.
        spawning: those that agents make.
        trash: deletion and its undo.
        history: snapshots and their undo.
        resolutions: landings whose conflicts an agent resolves.
        presence: who is at them.
        undertakings: what is being done and must come to its end.
    """

    def __init__(self, ground: Ground, table: Mapping[str, AgentCommands] = BUILT_IN) -> None:
        self._ground = ground
        self.undertakings = ground.undertakings
        self.presence = Presence()
        self.records = Records(ground, table)
        self.logs = LogReader(ground)
        self.guidance = GuidanceLog(ground)
        self.queries = TaskQueries(ground)
        self.spawning = Spawning(ground)
        self.trash = Trash(ground, self.presence, self.spawning.wake)
        self.history = History(ground)
        self.resolutions = Resolutions(ground)
        self._radar = Radar(ground)
        self._lease = Lease(ground.state / "lease")

    async def start(self) -> Recovered:
        """End what the last run has left half done; to be called before anything else.

        Raises:
            TaskspaceError: another engine is at work on the same state.
        """
        await asyncio.to_thread(self._lease.take, _PATIENCE)
        return await recover(self._ground)

    async def reconcile(self, report: Report) -> None:
        """Look at every task once, and report what has changed while no engine ran.

        For after the start: it takes seconds for thousands of tasks, and others may ask meanwhile.
        """
        await reconcile(self._ground, report)

    def close(self) -> None:
        """Close the journal, and end the watches of worktrees."""
        self._ground.snapshots.close()
        self._ground.journal.close()
        self._lease.give_back()

    async def create(self, order: Order) -> Taskspace:
        """Make a taskspace; see `symposium.taskspaces.creation`.

        Raises:
            TaskspaceError: it cannot be made; nothing of it is left.
        """
        return await create(self._ground, order)

    async def retry(self, id_: str, declined: str | None = None) -> Taskspace:
        """Try the set-up of a taskspace again.

        Args:
            id_: which.
            declined: the digest of a set-up that a person has seen and said no to: as long as
                the files ask for that, the taskspace goes on without it.

        Raises:
            TaskspaceError: there is none, or its project cannot be opened.
        """
        taskspace = await self._ground.get(id_)
        if declined is not None:
            taskspace = replace(taskspace, declined=declined)
            await self._ground.put(taskspace)
        opened = await open_project(Path(taskspace.project))
        return await set_up(self._ground, taskspace, opened.repository)

    async def resume(self, id_: str) -> bool:
        """Start a taskspace's agent again, as after a reboot; False if it may be running.

        Raises:
            TaskspaceError: the taskspace is not ready, or its agent cannot be started.
        """
        taskspace = await self._ground.get(id_)
        opened = await open_project(Path(taskspace.project))
        return await resume(self._ground, taskspace, opened.repository)

    async def recipe(self, id_: str) -> SetUp:
        """What the set-up files of a taskspace ask for, to be shown.

        Raises:
            TaskspaceError: there is none, or its project cannot be opened.
        """
        taskspace = await self._ground.get(id_)
        opened = await open_project(Path(taskspace.project))
        return recipe_of(taskspace, opened.repository)

    async def get(self, id_: str) -> Taskspace:
        """The taskspace of an id.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        return await self._ground.get(id_)

    async def find(self, directory: Path) -> Taskspace | None:
        """The taskspace that a directory lies in."""
        return await find(self._ground, directory)

    async def taskspaces(self, project: Path | None = None) -> list[Taskspace]:
        """All of them, or those of a project, the one last gone to first; archived ones last.

        Raises:
            TaskspaceError: there is no such project.
        """
        found = await self._ground.everything()
        if project is not None:
            opened = await open_project(project)
            await take_in(self._ground, opened)
            directory = str(opened.project.directory)
            found = [each for each in await self._ground.everything() if each.project == directory]
        checked = await check(self._ground, found)
        by_time = sorted(checked, key=lambda each: each.activated_at, reverse=True)
        return sorted(by_time, key=lambda each: each.standing is Standing.ARCHIVED)

    async def orphans(self, project: Path) -> list[Orphan]:
        """Worktrees of a clone that are no taskspaces.

        Raises:
            TaskspaceError: there is no such project.
        """
        return await orphans(self._ground, await open_project(project))

    async def adopt(self, path: Path, name: str | None = None) -> Taskspace:
        """Make a worktree that is there a taskspace.

        Raises:
            TaskspaceError: it cannot be one.
        """
        return await adopt(self._ground, path, name)

    async def land(self, id_: str, options: LandOptions) -> LandOutcome:
        """Land a taskspace's branch; see `symposium.taskspaces.landing.land`.

        Raises:
            TaskspaceError: it cannot be landed as it is.
        """
        taskspace = await self._ground.get(id_)
        opened = await open_project(Path(taskspace.project))
        async with self._ground.turns[taskspace.id]:
            outcome = await land(self._ground, taskspace, opened.repository, options)
            if isinstance(outcome, Landed):
                outcome = await keep_landed(self._ground, taskspace, opened.repository, outcome)
                await self.resolutions.end(taskspace.id)
            await self._ground.mirror(taskspace.id)
            return outcome

    async def radar(self, project: Path) -> list[Overlap]:
        """Which live taskspaces of a project would conflict, with each other and their base.

        Raises:
            TaskspaceError: there is no such project, or a worktree cannot be kept.
        """
        opened = await open_project(project)
        await take_in(self._ground, opened)
        known = await self.queries.live(str(opened.project.directory))
        live = [each for each in await check(self._ground, known) if each.standing in LIVE]
        return await self._radar.look(live, opened.repository)
