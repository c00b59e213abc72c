"""Find tasks by index: a page of the list, one by its name, a family, tasks that need you."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final

from symposium.tasks.engine_context import EngineContext
from symposium.tasks.model import Taskspace, TaskState
from symposium.tasks.projects import open_project
from symposium.tasks.tables import read_record
from symposium.tasks.task_discovery import check, check_all, load_project

SHORTEST: Final = 4
"""Characters of an id that may name a task."""

BRANCHES: Final = "symposium/"
"""Prefix of the branches that Symposium creates."""

LIVE: Final = frozenset({TaskState.READY, TaskState.SETUP_FAILED, TaskState.FINISHED})
"""Tasks with a worktree to work in."""

_LIVE: Final = "standing IN ('ready', 'setup-failed', 'finished')"

_FAMILY: Final = """
WITH RECURSIVE
    above(id) AS (
        VALUES (?1) UNION SELECT t.parent FROM taskspace t JOIN above a ON t.id = a.id
        WHERE t.parent IS NOT NULL
    ),
    family(id) AS (
        SELECT id FROM above UNION SELECT t.id FROM taskspace t JOIN family f ON t.parent = f.id
    )
SELECT t.record FROM taskspace t JOIN family f ON t.id = f.id ORDER BY t.rowid
"""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list.

    Attributes:
        project: only tasks of this one.
        after: tasks to leave out at the start.
        limit: tasks at most; None for all.
        first: ids of tasks that come before all others, in this order.
        is_archived: whether archived tasks are listed, after all others.
    """

    project: str | None = None
    after: int = 0
    limit: int | None = None
    first: Sequence[str] = ()
    is_archived: bool = True


@dataclass(frozen=True, slots=True)
class TaskQueries:
    """Queries of the store; listing tasks also checks their worktrees."""

    context: EngineContext

    async def page(self, page: Page) -> tuple[list[Taskspace], int]:
        """One page, the task that was used last first, and the number of tasks on all pages.

        Raises:
            TaskspaceError: there is no such project.
        """
        if page.project is not None:
            opened = await open_project(Path(page.project))
            await load_project(self.context, opened)
            page = replace(page, project=str(opened.project.directory))
        found, total = await self.context.journal.read(lambda connection: _page(connection, page))
        return await check(self.context, found), total

    async def checked(self, id_: str) -> Taskspace:
        """Look up a task and check its worktree.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        return (await check(self.context, [await self.context.get(id_)]))[0]

    async def check_worktrees(self) -> None:
        """Record which worktrees of all tasks are missing now, and which exist again.

        Raises:
            TaskspaceError: the journal cannot be written.
        """
        await check_all(self.context)

    async def named(self, text: str) -> list[Taskspace]:
        """Find tasks by id, name, branch, or the beginning of an id.

        The first kind that matches any task decides. Archived tasks match only if no other does.
        """
        return await self.context.journal.read(lambda connection: _named(connection, text))

    async def of_ids(self, ids: Collection[str]) -> dict[str, Taskspace]:
        """The tasks of these ids, as far as they exist."""
        sql = "SELECT record FROM taskspace WHERE id IN (SELECT value FROM json_each(?))"
        found = await self._select(sql, json.dumps(list(ids)))
        return {each.id: each for each in found}

    async def family(self, id_: str) -> list[Taskspace]:
        """A task, its ancestors, and everything that these have spawned; oldest first."""
        return await self._select(_FAMILY, id_)

    async def live(self, project: str) -> list[Taskspace]:
        """The live tasks of a project, the one that was used last first.

        Missing ones are included: the worktree may exist again.
        """
        sql = (
            f"SELECT record FROM taskspace WHERE project = ? AND ({_LIVE} OR standing = 'missing')"  # noqa: S608 - only constants are inserted
            " ORDER BY activated_at DESC, rowid"
        )
        return await self._select(sql, project)

    async def shared_projects(self) -> list[str]:
        """Projects with two live tasks or more."""
        sql = (
            f"SELECT project FROM taskspace WHERE {_LIVE}"  # noqa: S608 - only constants are inserted
            " GROUP BY project HAVING COUNT(*) > 1 ORDER BY project"
        )
        return await self.context.journal.read(
            lambda connection: [project for (project,) in connection.execute(sql)]
        )

    async def with_problems(self) -> list[Taskspace]:
        """Tasks whose setup failed, and ready tasks with a reason to check them."""
        failed = await self._select(
            "SELECT record FROM taskspace WHERE standing = 'setup-failed' ORDER BY rowid"
        )
        return failed + await self._select(
            "SELECT record FROM taskspace WHERE standing = 'ready' AND reason <> '' ORDER BY rowid"
        )

    async def _select(self, sql: str, *values: Any) -> list[Taskspace]:
        return await self.context.journal.read(
            lambda connection: _records(connection, sql, *values)
        )


def _records(connection: Connection, sql: str, *values: Any) -> list[Taskspace]:
    return [read_record(record) for (record,) in connection.execute(sql, values)]


def _page(connection: Connection, page: Page) -> tuple[list[Taskspace], int]:
    where, values = ["1"], list[Any]()
    if page.project is not None:
        where.append("project = ?")
        values.append(page.project)
    if not page.is_archived:
        where.append("is_archived = 0")
    conditions = " AND ".join(where)
    (total,) = connection.execute(
        f"SELECT COUNT(*) FROM taskspace WHERE {conditions}",  # noqa: S608 - only constants are inserted
        values,
    ).fetchone()
    known = json.dumps(list(page.first))
    order = {id_: place for place, id_ in enumerate(page.first)}
    urgent = _records(
        connection,
        f"SELECT record FROM taskspace WHERE {conditions}"  # noqa: S608 - only constants are inserted
        " AND id IN (SELECT value FROM json_each(?))",
        *values,
        known,
    )
    urgent.sort(key=lambda each: order[each.id])
    end = None if page.limit is None else page.after + page.limit
    found = urgent[page.after : end]
    left = -1 if page.limit is None else page.limit - len(found)
    if left:
        found += _records(
            connection,
            f"SELECT record FROM taskspace WHERE {conditions}"  # noqa: S608 - only constants are inserted
            " AND id NOT IN (SELECT value FROM json_each(?))"
            " ORDER BY is_archived, activated_at DESC, rowid LIMIT ? OFFSET ?",
            *values,
            known,
            left,
            max(0, page.after - len(urgent)),
        )
    return found, total


def _named(connection: Connection, text: str) -> list[Taskspace]:
    queries: list[tuple[str, tuple[str, ...]]] = [
        ("id = ?", (text.lower(),)),
        ("name = ?", (text,)),
    ]
    if text:
        queries.append(("branch IN (?, ?)", (text, f"{BRANCHES}{text}")))
    if len(text) >= SHORTEST:
        begin = text.lower()
        # A text sorts before another that begins with it, and `g` after every digit of an id.
        queries.append(("id >= ? AND id < ?", (begin, f"{begin}g")))
    for where, values in queries:
        sql = f"SELECT record FROM taskspace WHERE {where} ORDER BY rowid"  # noqa: S608 - only constants are inserted
        if found := _records(connection, sql, *values):
            live = [each for each in found if each.standing is not TaskState.ARCHIVED]
            return live or found
    return []
