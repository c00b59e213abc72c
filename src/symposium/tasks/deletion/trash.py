"""Deletion by id: report, delete, undo, purge, and the requests of agents."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import uuid4

from localio.git import GitRunError
from symposium.tasks.deletion.archive import ARCHIVE_DAYS, read_archive, trash_of
from symposium.tasks.deletion.removal import ArchiveMode, BranchAction, remove
from symposium.tasks.deletion.restore_task import is_old, purge, undo_removal
from symposium.tasks.deletion.safety_checks import assess
from symposium.tasks.deletion.safety_report import DeletionReport
from symposium.tasks.engine_context import EngineContext, is_root
from symposium.tasks.model import NotSafeError, Taskspace, TaskspaceError, TaskState
from symposium.tasks.projects import open_project
from symposium.tasks.records import TaskPresence
from symposium.tasks.repository import is_landed

EXPIRY: Final = 24 * 3600.0
"""Seconds that a question waits for an answer."""


class DeletionDecision(StrEnum):
    """Decision that the agent receives."""

    DELETED = "deleted"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    """A request that waits for the user.

    Attributes:
        id: of this request: a decision on an earlier one does not apply to it.
        at: time of the request, ISO 8601 in UTC.
    """

    taskspace: str
    reason: str
    id: str
    at: str


class Requests:
    """Open requests. One decision answers all requests for a task.

    Attributes:
        on_change: called when a request comes or goes.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = _ignore
        self._waiting: dict[
            str, tuple[DeletionRequest, list[asyncio.Future[DeletionDecision]]]
        ] = {}

    async def ask(
        self, taskspace: str, reason: str = "", expiry: float = EXPIRY
    ) -> DeletionDecision:
        """Wait for the user's decision, or for the timeout."""
        answer: asyncio.Future[DeletionDecision] = asyncio.get_running_loop().create_future()
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        request = DeletionRequest(taskspace, reason, uuid4().hex[:8], at)
        self._waiting.setdefault(taskspace, (request, []))[1].append(answer)
        self.on_change()
        try:
            async with asyncio.timeout(expiry):
                return await answer
        except TimeoutError:
            return DeletionDecision.EXPIRED
        finally:
            self._drop(taskspace, answer)
            self.on_change()

    def _drop(self, taskspace: str, answer: asyncio.Future[DeletionDecision]) -> None:
        if taskspace not in self._waiting:
            return
        _, answers = self._waiting[taskspace]
        if answer in answers:
            answers.remove(answer)
        if not answers:
            del self._waiting[taskspace]

    def decide(self, taskspace: str, decision: DeletionDecision) -> int:
        """Answer all open requests for a task; returns their number."""
        if taskspace not in self._waiting:
            return 0
        _, answers = self._waiting.pop(taskspace)
        waiting = [answer for answer in answers if not answer.done()]
        for answer in waiting:
            answer.set_result(decision)
        return len(waiting)

    def pending(self) -> list[DeletionRequest]:
        """Open requests, oldest first."""
        return [request for request, _ in self._waiting.values()]


def _ignore() -> None:
    pass


class DeletionConsent(StrEnum):
    """Loss that the user has agreed to."""

    ONLY_IF_SAFE = "only-if-safe"
    ARCHIVE = "archive"


class Trash:
    """The archives of deleted tasks.

    Attributes:
        requests: deletions requested by agents.
    """

    def __init__(
        self, context: EngineContext, presence: TaskPresence, wake: Callable[[], Awaitable[None]]
    ) -> None:
        self._context = context
        self._presence = presence
        self._wake = wake
        self.requests = Requests()

    async def report(self, id_: str) -> DeletionReport:
        """Report what a deletion would lose.

        Raises:
            TaskspaceError: the task does not exist.
        """
        taskspace = await self._context.get(id_)
        opened = await open_project(Path(taskspace.project))
        idle = await self._context.agents.idle_process(taskspace.id)
        done = idle if idle is not None and await is_landed(taskspace) else None
        return await assess(self._context, taskspace, opened.repository, self._presence, done)

    async def delete(
        self,
        id_: str,
        consent: DeletionConsent,
        action: BranchAction = BranchAction.AUTO,
        keeping: ArchiveMode = ArchiveMode.ARCHIVE,
    ) -> Taskspace:
        """Archive and delete a task; `undo` restores it for `ARCHIVE_DAYS`.

        Only a deletion without archive cannot be undone.

        Raises:
            NotSafeError: work would be lost without consent, or cannot be archived.
            TaskspaceError: the task does not exist, or git failed.
        """
        taskspace = await self._context.get(id_)
        async with self._context.turns[taskspace.id]:
            taskspace = await self._context.get(id_)
            if taskspace.standing in {TaskState.ARCHIVED, TaskState.CREATING}:
                raise TaskspaceError(f"{taskspace.name!r} is {taskspace.standing}", "")
            if is_root(taskspace):
                raise TaskspaceError(f"{taskspace.name!r} is the checkout itself", "it stays")
            if consent is DeletionConsent.ONLY_IF_SAFE:
                report = await self.report(id_)
                if not report.is_safe:
                    hint = f"archive it, which keeps all of it for {ARCHIVE_DAYS} days"
                    raise NotSafeError(f"{taskspace.name!r}: {'; '.join(report.lines)}", hint)
            opened = await open_project(Path(taskspace.project))
            removed = await remove(self._context, taskspace, opened.repository, action, keeping)
        # Release agents that asked for this deletion.
        self.requests.decide(taskspace.id, DeletionDecision.DELETED)
        await self._wake()
        return removed

    async def undo(self, id_: str) -> tuple[Taskspace, tuple[str, ...]]:
        """Restore an archived task.

        Returns:
            The task, and notes on parts that could not be restored completely.

        Raises:
            TaskspaceError: it is not archived, its archive is damaged, or its place is taken.
        """
        taskspace = await self._context.get(id_)
        async with self._context.turns[taskspace.id]:
            taskspace = await self._context.get(id_)
            opened = await open_project(Path(taskspace.project))
            return await undo_removal(self._context, taskspace, opened.repository)

    async def collect(self) -> list[str]:
        """Remove archives older than `ARCHIVE_DAYS`; returns the ids of their tasks.

        Raises:
            TaskspaceError: the journal cannot be written.
        """
        gone = await self.old()
        for taskspace in gone:
            await self.purge(taskspace.id)
        return [taskspace.id for taskspace in gone]

    async def old(self) -> list[Taskspace]:
        """Archived tasks whose archive has expired."""
        found: list[Taskspace] = []
        for taskspace in await self._context.everything():
            if taskspace.standing is not TaskState.ARCHIVED:
                continue
            try:
                trash = trash_of(self._context.state, taskspace.id)
                manifest = await asyncio.to_thread(read_archive, trash)
            except (GitRunError, TaskspaceError):
                # An unreadable archive has no known age: it stays until the user removes it.
                continue
            if is_old(self._context, manifest.at):
                found.append(taskspace)
        return found

    async def purge(self, id_: str) -> None:
        """Delete an archived task for good.

        Raises:
            TaskspaceError: it is not archived.
        """
        taskspace = await self._context.get(id_)
        try:
            repository = (await open_project(Path(taskspace.project))).repository
        except (GitRunError, TaskspaceError):
            # The clone was deleted, with its refs.
            repository = None
        await purge(self._context, taskspace, repository)
