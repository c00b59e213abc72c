"""Create tasks in stages, and undo a failed creation."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final
from uuid import uuid4

from localio.errors import ExplainedError
from localio.git import GitRunError
from symposium.documents.task_prompt import prompt_for
from symposium.tasks import repository as remotes
from symposium.tasks import tables
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.events import LineEvent
from symposium.tasks.model import (
    Category,
    Limits,
    LogEntry,
    RefusedNameError,
    StageError,
    Taskspace,
    TaskspaceError,
    canonical_id,
    checked_text,
    required_name,
    slug_of,
)
from symposium.tasks.projects import OpenProject, open_project
from symposium.tasks.recipe_files import read_set_up
from symposium.tasks.repository import (
    BaseBranch,
    Repository,
    add_worktree,
    commit_of,
    find_base,
    worktrees,
)
from symposium.tasks.setup import set_up
from symposium.tasks.tables import Operation, OperationKind, forget, load, save, taken_worktrees
from symposium.tasks.task_files import LayoutPlaces

LOCK: Final = "a symposium taskspace"
"""Reason of the lock on a worktree: `git worktree prune` must not remove one that is unmounted."""


def lock_reason(id_: str) -> str:
    """Reason of the lock on a task's worktree; names the task from the start."""
    return f"{LOCK} {id_}"


USUAL_PORTS: Final = 5

_TRIES: Final = 5

_NAMED: Final = 10

UNBOUND: Final = Limits()


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """Options of a new task.

    Attributes:
        project: the clone, or a seed project's directory.
        task: the first prompt of its agent, in the user's words.
        base: the branch to start from; default: that of the project.
        ports: number of ports; default: that of the setup files.
        id: an id chosen by the caller; default: a new one.
    """

    project: Path
    name: str
    task: str | None = None
    description: str = ""
    collaborator: str | None = None
    agent: str | None = None
    base: str | None = None
    id: str | None = None
    parent: str | None = None
    limits: Limits = UNBOUND
    is_name_locked: bool = False
    ports: int | None = None


async def create(context: EngineContext, order: CreateRequest) -> Taskspace:
    """Create a task: its record, its worktree and branch, its setup, its agent.

    A failure up to the worktree is rolled back; after a failed setup the task stays, for a
    retry with `set_up`.

    Raises:
        StageError: a stage failed.
        TaskspaceError: the project or the options are not valid.
    """
    opened = await open_project(order.project)
    _check(order)
    async with context.turns[str(opened.project.directory)]:
        taskspace, operation = await _record(context, order, opened)
    completed = ["create.recorded"]
    try:
        context.pass_stage(taskspace.id, "create.recorded")
        for stage, work in _stages(context, opened):
            taskspace = await _attempt(stage, completed, work, taskspace)
            operation = await context.complete_stage(operation, stage)
            completed.append(stage)
        await context.put(taskspace)
    except BaseException:
        rollback = undo_creation(context, taskspace, opened.repository)
        await context.shielded.after_failure(rollback)
        raise
    return await set_up(context, taskspace, opened.repository, operation)


def _stages(
    context: EngineContext, opened: OpenProject
) -> list[tuple[str, Callable[[Taskspace], Awaitable[Taskspace]]]]:
    async def metadata(taskspace: Taskspace) -> Taskspace:
        await context.mirror(taskspace.id)
        return taskspace

    async def fetch(taskspace: Taskspace) -> Taskspace:
        async with context.clone_lock(opened.repository.common):
            work = _fetch(context, taskspace, opened.repository)
            return await context.shielded.run_shielded(work)

    async def worktree(taskspace: Taskspace) -> Taskspace:
        async with context.clone_lock(opened.repository.common):
            work = _add_worktree(taskspace, opened.repository)
            made = await context.shielded.run_shielded(work)
        await _log_empty_submodules(context, made, opened.repository)
        return made

    return [("create.metadata", metadata), ("create.fetched", fetch), ("create.worktree", worktree)]


async def _attempt(
    stage: str,
    completed: list[str],
    work: Callable[[Taskspace], Awaitable[Taskspace]],
    taskspace: Taskspace,
) -> Taskspace:
    try:
        return await work(taskspace)
    except (ExplainedError, OSError) as error:
        raise StageError(stage, completed, error) from error


def _check(order: CreateRequest) -> None:
    required_name(order.name)
    checked_text(order.description, "a description")
    checked_text(order.task or "", "a task")
    if order.id is not None:
        canonical_id(order.id)
    if order.base is not None and (order.base.startswith("-") or not order.base.strip()):
        raise RefusedNameError(f"{order.base!r} is not a branch", "git branch lists the branches")


async def _record(
    context: EngineContext, order: CreateRequest, opened: OpenProject
) -> tuple[Taskspace, Operation]:
    project, repository = opened.project, opened.repository
    id_ = canonical_id(order.id) if order.id else str(uuid4())
    base = await find_base(repository.git, order.base or project.default_branch)
    if await context.journal.read(lambda connection: load(connection, id_)):
        raise RefusedNameError(f"task {id_} exists already", "omit the id")
    places = await _free_places(context, opened, id_, slug_of(order.name))
    prompt = prompt_for(project.repo_name, order.task) if order.task else None
    at = context.stamp()
    taskspace = Taskspace(
        id=id_,
        project=str(project.directory),
        layout=project.layout,
        name=order.name,
        worktree=str(places.worktree),
        branch=places.branch,
        created_at=at,
        description=order.description,
        base=base.ref,
        activated_at=at,
        initial_prompt=prompt,
        prompt_archive=prompt,
        collaborator=order.collaborator,
        agent=order.agent,
        is_name_locked=order.is_name_locked,
        parent=order.parent,
        limits=order.limits,
    )
    operation = Operation(id_, OperationKind.CREATE, "create.recorded", {})
    asked = await asyncio.to_thread(read_set_up, repository.root, repository.root)
    count = order.ports or asked.ports or USUAL_PORTS

    def record(connection: Connection) -> Taskspace:
        ports = tables.claim(connection, id_, count, context.is_port_free)
        made = replace(taskspace, ports=ports)
        save(connection, made)
        tables.note(connection, operation)
        return made

    try:
        return await context.journal.write(record), operation
    except asyncio.CancelledError:
        await context.journal.write(lambda connection: forget(connection, id_))
        raise


async def _free_places(
    context: EngineContext, opened: OpenProject, id_: str, slug: str
) -> LayoutPlaces:
    """Unused paths and branch names: no file, broken link, or branch has them.

    An archived task keeps its own, for its restore.
    """
    project, git = opened.project, opened.repository.git
    if _is_link(project.tasks):
        reason = f"{project.tasks} is a symbolic link"
        raise RefusedNameError(reason, "tasks need a real directory; remove the link")
    for number in range(1, 1000):
        places = project.places(id_, slug if number == 1 else f"{slug}-{number}")
        place = [str(places.worktree)]
        if _exists(places.worktree) or await context.journal.read(
            lambda connection, place=place: taken_worktrees(connection, place)
        ):
            continue
        if await commit_of(git, f"refs/heads/{places.branch}") is None:
            return places
    raise TaskspaceError(f"too many tasks are named {slug}", "choose another name")


def _is_link(path: Path) -> bool:
    return path.is_symlink()


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


async def _fetch(context: EngineContext, taskspace: Taskspace, repository: Repository) -> Taskspace:
    """Fetch the base from its remote; without an answer, use and report the local one."""
    git, base, reason = repository.git, base_of(taskspace), ""
    if base is not None:
        try:
            await remotes.fetch(git, base)
        except (GitRunError, TaskspaceError) as error:
            reason = f"the base may be old: {error.message}"
    commit = await commit_of(git, taskspace.base)
    if commit is None:
        raise TaskspaceError(f"{taskspace.base} does not exist", "name another base")
    updated = replace(taskspace, base_commit=commit, reason=reason)
    await context.put(updated)
    return updated


async def _add_worktree(taskspace: Taskspace, repository: Repository) -> Taskspace:
    git = repository.git
    await add_worktree(
        git,
        Path(taskspace.worktree),
        *("--lock", "--reason", lock_reason(taskspace.id), "--no-track", "-b", taskspace.branch),
        *("--", taskspace.worktree, taskspace.base_commit),
    )
    base = base_of(taskspace)
    if base is not None and base.remote is not None:
        for key, value in (("remote", base.remote), ("merge", f"refs/heads/{base.branch}")):
            for _ in range(_TRIES):
                # Another git may lock the clone's settings for a moment. The branch works
                # without an upstream.
                if not (await git.config(f"branch.{taskspace.branch}.{key}", value)).code:
                    break
    return taskspace


async def _log_empty_submodules(
    context: EngineContext, taskspace: Taskspace, repository: Repository
) -> None:
    """Log that its submodules are empty: git fetches none into a new worktree."""
    worktree = Path(taskspace.worktree)
    if not await asyncio.to_thread((worktree / ".gitmodules").is_file):
        return
    listed = await repository.git.at(worktree).ask("ls-files", "-s", "-z")
    names = [entry.partition("\t")[2] for entry in listed.names if entry.startswith("160000 ")]
    if not names:
        return
    text = (
        f"its submodules are empty: {', '.join(names[:_NAMED])}"
        f"{' and more' if len(names) > _NAMED else ''};"
        " run `git submodule update --init --recursive` in its worktree"
    )
    entry = LogEntry(0, str(uuid4()), taskspace.id, context.stamp(), Category.WARN, text)
    added = await context.journal.write(lambda connection: tables.append(connection, entry))
    assert added is not None
    context.tell(LineEvent(added))


async def undo_creation(
    context: EngineContext, taskspace: Taskspace, repository: Repository
) -> None:
    """Remove what an unacknowledged creation made; commits stay.

    Raises:
        TaskspaceError: git failed.
    """
    git, path = repository.git, Path(taskspace.worktree)
    # From here on the creation cannot continue: after a restart, recovery finishes the rollback.
    back = Operation(taskspace.id, OperationKind.CREATE, "create.recorded", {})
    await context.journal.write(lambda connection: tables.note(connection, back))
    listed = await worktrees(git)
    # Only a worktree locked for this task is removed: another one existed before.
    if any(each.path == path and each.locked == lock_reason(taskspace.id) for each in listed):
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        await git.run("worktree", "unlock", "--", str(path))
        await git.run("worktree", "remove", "--force", "--force", "--", str(path))
    ref = f"refs/heads/{taskspace.branch}"
    if not any(each.branch == ref for each in await worktrees(git)):
        await _drop_branch(taskspace, repository)
    opened = await open_project(Path(taskspace.project))
    home = opened.project.places(taskspace.id, "").home
    await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)
    with suppress(OSError):
        # Only if the directory has no other files.
        home.parent.rmdir()
        opened.project.tasks.rmdir()
    await context.journal.write(lambda connection: forget(connection, taskspace.id))


async def _drop_branch(taskspace: Taskspace, repository: Repository) -> None:
    """Delete the branch only if it is at its first commit: git refuses if it has moved."""
    tip = taskspace.base_commit
    if tip:
        ref = f"refs/heads/{taskspace.branch}"
        done = await repository.git.run("update-ref", "-d", ref, tip)
        if not done.code:
            section = f"branch.{taskspace.branch}"
            await repository.git.config("--remove-section", section)


def base_of(taskspace: Taskspace) -> BaseBranch | None:
    """The base branch, in its parts; None if unknown."""
    if not taskspace.base:
        return None
    if taskspace.base.startswith("refs/remotes/"):
        _, _, remote, branch = taskspace.base.split("/", 3)
        return BaseBranch(taskspace.base, branch, remote)
    return BaseBranch(taskspace.base, taskspace.base.removeprefix("refs/heads/"), None)
