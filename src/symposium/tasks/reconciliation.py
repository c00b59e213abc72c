"""Compare the journal with the disk after a start, in pieces, while requests are answered.

A start ends the operations that were begun, which the journal lists (`recovery`). What else may
have changed while no engine ran needs a look at every task: worktrees that were removed, files that
differ from the journal, and tasks that only their files know. That takes seconds for 10,000 tasks,
so it happens here, and each piece is followed by a pause. A list looks at the worktrees that it
shows, and a list of a project at the files of its tasks: what is shown does not wait for this.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from localio.git import GitRunError
from symposium.tasks import tables
from symposium.tasks.engine_context import EngineContext, file_of
from symposium.tasks.model import LogEntry, Taskspace, TaskspaceError, TaskState
from symposium.tasks.projects import open_project
from symposium.tasks.tables import read_record
from symposium.tasks.task_discovery import check, load_project
from symposium.tasks.task_files import MAX_ENTRIES, is_task_file_current

PIECE: Final = 25
"""Tasks that are looked at between two pauses: some ten milliseconds of work."""

_AT_WORK: Final = frozenset({TaskState.CREATING, TaskState.DELETING})
"""Tasks with an operation, which writes their files."""

Report = Callable[[str], None]
Pause = Callable[[float], Awaitable[None]]


async def reconcile(context: EngineContext, report: Report, pause: Pause = asyncio.sleep) -> None:
    """Look at every task once.

    Args:
        context: the journal, and the tasks.
        report: called with a line, for people, for each task that was found or is missing, and for
            each failure. A failure concerns one project or a few tasks; all others are looked at.
        pause: waits for so many seconds.
    """
    begun = time.monotonic()
    projects = await context.journal.read(_projects)
    for project in projects:
        await _take_in(context, project, report)
        begun = await _rest(begun, pause)
    after = ""
    while piece := await context.journal.read(
        lambda connection, id_=after: _piece(connection, id_)
    ):
        after = piece[-1].id
        try:
            await _look_at(context, piece, report)
        except (GitRunError, TaskspaceError, OSError) as error:
            names = ", ".join(each.name for each in piece)
            report(f"{names}: cannot be compared with the disk: {error}")
        begun = await _rest(begun, pause)


async def _rest(begun: float, pause: Pause) -> float:
    """Pause for as long as the last piece took: half of a processor at most."""
    await pause(time.monotonic() - begun)
    return time.monotonic()


def _projects(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT DISTINCT project FROM taskspace ORDER BY project")
    return [project for (project,) in rows]


def _piece(connection: Connection, after: str) -> list[Taskspace]:
    # By id: a task that is saved meanwhile keeps its place.
    rows = connection.execute(
        "SELECT record FROM taskspace WHERE id > ? AND +is_archived = 0 ORDER BY id LIMIT ?",
        (after, PIECE),
    )
    return [read_record(record) for (record,) in rows]


async def _take_in(context: EngineContext, project: str, report: Report) -> None:
    try:
        found = await load_project(context, await open_project(Path(project)))
    except (GitRunError, TaskspaceError, OSError) as error:
        report(f"{project}: {error}")
    else:
        for each in found:
            report(f"{each.name}: found on the disk")


async def _look_at(context: EngineContext, piece: list[Taskspace], report: Report) -> None:
    checked = await check(context, piece)
    for each in checked:
        if each.standing is TaskState.MISSING:
            report(f"{each.name}: {each.reason}")
    present = [each for each in checked if each.standing not in {TaskState.MISSING, *_AT_WORK}]
    for each in await asyncio.to_thread(_differing, present, await _logs(context, present)):
        # The file may have changed since it was compared: write the current journal only.
        async with context.turns[each.id]:
            try:
                await context.mirror(each.id)
            except (GitRunError, TaskspaceError, OSError) as error:
                report(f"{each.name}: its file cannot be written: {error}")


async def _logs(context: EngineContext, tasks: list[Taskspace]) -> list[list[LogEntry]]:
    def look(connection: Connection) -> list[list[LogEntry]]:
        return [tables.latest(connection, each.id, MAX_ENTRIES) for each in tasks]

    return await context.journal.read(look)


def _differing(tasks: list[Taskspace], logs: list[list[LogEntry]]) -> list[Taskspace]:
    return [
        each
        for each, log in zip(tasks, logs, strict=True)
        if not is_task_file_current(file_of(each), each, log)
    ]
