"""Deletion, its report, its undo and its end, by the ids of taskspaces."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path

from symposium.git.program import GitRunError
from symposium.taskspaces.deletion.archive import read_archive, trash_of
from symposium.taskspaces.deletion.assessment import assess
from symposium.taskspaces.deletion.removal import BranchFate, Keeping, remove
from symposium.taskspaces.deletion.report import Report
from symposium.taskspaces.deletion.requests import Decision, Requests
from symposium.taskspaces.deletion.undo import is_old, purge, undo_removal
from symposium.taskspaces.failures import NotSafeError, TaskspaceError
from symposium.taskspaces.ground import Ground, is_root
from symposium.taskspaces.landing.landed import is_landed
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.presence import Presence
from symposium.taskspaces.projects import open_project


class Consent(StrEnum):
    """What the user has agreed to."""

    ONLY_IF_SAFE = "only-if-safe"
    ARCHIVE = "archive"


class Trash:
    """Where deleted taskspaces are.

    Attributes:
        requests: deletions that agents have asked for.
    """

    def __init__(
        self, ground: Ground, presence: Presence, wake: Callable[[], Awaitable[None]]
    ) -> None:
        self._ground = ground
        self._presence = presence
        self._wake = wake
        self.requests = Requests()

    async def report(self, id_: str) -> Report:
        """What a deletion would lose.

        Raises:
            TaskspaceError: there is no such taskspace.
        """
        taskspace = await self._ground.get(id_)
        opened = await open_project(Path(taskspace.project))
        idle = await self._ground.agents.idle_process(taskspace.id)
        done = idle if idle is not None and await is_landed(taskspace) else None
        return await assess(self._ground, taskspace, opened.repository, self._presence, done)

    async def delete(
        self,
        id_: str,
        consent: Consent,
        fate: BranchFate = BranchFate.AUTO,
        keeping: Keeping = Keeping.ARCHIVE,
    ) -> Taskspace:
        """Archive a taskspace and take it away; `undo` brings it back for 14 days.

        Only where nothing is to be kept there is no archive, and no way back.

        Raises:
            NotSafeError: work would go and nobody agreed, or not all of it can be kept.
            TaskspaceError: there is no such taskspace, or git cannot.
        """
        taskspace = await self._ground.get(id_)
        async with self._ground.turns[taskspace.id]:
            taskspace = await self._ground.get(id_)
            if taskspace.standing in {Standing.ARCHIVED, Standing.CREATING}:
                raise TaskspaceError(f"{taskspace.name!r} is {taskspace.standing}", "")
            if is_root(taskspace):
                raise TaskspaceError(f"{taskspace.name!r} is the checkout itself", "it stays")
            if consent is Consent.ONLY_IF_SAFE:
                report = await self.report(id_)
                if not report.is_safe:
                    hint = "archive it, which keeps all of it for 14 days"
                    raise NotSafeError(f"{taskspace.name!r}: {'; '.join(report.lines)}", hint)
            opened = await open_project(Path(taskspace.project))
            removed = await remove(self._ground, taskspace, opened.repository, fate, keeping)
        # An agent that asked for it waits no longer, whoever deleted it.
        self.requests.decide(taskspace.id, Decision.DELETED)
        await self._wake()
        return removed

    async def undo(self, id_: str) -> tuple[Taskspace, tuple[str, ...]]:
        """Bring an archived taskspace back.

        Returns:
            The taskspace, and notes on what could not be brought back as it was.

        Raises:
            TaskspaceError: it is not archived, its archive is damaged, or its place is taken.
        """
        taskspace = await self._ground.get(id_)
        async with self._ground.turns[taskspace.id]:
            taskspace = await self._ground.get(id_)
            opened = await open_project(Path(taskspace.project))
            return await undo_removal(self._ground, taskspace, opened.repository)

    async def collect(self) -> list[str]:
        """Let go of archives that are older than 14 days, for good; their taskspaces' ids.

        Raises:
            TaskspaceError: the journal cannot be written.
        """
        gone = await self.old()
        for taskspace in gone:
            await self.purge(taskspace.id)
        return [taskspace.id for taskspace in gone]

    async def old(self) -> list[Taskspace]:
        """The archived ones that have been kept long enough."""
        found: list[Taskspace] = []
        for taskspace in await self._ground.everything():
            if taskspace.standing is not Standing.ARCHIVED:
                continue
            try:
                trash = trash_of(self._ground.state, taskspace.id)
                manifest = await asyncio.to_thread(read_archive, trash)
            except (GitRunError, TaskspaceError):
                # What cannot be read cannot be judged: it stays until somebody looks at it.
                continue
            if is_old(self._ground, manifest.at):
                found.append(taskspace)
        return found

    async def purge(self, id_: str) -> None:
        """Let go of an archived taskspace for good.

        Raises:
            TaskspaceError: it is not archived.
        """
        taskspace = await self._ground.get(id_)
        try:
            repository = (await open_project(Path(taskspace.project))).repository
        except (GitRunError, TaskspaceError):
            # The clone is gone, and its refs with it.
            repository = None
        await purge(self._ground, taskspace, repository)
