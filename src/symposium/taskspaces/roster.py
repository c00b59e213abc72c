"""Which taskspaces there are: those in the journal, those on the disk, orphans of a clone."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

from symposium.taskspaces import log_book, port_blocks
from symposium.taskspaces.creation import USUAL_PORTS, lock_reason
from symposium.taskspaces.failures import RefusedNameError, TaskspaceError
from symposium.taskspaces.git.repository import Worktree, commit_of, find_base, worktrees
from symposium.taskspaces.ground import Ground, file_of
from symposium.taskspaces.journal import load, save
from symposium.taskspaces.layouts import ROOT_FILE, TASKSPACE_FILE, Project
from symposium.taskspaces.model import Layout, Standing, Taskspace, checked_name
from symposium.taskspaces.projects import OpenProject, open_project
from symposium.taskspaces.subjects import keep
from symposium.taskspaces.task_file import Known, read_task_file


@dataclass(frozen=True, slots=True)
class Orphan:
    """A worktree of a clone that is no taskspace; it can be adopted."""

    path: Path
    branch: str | None


async def take_in(ground: Ground, opened: OpenProject) -> list[Taskspace]:
    """Note the taskspaces of a project that only its files know; those that were new."""
    found: list[Taskspace] = []
    if opened.project.layout is Layout.EMBEDDED:
        found += await _take_root(ground, opened.project)
    for id_, home in opened.project.existing():
        noted = await ground.journal.look(lambda connection, id_=id_: load(connection, id_))
        if noted is not None:
            if not noted.base and noted.standing is not Standing.ARCHIVED:
                await ground.put(await _with_base(noted, opened))
            continue
        worktree = home / opened.project.repo_name
        known = await asyncio.to_thread(read_task_file, home / TASKSPACE_FILE, worktree)
        if known is None or known.taskspace.id != id_ or not _fits(known.taskspace, opened.project):
            continue
        based = Known(await _with_base(known.taskspace, opened), known.log)
        found.append(await _note(ground, based, opened.project))
    return found


async def _with_base(taskspace: Taskspace, opened: OpenProject) -> Taskspace:
    """The same with its base: no file of the seed's layout says what one has started from."""
    git = opened.repository.git
    try:
        base = await find_base(git, opened.project.default_branch)
    except TaskspaceError:
        # What its project names is not there: that it is not known is told where it counts.
        return taskspace
    begun = await git.maybe("merge-base", base.ref, f"refs/heads/{taskspace.branch}")
    return replace(taskspace, base=base.ref, base_commit=begun or "")


async def _take_root(ground: Ground, project: Project) -> list[Taskspace]:
    """The taskspace of the checkout itself, which an embedded project may have (§3.1)."""
    known = await asyncio.to_thread(read_task_file, project.tasks / ROOT_FILE)
    if known is None:
        return []
    id_ = known.taskspace.id
    if await ground.journal.look(lambda connection: load(connection, id_)):
        return []
    root = replace(known.taskspace, worktree=str(project.directory), branch="")
    return [await _note(ground, Known(root, known.log), project)]


def _fits(taskspace: Taskspace, project: Project) -> bool:
    """Whether its worktree is where a project's worktrees are: a file may say anything."""
    return Path(taskspace.worktree).is_relative_to(project.tasks)


async def _note(ground: Ground, known: Known, project: Project) -> Taskspace:
    is_there = await asyncio.to_thread((Path(known.taskspace.worktree) / ".git").exists)
    taskspace = replace(
        known.taskspace,
        project=str(project.directory),
        layout=project.layout,
        standing=Standing.READY if is_there else Standing.MISSING,
        reason="" if is_there else "its worktree is not there",
    )

    def note(connection: Connection) -> Taskspace:
        count = taskspace.ports.count if taskspace.ports else USUAL_PORTS
        ports = port_blocks.claim(connection, taskspace.id, count, ground.is_port_free)
        noted = replace(taskspace, ports=ports)
        save(connection, noted)
        for entry in known.log:
            log_book.append(connection, entry)
        return noted

    return await ground.journal.change(note)


async def check(ground: Ground, found: Sequence[Taskspace]) -> list[Taskspace]:
    """The same tasks, after a look at their worktrees."""
    depend = [each for each in found if each.standing in {Standing.READY, Standing.MISSING}]

    def look() -> dict[str, bool]:
        return {each.id: _has_git(each.worktree) for each in depend}

    # In one thread for all: a thread for each costs more than the look.
    there = await asyncio.to_thread(look)
    return [await _checked(ground, each, is_there=there.get(each.id)) for each in found]


def _has_git(worktree: str) -> bool:
    return os.path.exists(f"{worktree}/.git")  # noqa: PTH110 - as a path it is three times as slow


async def _checked(ground: Ground, taskspace: Taskspace, *, is_there: bool | None) -> Taskspace:
    if taskspace.standing is Standing.READY and is_there is False:
        changed = replace(taskspace, standing=Standing.MISSING, reason="its worktree is not there")
    elif taskspace.standing is Standing.MISSING and is_there:
        changed = replace(taskspace, standing=Standing.READY, reason="")
    else:
        return taskspace
    await ground.put(changed)
    return changed


async def orphans(ground: Ground, opened: OpenProject) -> list[Orphan]:
    """Worktrees of the clone that are no taskspaces.

    Raises:
        TaskspaceError: git cannot say.
    """
    known = {each.worktree for each in await ground.everything()}
    listed = await worktrees(opened.repository.git)
    root = opened.repository.root
    return [
        Orphan(each.path, each.branch)
        for each in listed
        if str(each.path) not in known
        and each.path not in {root, opened.repository.common}
        and each.prunable is None
    ]


async def adopt(ground: Ground, path: Path, name: str | None = None) -> Taskspace:
    """Make a worktree that is there a taskspace; nothing in it is touched.

    Raises:
        RefusedNameError: it is no worktree, the clone's own checkout, or a taskspace already.
        TaskspaceError: git cannot say.
    """
    opened = await open_project(path)
    listed = await worktrees(opened.repository.git)
    real = _real(path)
    around = [each for each in listed if real.is_relative_to(each.path)]
    found = max(around, key=lambda each: len(each.path.parts), default=None)
    if found is None or found.path in {opened.repository.root, opened.repository.common}:
        raise RefusedNameError(f"{path} is no worktree of its own", "see git worktree list")
    if any(each.worktree == str(found.path) for each in await ground.everything()):
        raise RefusedNameError(f"{found.path} is a taskspace already", "see symposium task list")
    taskspace = await _adopted(ground, opened, found, name)
    if unkept := await keep(ground, taskspace, opened.repository, "adopted"):
        taskspace = replace(taskspace, reason=unkept)
        await ground.put(taskspace)
    await ground.mirror(taskspace.id)
    if found.locked is None:
        words = ("worktree", "lock", "--reason", lock_reason(taskspace.id), "--", str(found.path))
        await opened.repository.git.run(*words)
    return taskspace


def _real(path: Path) -> Path:
    return path.resolve()


async def _adopted(
    ground: Ground, opened: OpenProject, found: Worktree, name: str | None
) -> Taskspace:
    base = await find_base(opened.repository.git, opened.project.default_branch)
    at = ground.stamp()
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
        standing=Standing.READY,
    )

    def note(connection: Connection) -> Taskspace:
        ports = port_blocks.claim(connection, taskspace.id, USUAL_PORTS, ground.is_port_free)
        noted = replace(taskspace, ports=ports)
        save(connection, noted)
        return noted

    return await ground.journal.change(note)


async def find(ground: Ground, directory: Path) -> Taskspace | None:
    """The taskspace that a directory lies in: the innermost, by real paths."""
    real = await asyncio.to_thread(directory.resolve)
    around = [
        each
        for each in await ground.everything()
        if each.standing is not Standing.ARCHIVED
        and (real.is_relative_to(each.worktree) or real.is_relative_to(file_of(each).parent))
    ]
    return max(around, key=lambda each: len(Path(each.worktree).parts), default=None)
