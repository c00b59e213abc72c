"""Records of a task: state, progress, signals, presence.

The bus owns the table of connections; the engine only queries it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from sqlite3 import Connection
from typing import Final
from uuid import uuid4

from symposium.tasks import tables
from symposium.tasks.engine_context import EngineContext, refuse_archived, unknown_taskspace
from symposium.tasks.events import Acknowledged, LineEvent
from symposium.tasks.model import (
    Category,
    Limits,
    LogEntry,
    Taskspace,
    UnknownTaskspaceError,
    canonical_id,
    category_of,
    checked_name,
    checked_text,
    required_name,
)
from symposium.tasks.projects import open_project
from symposium.tasks.spawning import BUILT_IN, AgentCommands, agent_command
from symposium.tasks.tables import load
from symposium.tasks.task_discovery import load_project

_SIGNAL: Final = Category.QUESTION

DIRECTORY_PREFIX: Final = "task-"
"""Prefix of a task's directory in the seed's layout."""


@dataclass(frozen=True, slots=True)
class StateReply:
    """Answer of `taskspace_state` (seed 000; bus-mcp-taskspaces §3.4)."""

    name: str
    description: str
    initial_prompt: str | None
    agent_command: tuple[str, ...]
    collaborator: str | None


@dataclass(frozen=True, slots=True)
class Update:
    """Changes to a task; None leaves a field unchanged, an empty text is a change."""

    name: str | None = None
    description: str | None = None
    collaborator: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing: a read."""
        return self.name is None and self.description is None and self.collaborator is None


_READ: Final = Update()


@dataclass(frozen=True, slots=True)
class Records:
    """Reads and writes tasks; a result is saved before it is returned.

    Attributes:
        table: the command lines of agents.
    """

    context: EngineContext
    table: Mapping[str, AgentCommands] = field(default_factory=lambda: BUILT_IN)

    async def state(self, id_: str, update: Update = _READ) -> StateReply:
        """Read or write a task's state.

        Only a write clears the initial prompt; its archive stays. A name that the user locked
        stays.

        Raises:
            UnknownTaskspaceError: the task does not exist.
            RefusedNameError: a text is not valid.
        """
        async with self.context.turns[id_.lower()]:
            taskspace = await self.context.get(id_)
            if not update.is_empty:
                taskspace = _updated(taskspace, update)
                await self.context.put(taskspace)
                self.context.pass_stage(taskspace.id, "update.recorded")
                await self.context.mirror(taskspace.id)
                self.context.pass_stage(taskspace.id, "update.mirrored")
        return StateReply(
            taskspace.name,
            taskspace.description,
            taskspace.initial_prompt,
            agent_command(taskspace, self.table),
            taskspace.collaborator,
        )

    async def rename(self, id_: str, name: str) -> Taskspace:
        """Rename a task; agents can no longer change the name.

        Raises:
            UnknownTaskspaceError, RefusedNameError: see `state`.
        """
        return await self._change(id_, name=required_name(name), is_name_locked=True)

    async def unlock_name(self, id_: str) -> Taskspace:
        """Let agents rename a task again.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        taskspace = await self.context.get(id_)
        return await self._change(id_, name=taskspace.name, is_name_locked=False)

    async def assign(self, id_: str, agent: str) -> Taskspace:
        """Replace the agent of a task; starts none.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        async with self.context.turns[id_.lower()]:
            changed = replace(await self.context.get(id_), agent=agent)
            await self.context.put(changed)
            await self.context.mirror(changed.id)
        return changed

    async def _change(self, id_: str, *, name: str, is_name_locked: bool) -> Taskspace:
        async with self.context.turns[id_.lower()]:
            taskspace = await self.context.get(id_)
            changed = replace(taskspace, name=name, is_name_locked=is_name_locked)
            await self.context.put(changed)
            await self.context.mirror(changed.id)
        return changed

    async def limit(self, id_: str, limits: Limits) -> Taskspace:
        """Replace the limits of a task.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        async with self.context.turns[id_.lower()]:
            changed = replace(await self.context.get(id_), limits=limits)
            await self.context.put(changed)
            await self.context.mirror(changed.id)
        return changed

    async def locate(self, id_: str, project: str) -> Taskspace:
        """Look up a task by id, also one known only from files of a project's directory.

        Args:
            id_: a UUID, or the name of a task's directory in the seed's layout.
            project: the absolute path of the project; it is never cloned for this.

        Raises:
            UnknownTaskspaceError: it does not exist, in the project neither.
            RefusedNameError: it is not an id.
        """
        wanted = canonical_id(id_.strip().lower().removeprefix(DIRECTORY_PREFIX))
        try:
            return await self.context.get(wanted)
        except UnknownTaskspaceError:
            path = Path(project)
            if not project or not path.is_absolute() or not (path / ".git").exists():
                raise
            await load_project(self.context, await open_project(path))
            return await self.context.get(wanted)

    async def activate(self, id_: str) -> Taskspace:
        """Record that the user opened a task: it is listed first.

        Raises:
            UnknownTaskspaceError: it does not exist.
        """
        async with self.context.turns[id_.lower()]:
            taskspace = await self.context.get(id_)
            changed = replace(taskspace, activated_at=self.context.stamp())
            await self.context.put(changed)
            await self.context.mirror(changed.id)
        return changed

    async def log(
        self, id_: str, message: str, category: str, evidence: str = "", *, is_live: bool = False
    ) -> LogEntry:
        """Add a line of progress; it is saved on return.

        Args:
            id_: the taskspace.
            message: text for the user.
            category: one of five, a synonym or an icon; `info` for any other word.
            evidence: a commit, a test or a file that proves it.
            is_live: refuse an archived taskspace.

        Raises:
            UnknownTaskspaceError, RefusedNameError: see `state`.
            TaskspaceError: it is archived.
        """
        entry = self._entry(id_, message, category_of(category), evidence)
        return await self._add(entry, "log", is_live=is_live)

    async def warn_once(self, id_: str, topic: str, message: str) -> bool:
        """Add a warning unless the log has one of this topic; returns whether it was added.

        Raises:
            UnknownTaskspaceError, RefusedNameError: see `state`.
        """
        entry = self._entry(id_, message, Category.WARN, "")
        added = await self.context.journal.write(
            lambda connection: _append(connection, entry, topic=topic)
        )
        if added is not None:
            await self._announce(added, "log")
        return added is not None

    async def signal(self, id_: str, message: str, *, is_live: bool = False) -> LogEntry:
        """Ask for the user; the question stays open until they have seen it (§3.6).

        Raises:
            UnknownTaskspaceError, RefusedNameError, TaskspaceError: see `log`.
        """
        entry = self._entry(id_, message, _SIGNAL, "")
        return await self._add(entry, "signal", is_live=is_live)

    def _entry(self, id_: str, message: str, category: Category, evidence: str) -> LogEntry:
        taskspace = canonical_id(id_)
        text, proof = checked_text(message, "a message"), checked_text(evidence, "evidence")
        text, proof = (self.context.redact(taskspace, each) for each in (text, proof))
        return LogEntry(0, str(uuid4()), taskspace, self.context.stamp(), category, text, proof)

    async def _add(self, entry: LogEntry, kind: str, *, is_live: bool) -> LogEntry:
        added = await self.context.journal.write(
            lambda connection: _append(connection, entry, is_live=is_live)
        )
        assert added is not None
        await self._announce(added, kind)
        return added

    async def _announce(self, added: LogEntry, kind: str) -> None:
        self.context.pass_stage(added.taskspace, f"{kind}.recorded")
        self.context.tell(LineEvent(added))
        await self.context.mirror_soon(added.taskspace)
        self.context.pass_stage(added.taskspace, f"{kind}.mirrored")

    async def acknowledge(self, number: int) -> bool:
        """Record that the user has seen the question of this number; False if it is not open."""
        at = self.context.stamp()
        seen = await self.context.journal.write(
            lambda connection: tables.acknowledge(connection, number, at)
        )
        if seen is None:
            return False
        self.context.tell(Acknowledged(seen.taskspace, number, at))
        await self.context.mirror_soon(seen.taskspace)
        return True


def _append(
    connection: Connection, entry: LogEntry, *, topic: str | None = None, is_live: bool = False
) -> LogEntry | None:
    """Add an entry to the log of an existing task, in the transaction that finds it."""
    taskspace = load(connection, entry.taskspace)
    if taskspace is None:
        raise unknown_taskspace(entry.taskspace)
    if is_live:
        refuse_archived(taskspace)
    return tables.append(connection, entry, topic)


def _updated(taskspace: Taskspace, update: Update) -> Taskspace:
    name, description = update.name, update.description
    is_named = name is not None and not taskspace.is_name_locked
    return replace(
        taskspace,
        name=checked_name(name) if is_named and name is not None else taskspace.name,
        description=taskspace.description
        if description is None
        else checked_text(description, "a description"),
        collaborator=taskspace.collaborator
        if update.collaborator is None
        else checked_name(update.collaborator) or None,
        initial_prompt=None,
    )


class PresenceKind(StrEnum):
    """Kind of a window."""

    EDITOR = "editor"
    TERMINAL = "terminal"
    WEB = "web"
    ACP = "acp"


@dataclass(frozen=True, slots=True)
class PresentAgents:
    """Open window that shows a task.

    Attributes:
        key: connection id on the bus.
        taskspace: id of the task.
        window_title: marked title of an editor of the reference's app; empty for others.
    """

    key: str
    taskspace: str
    kind: PresenceKind
    window_title: str = ""


class TaskPresence:
    """Finds the windows that show a task; none until `connect` was called."""

    def __init__(self) -> None:
        self._windows: Callable[[], Sequence[PresentAgents]] = tuple

    def connect(self, windows: Callable[[], Sequence[PresentAgents]]) -> None:
        """Set the source of windows."""
        self._windows = windows

    def at(self, taskspace: str) -> list[PresentAgents]:
        """The windows that show a task now.

        Raises:
            RefusedNameError: the id is not valid.
        """
        id_ = canonical_id(taskspace)
        return [each for each in self._windows() if each.taskspace.lower() == id_]
