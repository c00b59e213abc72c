"""Makes taskspaces in stages, and undoes what a failed one has left."""

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
from symposium.documents.task_prompt import prompt_for
from symposium.git.program import GitRunError
from symposium.taskspaces import log_book, operations, port_blocks
from symposium.taskspaces.events import Logged
from symposium.taskspaces.failures import RefusedNameError, StageError, TaskspaceError
from symposium.taskspaces.git import remotes
from symposium.taskspaces.git.repository import (
    BaseBranch,
    Repository,
    add_worktree,
    commit_of,
    find_base,
    worktrees,
)
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.journal import forget, load, save, taken_worktrees
from symposium.taskspaces.layouts import Places
from symposium.taskspaces.model import (
    Category,
    Limits,
    LogEntry,
    Taskspace,
    canonical_id,
    checked_text,
    required_name,
    slug_of,
)
from symposium.taskspaces.operations import Kind, Operation
from symposium.taskspaces.projects import OpenProject, open_project
from symposium.taskspaces.setting_up import set_up
from symposium.taskspaces.setup_files.reading import read_set_up

LOCK: Final = "a symposium taskspace"
"""Why our worktrees are locked: a `git worktree prune` must not forget one that is gone for now."""


def lock_reason(id_: str) -> str:
    """Why the worktree of a taskspace is locked; says whose it is, from its first moment."""
    return f"{LOCK} {id_}"


USUAL_PORTS: Final = 5

_TRIES: Final = 5

_NAMED: Final = 10

UNBOUND: Final = Limits()


@dataclass(frozen=True, slots=True)
class Order:
    """What kind of taskspace is wanted.

    Attributes:
        project: the clone, or a seed project's directory.
        task: what its agent is to do first, in the user's words.
        base: the branch to start from; the project's own where None.
        ports: how many; as many as the set-up files ask for where None.
        id: wanted by who asks; a new one where None.
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


async def create(ground: Ground, order: Order) -> Taskspace:
    """Make a taskspace: its record, its worktree and branch, what its files ask for, its agent.

    A failure up to the worktree leaves nothing; one of the set-up leaves the taskspace, to be
    tried again with `set_up`.

    Raises:
        StageError: a stage failed.
        TaskspaceError: the project or the order cannot be used.
    """
    opened = await open_project(order.project)
    _check(order)
    async with ground.turns[str(opened.project.directory)]:
        taskspace, operation = await _record(ground, order, opened)
    completed = ["create.recorded"]
    try:
        ground.pass_stage(taskspace.id, "create.recorded")
        for stage, work in _stages(ground, opened):
            taskspace = await _attempt(stage, completed, work, taskspace)
            operation = await ground.reach(operation, stage)
            completed.append(stage)
        await ground.put(taskspace)
    except BaseException:
        rollback = undo_creation(ground, taskspace, opened.repository)
        await ground.undertakings.after_failure(rollback)
        raise
    return await set_up(ground, taskspace, opened.repository, operation)


def _stages(
    ground: Ground, opened: OpenProject
) -> list[tuple[str, Callable[[Taskspace], Awaitable[Taskspace]]]]:
    async def metadata(taskspace: Taskspace) -> Taskspace:
        await ground.mirror(taskspace.id)
        return taskspace

    async def fetch(taskspace: Taskspace) -> Taskspace:
        async with ground.clone_turn(opened.repository.common):
            work = _fetch(ground, taskspace, opened.repository)
            return await ground.undertakings.to_its_end(work)

    async def worktree(taskspace: Taskspace) -> Taskspace:
        async with ground.clone_turn(opened.repository.common):
            work = _add_worktree(taskspace, opened.repository)
            made = await ground.undertakings.to_its_end(work)
        await _tell_of_submodules(ground, made, opened.repository)
        return made

    return [
        ("create.metadata", metadata),
        ("create.fetched", fetch),
        ("create.worktree", worktree),
    ]


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


def _check(order: Order) -> None:
    required_name(order.name)
    checked_text(order.description, "a description")
    checked_text(order.task or "", "a task")
    if order.id is not None:
        canonical_id(order.id)
    if order.base is not None and (order.base.startswith("-") or not order.base.strip()):
        raise RefusedNameError(f"{order.base!r} is no branch", "name one that git branch lists")


async def _record(ground: Ground, order: Order, opened: OpenProject) -> tuple[Taskspace, Operation]:
    project, repository = opened.project, opened.repository
    id_ = canonical_id(order.id) if order.id else str(uuid4())
    base = await find_base(repository.git, order.base or project.default_branch)
    if await ground.journal.look(lambda connection: load(connection, id_)):
        raise RefusedNameError(f"there is a taskspace {id_} already", "leave the id out")
    places = await _free_places(ground, opened, id_, slug_of(order.name))
    prompt = prompt_for(project.repo_name, order.task) if order.task else None
    at = ground.stamp()
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
    operation = Operation(id_, Kind.CREATE, "create.recorded", {})
    asked = await asyncio.to_thread(read_set_up, repository.root, repository.root)
    count = order.ports or asked.ports or USUAL_PORTS

    def record(connection: Connection) -> Taskspace:
        ports = port_blocks.claim(connection, id_, count, ground.is_port_free)
        made = replace(taskspace, ports=ports)
        save(connection, made)
        operations.note(connection, operation)
        return made

    try:
        return await ground.journal.change(record), operation
    except asyncio.CancelledError:
        await ground.journal.change(lambda connection: forget(connection, id_))
        raise


async def _free_places(ground: Ground, opened: OpenProject, id_: str, slug: str) -> Places:
    """Places that nothing stands at: neither a path, however broken, nor a branch.

    An archived taskspace keeps its own, to come back to.
    """
    project, git = opened.project, opened.repository.git
    if _is_link(project.tasks):
        reason = f"{project.tasks} is a link"
        raise RefusedNameError(reason, "taskspaces are made in a directory: remove the link")
    for number in range(1, 1000):
        places = project.places(id_, slug if number == 1 else f"{slug}-{number}")
        place = [str(places.worktree)]
        if _exists(places.worktree) or await ground.journal.look(
            lambda connection, place=place: taken_worktrees(connection, place)
        ):
            continue
        if await commit_of(git, f"refs/heads/{places.branch}") is None:
            return places
    raise TaskspaceError(f"there are too many taskspaces called {slug}", "give it another name")


def _is_link(path: Path) -> bool:
    return path.is_symlink()


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


async def _fetch(ground: Ground, taskspace: Taskspace, repository: Repository) -> Taskspace:
    """Ask the remote for its newest base; without an answer, what is here is used, and told."""
    git, base, reason = repository.git, base_of(taskspace), ""
    if base is not None:
        try:
            await remotes.fetch(git, base)
        except (GitRunError, TaskspaceError) as error:
            reason = f"the base may be old: {error.message}"
    commit = await commit_of(git, taskspace.base)
    if commit is None:
        raise TaskspaceError(f"{taskspace.base} is gone", "name another base")
    updated = replace(taskspace, base_commit=commit, reason=reason)
    await ground.put(updated)
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
                # Another git may hold the clone's settings for a moment. Without an upstream the
                # branch is as good.
                if not (await git.config(f"branch.{taskspace.branch}.{key}", value)).code:
                    break
    return taskspace


async def _tell_of_submodules(ground: Ground, taskspace: Taskspace, repository: Repository) -> None:
    """Say in its log that its submodules are empty: git fetches none into a new worktree."""
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
        " `git submodule update --init --recursive` in its worktree fetches them"
    )
    entry = LogEntry(0, str(uuid4()), taskspace.id, ground.stamp(), Category.WARN, text)
    added = await ground.journal.change(lambda connection: log_book.append(connection, entry))
    assert added is not None
    ground.tell(Logged(added))


async def undo_creation(ground: Ground, taskspace: Taskspace, repository: Repository) -> None:
    """Take away what a creation that was not acknowledged has made; commits stay.

    Raises:
        TaskspaceError: git cannot.
    """
    git, path = repository.git, Path(taskspace.worktree)
    # From here on there is no way forward: a restart in the middle of this has to end it.
    back = Operation(taskspace.id, Kind.CREATE, "create.recorded", {})
    await ground.journal.change(lambda connection: operations.note(connection, back))
    listed = await worktrees(git)
    # What stood there before us is not ours: only what was locked for this very taskspace goes.
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
        # Only if nothing else is there.
        home.parent.rmdir()
        opened.project.tasks.rmdir()
    await ground.journal.change(lambda connection: forget(connection, taskspace.id))


async def _drop_branch(taskspace: Taskspace, repository: Repository) -> None:
    """Only while it is where it was made: git refuses if it has moved."""
    tip = taskspace.base_commit
    if tip:
        ref = f"refs/heads/{taskspace.branch}"
        done = await repository.git.run("update-ref", "-d", ref, tip)
        if not done.code:
            section = f"branch.{taskspace.branch}"
            await repository.git.config("--remove-section", section)


def base_of(taskspace: Taskspace) -> BaseBranch | None:
    """The base branch, in its parts; None when none is known."""
    if not taskspace.base:
        return None
    if taskspace.base.startswith("refs/remotes/"):
        _, _, remote, branch = taskspace.base.split("/", 3)
        return BaseBranch(taskspace.base, branch, remote)
    return BaseBranch(taskspace.base, taskspace.base.removeprefix("refs/heads/"), None)
