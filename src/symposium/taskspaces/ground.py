"""What the parts of the engine stand on: the journal, the clock, the ports to the outside."""

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

from symposium.git.program import GitRunError
from symposium.taskspaces import log_book, operations
from symposium.taskspaces.events import Changed, Event, Listener, Passed
from symposium.taskspaces.failures import TaskspaceError, UnknownTaskspaceError
from symposium.taskspaces.file_updates import FileUpdates
from symposium.taskspaces.journal import Journal, load, load_all, save
from symposium.taskspaces.layouts import ROOT_FILE, TASKSPACE_FILE, Project
from symposium.taskspaces.model import Layout, Standing, Taskspace, canonical_id
from symposium.taskspaces.operations import Operation, StageHook
from symposium.taskspaces.port_blocks import is_unused
from symposium.taskspaces.snapshots.snapshots import Snapshots
from symposium.taskspaces.task_file import MOST_ENTRIES, write_task_file
from symposium.taskspaces.undertakings import Undertakings

_log = logging.getLogger(__name__)


class Agents(Protocol):
    """Starts and stops the agents of taskspaces."""

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Start the agent in the worktree.

        Raises:
            ExplainedError: it cannot be started.
        """
        ...

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """What the agent finds in its environment, beside what is the taskspace's own."""
        ...

    async def stop(self, taskspace: str) -> None:
        """End the agent and all that it has started, if it runs."""
        ...

    def is_running(self, taskspace: str) -> bool | None:
        """Whether it runs; None if that cannot be known."""
        ...

    async def idle_process(self, taskspace: str) -> int | None:
        """The process that holds an agent which has done all it was asked; None for any other."""
        ...


class Trust(Protocol):
    """Asks a person before what a repository brings is run."""

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Whether these commands may run; an answer is remembered for this very content."""
        ...


class NoAgents:
    """Starts nothing: for who attaches an agent by hand."""

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        """Nothing."""

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        """Ours."""
        del taskspace
        return os.environ

    async def stop(self, taskspace: str) -> None:
        """Nothing."""

    def is_running(self, taskspace: str) -> bool | None:
        """Never."""
        del taskspace
        return False

    async def idle_process(self, taskspace: str) -> int | None:
        """None."""
        del taskspace


class NoTrust:
    """Allows nothing: what a repository brings is shown and not run."""

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Never."""
        del project, digest, commands
        return False


def nobody_listens(event: Event) -> None:
    """Let an event go."""
    del event


def unchanged(taskspace: str, text: str) -> str:
    """Take nothing out of a text."""
    del taskspace
    return text


def nothing_happens(stage: str) -> None:
    """Let a stage pass."""
    del stage


@dataclass(frozen=True, slots=True)
class Ground:
    """What every part of the engine shares.

    Attributes:
        state: our own directory: shadows and the trash.
        redact: takes the secrets of a task's agent out of a text.
        precious: patterns of ignored files that are work all the same.
        undertakings: what goes on when whoever asked for it has gone.
    """

    journal: Journal
    state: Path
    agents: Agents = field(default_factory=NoAgents)
    trust: Trust = field(default_factory=NoTrust)
    tell: Listener = nobody_listens
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
    undertakings: Undertakings = field(default_factory=Undertakings)

    def stamp(self) -> str:
        """This moment, as ISO-8601 in UTC."""
        moment = datetime.fromtimestamp(self.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def clone_turn(self, common: Path) -> asyncio.Lock:
        """Held while a clone's shared files change: git refuses a second writer, it does not wait.

        Args:
            common: the clone's git directory.
        """
        return self.turns[f"clone {common}"]

    async def get(self, id_: str) -> Taskspace:
        """The taskspace of an id.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        wanted = canonical_id(id_)
        found = await self.journal.look(lambda connection: load(connection, wanted))
        if found is None:
            raise unknown_taskspace(wanted)
        return found

    async def everything(self) -> list[Taskspace]:
        """Every taskspace, oldest first."""
        return await self.journal.look(load_all)

    async def put(self, taskspace: Taskspace) -> None:
        """Make what is known of a taskspace last, and tell."""
        await self.journal.change(lambda connection: save(connection, taskspace))
        self.tell(Changed(taskspace))

    async def mirror(self, id_: str) -> None:
        """Write a taskspace's file from the journal; best effort, the journal is what counts."""
        async with self.files.lock:
            self.files.begins(id_)
            taskspace = await self.get(id_)
            # A deletion takes its file away, under the same lock.
            if taskspace.standing in {Standing.ARCHIVED, Standing.DELETING}:
                return
            log = await self.journal.look(
                lambda connection: log_book.latest(connection, taskspace.id, MOST_ENTRIES)
            )
            await asyncio.to_thread(write_task_file, file_of(taskspace), taskspace, log)

    async def mirror_soon(self, id_: str) -> None:
        """Write a taskspace's file now, or within a second if it was just written."""
        if not self.files.postpone(id_):
            await self.mirror(id_)

    async def keep_files_current(self) -> None:
        """Write the files that `mirror_soon` left for later, until canceled; then the rest."""
        try:
            while True:
                await self._mirror_all(await self.files.ready())
        finally:
            await self.write_due_files()

    async def write_due_files(self) -> None:
        """Write the files that `mirror_soon` left for later, now."""
        await self._mirror_all(self.files.due())

    async def _mirror_all(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            try:
                await self.mirror(id_)
            except UnknownTaskspaceError:
                pass  # It was deleted meanwhile, and its file with it.
            except (GitRunError, TaskspaceError, OSError) as error:
                _log.warning("cannot write the file of task %s: %s", id_, error)

    async def reach(self, operation: Operation, stage: str) -> Operation:
        """Note that a stage is done, and let it be known."""
        reached = replace(operation, stage=stage)
        await self.journal.change(lambda connection: operations.note(connection, reached))
        self.pass_stage(operation.taskspace, stage)
        return reached

    def pass_stage(self, taskspace: str, stage: str) -> None:
        """Let it be known that a stage is done; it lasts by now."""
        self.tell(Passed(taskspace, stage))
        self.passed(stage)


def unknown_taskspace(id_: str) -> UnknownTaskspaceError:
    """The error for an id that no taskspace has."""
    hint = "symposium task list shows which there are"
    return UnknownTaskspaceError(f"there is no taskspace {id_}", hint)


def refuse_archived(taskspace: Taskspace) -> None:
    """Check that a taskspace takes part: an archived one is not written to.

    Raises:
        TaskspaceError: it is archived.
    """
    if taskspace.standing is Standing.ARCHIVED:
        text = f"the taskspace {taskspace.name!r} is archived"
        raise TaskspaceError(text, f"restore it with symposium task undo {taskspace.id}")


def project_of(taskspace: Taskspace) -> Project:
    """The project of a taskspace, from what is known of it alone."""
    directory = Path(taskspace.project)
    bare = directory / ".git"
    repository = bare if taskspace.layout is Layout.PROJECT else directory
    return Project(directory, repository, taskspace.layout, Path(taskspace.worktree).name)


def file_of(taskspace: Taskspace) -> Path:
    """Where its `taskspace.json` is."""
    project = project_of(taskspace)
    if is_root(taskspace):
        return project.tasks / ROOT_FILE
    return project.places(taskspace.id, "").home / TASKSPACE_FILE


def is_root(taskspace: Taskspace) -> bool:
    """Whether it works on the checkout itself: the root taskspace of an embedded project."""
    return taskspace.worktree == taskspace.project
