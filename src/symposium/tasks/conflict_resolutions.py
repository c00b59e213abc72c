"""Landings whose conflicts an agent resolves, stored until the user has decided."""

import os
import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from localio.git import Git, GitRunError
from localio.text import exact
from symposium.config.git import git_at
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.land import (
    ChecksFailed,
    LandConflict,
    Landed,
    LandOptions,
    Ready,
    keep_landed,
    land_approved,
    prepare,
)
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.model import TaskspaceError
from symposium.tasks.projects import open_project

MAX_DIFF: Final = 64 * 1024
"""Maximum bytes of a diff that are stored and shown."""

_DIFF: Final = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")


class ResolutionStage(StrEnum):
    """Stages of a resolution."""

    ASKED = "asked"
    """The prompt for the agent is not yet known to be in its queue."""

    WORKING = "working"
    """The agent works on it."""

    READY = "ready"
    """No conflict, its checks pass, and the user decides."""

    FAILED = "failed"
    """It still conflicts, or a check fails, and the user decides."""


class Resolution(msgspec.Struct, frozen=True):
    """A landing whose conflicts an agent resolves.

    Attributes:
        attempt: rises with each prompt to the agent, from 1.
        at: when its stage began, ISO 8601 in UTC.
        base: the branch to land on, and `onto` its commit with the conflict.
        conflicts: the files in conflict, as the user and the agent read them.
        options: options for landing the approved result.
        ready: the commit for the user to approve, in the stage `ready`.
        files: the paths changed against the base.
        lines: the diff against the base, or the end of a failed check.
        is_cut: whether lines were cut.
        reason: reason against a landing, in the stage `failed`.
    """

    taskspace: str
    stage: ResolutionStage
    attempt: int
    at: str
    base: str
    onto: str
    conflicts: tuple[str, ...] = ()
    options: LandOptions = LandOptions()
    ready: Ready | None = None
    files: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    is_cut: bool = False
    reason: str = ""


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Resolution)


class Resolutions:
    """Stored resolutions; a task has at most one."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def of(self, taskspace: str) -> Resolution | None:
        """The resolution of a task."""
        return next((each for each in await self.all() if each.taskspace == taskspace), None)

    async def all(self) -> list[Resolution]:
        """All resolutions, the oldest first."""

        def read(connection: sqlite3.Connection) -> list[Resolution]:
            rows = connection.execute("SELECT record FROM resolution ORDER BY rowid")
            return [_DECODER.decode(record) for (record,) in rows]

        return await self._context.journal.read(read)

    async def put(self, resolution: Resolution) -> None:
        """Save one, and replace an earlier one of its task.

        Raises:
            TaskspaceError: it cannot be saved.
        """
        row = resolution.taskspace, _ENCODER.encode(resolution)
        await self._context.journal.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO resolution (taskspace, record) VALUES (?, ?)", row
            )
        )

    async def advance(self, before: Resolution, after: Resolution) -> bool:
        """Save the next stage of one, unless it has changed or ended meanwhile.

        Raises:
            TaskspaceError: it cannot be saved.
        """
        values = _ENCODER.encode(after), before.taskspace, _ENCODER.encode(before)

        def write(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "UPDATE resolution SET record = ? WHERE taskspace = ? AND record = ?", values
            )
            return done.rowcount == 1

        return await self._context.journal.write(write)

    async def end(self, taskspace: str) -> None:
        """Delete the resolution of a task, if it has one.

        Raises:
            TaskspaceError: it cannot be deleted.
        """
        await self._context.journal.write(
            lambda connection: connection.execute(
                "DELETE FROM resolution WHERE taskspace = ?", (taskspace,)
            )
        )

    async def look(self, before: Resolution) -> Resolution:
        """Check whether it lands now, and run its checks; the next stage, unsaved.

        Raises:
            TaskspaceError: the task does not exist.
        """
        context, id_ = self._context, before.taskspace
        taskspace = await context.get(id_)
        after = msgspec.structs.replace(before, at=context.stamp())
        try:
            opened = await open_project(Path(taskspace.project))
            async with context.turns[id_]:
                found = await prepare(context, taskspace, opened.repository, before.options)
            if isinstance(found, Ready) and found.is_news:
                return await self._ready(after, found, git_at(Path(taskspace.worktree)))
        except (GitRunError, TaskspaceError) as error:
            hint = f" ({error.hint})" if error.hint else ""
            return _failed(after, f"cannot land yet: {error.message}{hint}")
        match found:
            case LandConflict(base, conflicts, onto):
                texts = tuple(conflict_text(each) for each in conflicts)
                after = msgspec.structs.replace(after, onto=onto, conflicts=texts)
                return _failed(after, ": ".join([f"still conflicts with {base}", *_list(texts)]))
            case ChecksFailed(failure, tail):
                lines = tuple(context.redact(id_, each) for each in tail)
                return _failed(after, f"a check fails: {failure.text}", lines)
            case Ready():
                return _failed(
                    after,
                    f"has nothing to land: {found.base} has all of it; if its agent has dropped"
                    f" work, `symposium task undo {id_[:8]}` restores it",
                )

    async def land(self, resolution: Resolution) -> Landed | None:
        """Land exactly the approved commit; None if the branch or its base has moved since.

        Raises:
            TaskspaceError: it cannot be landed in its current state.
        """
        if resolution.ready is None:
            return None
        taskspace = await self._context.get(resolution.taskspace)
        opened = await open_project(Path(taskspace.project))
        repository, options = opened.repository, resolution.options
        async with self._context.turns[taskspace.id]:
            landed = await land_approved(
                self._context, taskspace, repository, resolution.ready, options
            )
            if landed is not None:
                landed = await keep_landed(self._context, taskspace, repository, landed)
                await self.end(taskspace.id)
            await self._context.mirror(taskspace.id)
        return landed

    async def _ready(self, after: Resolution, found: Ready, git: Git) -> Resolution:
        names = await git.ask(*_DIFF, "--name-only", "-z", found.onto, found.tip)
        try:
            diff = (await git.ask(*_DIFF, found.onto, found.tip)).out
        except (GitRunError, TaskspaceError) as error:
            shown, is_cut = [error.message], True
        else:
            shown = diff[:MAX_DIFF].decode(errors="replace").splitlines()
            is_cut = len(diff) > MAX_DIFF
        return msgspec.structs.replace(
            after,
            stage=ResolutionStage.READY,
            ready=found,
            files=tuple(printable(each) for each in names.names),
            lines=tuple(self._context.redact(after.taskspace, line) for line in shown),
            is_cut=is_cut,
            reason="",
        )


def conflict_text(conflict: Conflict) -> str:
    """A file in conflict, with the lines of the branch and of its base."""
    ours, theirs = _ranges(conflict.ours), _ranges(conflict.theirs)
    lines = f":{ours}" if ours else ""
    base = f", base: {theirs}" if theirs else ""
    return f"{printable(conflict.path)}{lines} ({conflict.kind}{base})"


def printable(path: str) -> str:
    """A path on one line, without control characters and invalid bytes."""
    return exact(os.fsencode(path).decode(errors="replace"))


def _failed(after: Resolution, reason: str, lines: tuple[str, ...] = ()) -> Resolution:
    return msgspec.structs.replace(
        after,
        stage=ResolutionStage.FAILED,
        reason=reason,
        ready=None,
        files=(),
        lines=lines,
        is_cut=False,
    )


def _list(texts: tuple[str, ...]) -> list[str]:
    return ["; ".join(texts)] if texts else []


def _ranges(ranges: tuple[LineRange, ...]) -> str:
    return ", ".join(f"{each.first}-{each.last}" for each in ranges)
