"""The context of the engine: store, clock, ports."""

import asyncio
import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from localio.errors import ExplainedError
from localio.git import GitRunError
from symposium.tasks import tables
from symposium.tasks.events import Changed, Event, Listener, Passed
from symposium.tasks.model import (
    Layout,
    Taskspace,
    TaskspaceError,
    TaskState,
    UnknownTaskspaceError,
    canonical_id,
)
from symposium.tasks.repository import Repository
from symposium.tasks.snapshots.snapshot_values import SnapshotTarget
from symposium.tasks.snapshots.snapshots import Snapshots
from symposium.tasks.store import ShieldedTasks, TaskStore
from symposium.tasks.tables import Operation, StageHook, load, load_all, save
from symposium.tasks.task_environment import is_unused
from symposium.tasks.task_file_updates import FileUpdates
from symposium.tasks.task_files import (
    MAX_ENTRIES,
    ROOT_FILE,
    TASKSPACE_FILE,
    Project,
    write_task_file,
)

_log = logging.getLogger(__name__)


class Agents(Protocol):
    """Start and stop the agents of tasks."""

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Start the agent in the worktree.

        Raises:
            ExplainedError: it cannot be started.
        """
        ...

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """Environment of the agent, without the variables of the task itself."""
        ...

    async def stop(self, taskspace: str) -> None:
        """Stop the agent and all its processes, if it runs."""
        ...

    def is_running(self, taskspace: str) -> bool | None:
        """Whether it runs; None if unknown."""
        ...

    async def idle_process(self, taskspace: str) -> int | None:
        """Process of an agent that has finished its prompts; None for any other."""
        ...


class SetupApproval(Protocol):
    """Ask the user before commands from a repository run."""

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Whether these commands may run; an answer is remembered for exactly this content."""
        ...


class NoAgents:
    """Start no agent: for a user who attaches one by hand."""

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Do nothing."""

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """Environment of this process."""
        del taskspace
        return os.environ

    async def stop(self, taskspace: str) -> None:
        """Do nothing."""

    def is_running(self, taskspace: str) -> bool | None:
        """Return False: no agent runs."""
        del taskspace
        return False

    async def idle_process(self, taskspace: str) -> int | None:
        """Return None: no agent runs."""
        del taskspace


class NoTrust:
    """Allow nothing: commands from a repository are shown and not run."""

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Return False for all commands."""
        del project, digest, commands
        return False


def ignore_event(event: Event) -> None:
    del event


def unchanged(taskspace: str, text: str) -> str:
    """Return the text unredacted."""
    del taskspace
    return text


def nothing_happens(stage: str) -> None:
    del stage


@dataclass(frozen=True, slots=True)
class EngineContext:
    """Shared context of the engine's parts.

    Attributes:
        state: Symposium's own directory: shadows and the trash.
        redact: removes the secrets of a task's agent from a text.
        precious: patterns of ignored files that count as work.
        shielded: work that continues after its caller was canceled.
        git_timeout: seconds that a git from before a kill may still run.
    """

    journal: TaskStore
    state: Path
    agents: Agents = field(default_factory=NoAgents)
    trust: SetupApproval = field(default_factory=NoTrust)
    tell: Listener = ignore_event
    passed: StageHook = nothing_happens
    now: Callable[[], float] = time.time
    redact: Callable[[str, str], str] = unchanged
    snapshots: Snapshots = field(default_factory=Snapshots)
    is_port_free: Callable[[int], bool] = is_unused
    precious: tuple[str, ...] = (".env", ".env.*", "*.local", ".envrc")
    turns: defaultdict[str, asyncio.Lock] = field(
        default_factory=lambda: defaultdict[str, asyncio.Lock](asyncio.Lock)
    )
    files: FileUpdates = field(default_factory=FileUpdates)
    shielded: ShieldedTasks = field(default_factory=ShieldedTasks)
    git_timeout: float = 10.0

    def stamp(self) -> str:
        """The current time, as ISO 8601 in UTC."""
        moment = datetime.fromtimestamp(self.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def clone_lock(self, common: Path) -> asyncio.Lock:
        """Lock for changes of a clone's shared files: git does not wait, it fails.

        Args:
            common: the clone's git directory.
        """
        return self.turns[f"clone {common}"]

    async def get(self, id_: str) -> Taskspace:
        """Look up a task by id.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        wanted = canonical_id(id_)
        found = await self.journal.read(lambda connection: load(connection, wanted))
        if found is None:
            raise unknown_taskspace(wanted)
        return found

    async def everything(self) -> list[Taskspace]:
        """All tasks, oldest first."""
        return await self.journal.read(load_all)

    async def put(self, taskspace: Taskspace) -> None:
        """Save a task, and announce the change."""
        await self.journal.write(lambda connection: save(connection, taskspace))
        self.tell(Changed(taskspace))

    async def mirror(self, id_: str) -> None:
        """Write a task's file from the journal; best effort, the journal is authoritative."""
        async with self.files.lock:
            self.files.begins(id_)
            taskspace = await self.get(id_)
            # A deletion removes its file under the same lock.
            if taskspace.standing in {TaskState.ARCHIVED, TaskState.DELETING}:
                return
            log = await self.journal.read(
                lambda connection: tables.latest(connection, taskspace.id, MAX_ENTRIES)
            )
            await asyncio.to_thread(write_task_file, file_of(taskspace), taskspace, log)

    async def mirror_soon(self, id_: str) -> None:
        """Write a task's file now, or within a second if it was just written."""
        if not self.files.postpone(id_):
            await self.mirror(id_)

    async def keep_files_current(self) -> None:
        """Write the files that `mirror_soon` postponed, until canceled; then the rest."""
        try:
            while True:
                await self._mirror_all(await self.files.ready())
        finally:
            await self.write_due_files()

    async def write_due_files(self) -> None:
        """Write the files that `mirror_soon` postponed, now."""
        await self._mirror_all(self.files.due())

    async def _mirror_all(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            try:
                await self.mirror(id_)
            except UnknownTaskspaceError:
                pass  # The task was deleted meanwhile, with its file.
            except (GitRunError, TaskspaceError, OSError) as error:
                _log.warning("cannot write the file of task %s: %s", id_, error)

    async def complete_stage(self, operation: Operation, stage: str) -> Operation:
        """Record a completed stage and announce it."""
        reached = replace(operation, stage=stage)
        await self.journal.write(lambda connection: tables.note(connection, reached))
        self.pass_stage(operation.taskspace, stage)
        return reached

    def pass_stage(self, taskspace: str, stage: str) -> None:
        """Announce a completed stage that is already recorded."""
        self.tell(Passed(taskspace, stage))
        self.passed(stage)


def unknown_taskspace(id_: str) -> UnknownTaskspaceError:
    hint = "symposium task list lists all tasks"
    return UnknownTaskspaceError(f"unknown task {id_}", hint)


def refuse_archived(taskspace: Taskspace) -> None:
    """Check that a task is not archived: an archived task cannot be changed.

    Raises:
        TaskspaceError: it is archived.
    """
    if taskspace.standing is TaskState.ARCHIVED:
        text = f"the task {taskspace.name!r} is archived"
        raise TaskspaceError(text, f"restore it with symposium task undo {taskspace.id}")


def project_of(taskspace: Taskspace) -> Project:
    """The project of a task, from the task's record alone."""
    directory = Path(taskspace.project)
    bare = directory / ".git"
    repository = bare if taskspace.layout is Layout.PROJECT else directory
    return Project(directory, repository, taskspace.layout, Path(taskspace.worktree).name)


def file_of(taskspace: Taskspace) -> Path:
    """Path of its `taskspace.json`."""
    project = project_of(taskspace)
    if is_root(taskspace):
        return project.tasks / ROOT_FILE
    return project.places(taskspace.id, "").home / TASKSPACE_FILE


def is_root(taskspace: Taskspace) -> bool:
    """Whether it works on the checkout itself: the root task of an embedded project."""
    return taskspace.worktree == taskspace.project


def subject_of(
    context: EngineContext, taskspace: Taskspace, repository: Repository
) -> SnapshotTarget:
    """The snapshot target for a task's worktree."""
    shadow = context.state / "shadow" / taskspace.id
    worktree = Path(taskspace.worktree)
    return SnapshotTarget(taskspace.id, worktree, repository.common, shadow, context.precious)


def subject_without_clone(context: EngineContext, taskspace: Taskspace) -> SnapshotTarget | None:
    """The same for a clone that git cannot read; None if it has no store."""
    place = project_of(taskspace).repository
    common = place if place.name == ".git" else place / ".git"
    shadow = context.state / "shadow" / taskspace.id
    worktree = Path(taskspace.worktree)
    subject = SnapshotTarget(taskspace.id, worktree, common, shadow, context.precious)
    return subject if subject.store.is_dir() else None


async def keep(
    context: EngineContext, taskspace: Taskspace, repository: Repository, reason: str
) -> str:
    """Snapshot a task before its state changes; the error text if that fails, else empty.

    The caller continues and reports the error.
    """
    try:
        await context.snapshots.take(subject_of(context, taskspace, repository), reason)
    except ExplainedError as error:
        return f"cannot snapshot its state: {error.message}"
    return ""
