"""Find tasks in the journal and on the disk, and orphaned worktrees of a clone."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

from localio.git import GitRunError
from symposium.tasks import tables
from symposium.tasks.creation import USUAL_PORTS, lock_reason
from symposium.tasks.engine_context import EngineContext, file_of, keep
from symposium.tasks.model import (
    Layout,
    Limits,
    RefusedNameError,
    Taskspace,
    TaskspaceError,
    TaskState,
    checked_name,
)
from symposium.tasks.projects import OpenProject, open_project
from symposium.tasks.repository import BaseBranch, Worktree, commit_of, find_base, worktrees
from symposium.tasks.tables import load, read_record, save, taken_worktrees
from symposium.tasks.task_files import (
    ROOT_FILE,
    TASK_FOLDER,
    TASKSPACE_FILE,
    Known,
    Project,
    read_task_file,
)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A worktree of a clone that belongs to no task; it can be adopted."""

    path: Path
    branch: str | None


async def load_project(context: EngineContext, opened: OpenProject) -> list[Taskspace]:
    """Record the tasks of a project that only its files know; returns the new ones.

    The number of queries and git commands does not grow with the number of known tasks.
    """
    found: list[Taskspace] = []
    if opened.project.layout is Layout.EMBEDDED:
        found += await _take_root(context, opened.project)
    homes = await asyncio.to_thread(opened.project.existing)
    known = await context.journal.read(
        lambda connection: _bases(connection, [id_ for id_, _ in homes])
    )
    new = [
        Known(replace(file.taskspace, worktree=str(Path(file.taskspace.worktree))), file.log)
        for id_, home in homes
        if id_ not in known
        and (file := await _read_home(home, opened.project)) is not None
        and file.taskspace.id == id_
    ]
    baseless = [id_ for id_, has_base in known.items() if not has_base]
    # Search a missing base once, not once for each task.
    base = await _base_of(opened) if new or baseless else None
    for id_ in baseless if base else ():
        noted = await context.journal.read(lambda connection, id_=id_: load(connection, id_))
        if base and noted is not None and noted.standing is not TaskState.ARCHIVED:
            await context.put(await _with_base(noted, opened, base))
    for each in new:
        task = await _with_base(each.taskspace, opened, base) if base else each.taskspace
        found.append(await _note(context, Known(task, each.log), opened.project))
    return found


def _bases(connection: Connection, ids: Sequence[str]) -> dict[str, bool]:
    """Tasks among these ids that the journal has; False for one without a base."""
    rows = connection.execute(
        "SELECT id, is_archived OR json_extract(CAST(record AS TEXT), '$.base') <> ''"
        " FROM taskspace WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {id_: bool(has_base) for id_, has_base in rows}


async def _read_home(home: Path, project: Project) -> Known | None:
    """Read the directory of a task; None if it belongs to no task of this project."""
    worktree = home / project.repo_name
    file = await asyncio.to_thread(read_task_file, home / TASKSPACE_FILE, worktree)
    return file if file is not None and _fits(file.taskspace, project) else None


async def _base_of(opened: OpenProject) -> BaseBranch | None:
    try:
        return await find_base(opened.repository.git, opened.project.default_branch)
    except (GitRunError, TaskspaceError):
        # The project's default branch does not exist: commands that need it report that.
        return None


async def _with_base(taskspace: Taskspace, opened: OpenProject, base: BaseBranch) -> Taskspace:
    """The task with its base, which files of the seed's layout do not name."""
    git = opened.repository.git
    begun = await git.text_or_none("merge-base", base.ref, f"refs/heads/{taskspace.branch}")
    return replace(taskspace, base=base.ref, base_commit=begun or "")


async def _take_root(context: EngineContext, project: Project) -> list[Taskspace]:
    """Load the task of the checkout itself, if any (bus-mcp-taskspaces §3.1)."""
    known = await asyncio.to_thread(read_task_file, project.tasks / ROOT_FILE)
    if known is None:
        return []
    id_ = known.taskspace.id
    if await context.journal.read(lambda connection: load(connection, id_)):
        return []
    root = replace(known.taskspace, worktree=str(project.directory), branch="")
    return [await _note(context, Known(root, known.log), project)]


def _fits(taskspace: Taskspace, project: Project) -> bool:
    """Whether its worktree is in the project's directory: a file may name any path."""
    return Path(taskspace.worktree).is_relative_to(project.tasks)


async def _note(context: EngineContext, known: Known, project: Project) -> Taskspace:
    is_there = await asyncio.to_thread((Path(known.taskspace.worktree) / ".git").exists)
    found = known.taskspace
    if project.layout is not Layout.BESIDE:
        # The file may have come with a repository: it names no program to start, and no budget.
        found = replace(found, agent=None, limits=Limits())
    taskspace = replace(
        found,
        project=str(project.directory),
        layout=project.layout,
        standing=TaskState.READY if is_there else TaskState.MISSING,
        reason="" if is_there else "its worktree is missing",
    )

    def note(connection: Connection) -> Taskspace:
        count = taskspace.ports.count if taskspace.ports else USUAL_PORTS
        ports = tables.claim(connection, taskspace.id, count, context.is_port_free)
        noted = replace(taskspace, ports=ports)
        save(connection, noted)
        for entry in known.log:
            tables.append(connection, entry)
        return noted

    return await context.journal.write(note)


async def check(context: EngineContext, found: Sequence[Taskspace]) -> list[Taskspace]:
    """Check the worktrees of tasks; returns the updated tasks."""
    depend = [each for each in found if each.standing in {TaskState.READY, TaskState.MISSING}]

    def look() -> dict[str, bool]:
        return {each.id: _has_git(each.worktree) for each in depend}

    # In one thread for all: a thread for each costs more than the check.
    there = await asyncio.to_thread(look)
    return [await _checked(context, each, is_there=there.get(each.id)) for each in found]


async def check_all(context: EngineContext) -> None:
    """Check the worktree of every task; record missing ones and ones that exist again.

    Reads nothing but the path of each task: this runs often.
    """

    def places(connection: Connection) -> list[tuple[str, str, str]]:
        rows = connection.execute(
            "SELECT id, worktree, standing FROM taskspace WHERE standing IN ('ready', 'missing')"
        )
        return rows.fetchall()

    def changed(known: Sequence[tuple[str, str, str]]) -> list[str]:
        return [
            id_
            for id_, worktree, standing in known
            if _has_git(worktree) is (standing == TaskState.MISSING)
        ]

    for id_ in await asyncio.to_thread(changed, await context.journal.read(places)):
        found = await context.journal.read(lambda connection, id_=id_: load(connection, id_))
        await check(context, [found] if found is not None else [])


def _has_git(worktree: str) -> bool:
    return os.path.exists(f"{worktree}/.git")  # noqa: PTH110 - as a path it is three times as slow


async def _checked(
    context: EngineContext, taskspace: Taskspace, *, is_there: bool | None
) -> Taskspace:
    if taskspace.standing is TaskState.READY and is_there is False:
        changed = replace(taskspace, standing=TaskState.MISSING, reason="its worktree is missing")
    elif taskspace.standing is TaskState.MISSING and is_there:
        changed = replace(taskspace, standing=TaskState.READY, reason="")
    else:
        return taskspace
    await context.put(changed)
    return changed


async def orphans(context: EngineContext, opened: OpenProject) -> list[Orphan]:
    """Worktrees of the clone that belong to no task.

    Raises:
        TaskspaceError: git failed.
    """
    listed = await worktrees(opened.repository.git)
    paths = [str(each.path) for each in listed]
    known = await context.journal.read(lambda connection: taken_worktrees(connection, paths))
    root = opened.repository.root
    return [
        Orphan(each.path, each.branch)
        for each in listed
        if str(each.path) not in known
        and each.path not in {root, opened.repository.common}
        and each.prunable is None
    ]


async def adopt(context: EngineContext, path: Path, name: str | None = None) -> Taskspace:
    """Make a task of an existing worktree, without changing it.

    Raises:
        RefusedNameError: it is not a worktree, the clone's own checkout, or a task already.
        TaskspaceError: git failed.
    """
    opened = await open_project(path)
    listed = await worktrees(opened.repository.git)
    real = _real(path)
    outer = [each for each in listed if real.is_relative_to(each.path)]
    found = max(outer, key=lambda each: len(each.path.parts), default=None)
    if found is None or found.path in {opened.repository.root, opened.repository.common}:
        raise RefusedNameError(f"{path} is not a separate worktree", "see git worktree list")
    place = [str(found.path)]
    if await context.journal.read(lambda connection: taken_worktrees(connection, place)):
        raise RefusedNameError(f"{found.path} is a task already", "see symposium task list")
    taskspace = await _adopted(context, opened, found, name)
    if unkept := await keep(context, taskspace, opened.repository, "adopted"):
        taskspace = replace(taskspace, reason=unkept)
        await context.put(taskspace)
    await context.mirror(taskspace.id)
    if found.locked is None:
        words = ("worktree", "lock", "--reason", lock_reason(taskspace.id), "--", str(found.path))
        await opened.repository.git.run(*words)
    return taskspace


def _real(path: Path) -> Path:
    return path.resolve()


async def _adopted(
    context: EngineContext, opened: OpenProject, found: Worktree, name: str | None
) -> Taskspace:
    base = await find_base(opened.repository.git, opened.project.default_branch)
    at = context.stamp()
    taskspace = Taskspace(
        id=str(uuid4()),
        project=str(opened.project.directory),
        layout=opened.project.layout,
        name=checked_name(name or found.path.name),
        worktree=str(found.path),
        branch=(found.branch or "").removeprefix("refs/heads/"),
        created_at=at,
        base=base.ref,
        base_commit=await commit_of(opened.repository.git, base.ref) or "",
        activated_at=at,
        standing=TaskState.READY,
    )

    def note(connection: Connection) -> Taskspace:
        ports = tables.claim(connection, taskspace.id, USUAL_PORTS, context.is_port_free)
        noted = replace(taskspace, ports=ports)
        save(connection, noted)
        return noted

    return await context.journal.write(note)


async def find(context: EngineContext, directory: Path) -> Taskspace | None:
    """Find the task that contains a directory: the innermost, by real paths."""
    real = await asyncio.to_thread(directory.resolve)
    outer = [real, *real.parents]
    names = [TASK_FOLDER.fullmatch(each.name) for each in outer]
    ids = [name[1].lower() for name in names if name]

    def look(connection: Connection) -> list[Taskspace]:
        # The plus keeps SQLite from the index of all unarchived tasks.
        rows = connection.execute(
            "SELECT record FROM taskspace WHERE +is_archived = 0 AND"
            " (worktree IN (SELECT value FROM json_each(?))"
            " OR id IN (SELECT value FROM json_each(?))) ORDER BY rowid",
            (json.dumps([str(each) for each in outer]), json.dumps(ids)),
        )
        return [read_record(record) for (record,) in rows]

    def choose(found: Sequence[Taskspace]) -> Taskspace | None:
        inside = [
            each
            for each in found
            if real.is_relative_to(each.worktree) or real.is_relative_to(file_of(each).parent)
        ]
        return max(inside, key=lambda each: len(Path(each.worktree).parts), default=None)

    return await asyncio.to_thread(choose, await context.journal.read(look))
