"""What agents and people say of a taskspace: its state, its progress, what it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Final
from uuid import uuid4

from symposium.taskspaces import log_book
from symposium.taskspaces.agent_commands import BUILT_IN, AgentCommands, agent_command
from symposium.taskspaces.events import Acknowledged, Logged
from symposium.taskspaces.failures import UnknownTaskspaceError
from symposium.taskspaces.ground import Ground, refuse_archived, unknown_taskspace
from symposium.taskspaces.journal import load
from symposium.taskspaces.model import (
    Category,
    Limits,
    LogEntry,
    Taskspace,
    canonical_id,
    category_of,
    checked_name,
    checked_text,
    required_name,
)
from symposium.taskspaces.projects import open_project
from symposium.taskspaces.roster import take_in

_SIGNAL: Final = Category.QUESTION

DIRECTORY_PREFIX: Final = "task-"
"""How the directory of a taskspace begins in the seed's layout."""


@dataclass(frozen=True, slots=True)
class StateReply:
    """What `taskspace_state` answers (seed 000; bus-mcp-taskspaces §3.4)."""

    name: str
    description: str
    initial_prompt: str | None
    agent_command: tuple[str, ...]
    collaborator: str | None


@dataclass(frozen=True, slots=True)
class Update:
    """What is to be changed; None leaves as it is, an empty text is a change."""

    name: str | None = None
    description: str | None = None
    collaborator: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be changed: then it is a question."""
        return self.name is None and self.description is None and self.collaborator is None


@dataclass(frozen=True, slots=True)
class Records:
    """Reads and writes them; what it has answered lasts.

    Attributes:
        table: how each agent is started.
    """

    ground: Ground
    table: Mapping[str, AgentCommands] = field(default_factory=lambda: BUILT_IN)

    async def state(self, id_: str, update: Update = Update()) -> StateReply:  # noqa: B008, RUF100 - frozen
        """Read a taskspace's state, or write it.

        A write ends the initial prompt, and nothing else does; an archive of it stays. A name
        that the user locked stays.

        Raises:
            UnknownTaskspaceError: there is none.
            RefusedNameError: a text cannot be taken.
        """
        async with self.ground.turns[id_.lower()]:
            taskspace = await self.ground.get(id_)
            if not update.is_empty:
                taskspace = _updated(taskspace, update)
                await self.ground.put(taskspace)
                self.ground.pass_stage(taskspace.id, "update.recorded")
                await self.ground.mirror(taskspace.id)
                self.ground.pass_stage(taskspace.id, "update.mirrored")
        return StateReply(
            taskspace.name,
            taskspace.description,
            taskspace.initial_prompt,
            agent_command(taskspace, self.table),
            taskspace.collaborator,
        )

    async def rename(self, id_: str, name: str) -> Taskspace:
        """Give a taskspace a name that agents leave alone from now on.

        Raises:
            UnknownTaskspaceError, RefusedNameError: as `state`.
        """
        return await self._change(id_, name=required_name(name), is_name_locked=True)

    async def unlock_name(self, id_: str) -> Taskspace:
        """Let agents rename a taskspace again.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        taskspace = await self.ground.get(id_)
        return await self._change(id_, name=taskspace.name, is_name_locked=False)

    async def assign(self, id_: str, agent: str) -> Taskspace:
        """Give a taskspace an agent, in place of the one it had; none is started.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        async with self.ground.turns[id_.lower()]:
            changed = replace(await self.ground.get(id_), agent=agent)
            await self.ground.put(changed)
            await self.ground.mirror(changed.id)
        return changed

    async def _change(self, id_: str, *, name: str, is_name_locked: bool) -> Taskspace:
        async with self.ground.turns[id_.lower()]:
            taskspace = await self.ground.get(id_)
            changed = replace(taskspace, name=name, is_name_locked=is_name_locked)
            await self.ground.put(changed)
            await self.ground.mirror(changed.id)
        return changed

    async def limit(self, id_: str, limits: Limits) -> Taskspace:
        """Bound anew what a taskspace may spawn and spend.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        async with self.ground.turns[id_.lower()]:
            changed = replace(await self.ground.get(id_), limits=limits)
            await self.ground.put(changed)
            await self.ground.mirror(changed.id)
        return changed

    async def locate(self, id_: str, project: str) -> Taskspace:
        """The taskspace of an id, also one that only the files of a project's directory know.

        Args:
            id_: a UUID, or the name of a taskspace's directory in the seed's layout.
            project: the absolute path that names the project; it is never cloned for this.

        Raises:
            UnknownTaskspaceError: there is none, there neither.
            RefusedNameError: it is no id.
        """
        wanted = canonical_id(id_.strip().lower().removeprefix(DIRECTORY_PREFIX))
        try:
            return await self.ground.get(wanted)
        except UnknownTaskspaceError:
            path = Path(project)
            if not project or not path.is_absolute() or not (path / ".git").exists():
                raise
            await take_in(self.ground, await open_project(path))
            return await self.ground.get(wanted)

    async def activate(self, id_: str) -> Taskspace:
        """Note that a person went to a taskspace: it comes first from now on.

        Raises:
            UnknownTaskspaceError: there is none.
        """
        async with self.ground.turns[id_.lower()]:
            taskspace = await self.ground.get(id_)
            changed = replace(taskspace, activated_at=self.ground.stamp())
            await self.ground.put(changed)
            await self.ground.mirror(changed.id)
        return changed

    async def log(
        self, id_: str, message: str, category: str, evidence: str = "", *, is_live: bool = False
    ) -> LogEntry:
        """Add a line of progress; it lasts when this returns.

        Args:
            id_: the taskspace.
            message: for people.
            category: one of five, a synonym or an icon; `info` for any other word.
            evidence: a commit, a test or a file that proves it.
            is_live: refuse an archived taskspace.

        Raises:
            UnknownTaskspaceError, RefusedNameError: as `state`.
            TaskspaceError: it is archived.
        """
        entry = self._entry(id_, message, category_of(category), evidence)
        return await self._add(entry, "log", is_live=is_live)

    async def warn_once(self, id_: str, topic: str, message: str) -> bool:
        """Add a warning unless the log has one of this topic; whether it was added.

        Raises:
            UnknownTaskspaceError, RefusedNameError: as `state`.
        """
        entry = self._entry(id_, message, Category.WARN, "")
        added = await self.ground.journal.change(
            lambda connection: _append(connection, entry, topic=topic)
        )
        if added is not None:
            await self._announce(added, "log")
        return added is not None

    async def signal(self, id_: str, message: str, *, is_live: bool = False) -> LogEntry:
        """Ask for a person; it waits until one has seen it (§3.6).

        Raises:
            UnknownTaskspaceError, RefusedNameError, TaskspaceError: as `log`.
        """
        entry = self._entry(id_, message, _SIGNAL, "")
        return await self._add(entry, "signal", is_live=is_live)

    def _entry(self, id_: str, message: str, category: Category, evidence: str) -> LogEntry:
        taskspace = canonical_id(id_)
        text, proof = checked_text(message, "a message"), checked_text(evidence, "evidence")
        text, proof = (self.ground.redact(taskspace, each) for each in (text, proof))
        return LogEntry(0, str(uuid4()), taskspace, self.ground.stamp(), category, text, proof)

    async def _add(self, entry: LogEntry, kind: str, *, is_live: bool) -> LogEntry:
        added = await self.ground.journal.change(
            lambda connection: _append(connection, entry, is_live=is_live)
        )
        assert added is not None
        await self._announce(added, kind)
        return added

    async def _announce(self, added: LogEntry, kind: str) -> None:
        self.ground.pass_stage(added.taskspace, f"{kind}.recorded")
        self.ground.tell(Logged(added))
        await self.ground.mirror_soon(added.taskspace)
        self.ground.pass_stage(added.taskspace, f"{kind}.mirrored")

    async def acknowledge(self, number: int) -> bool:
        """Note that the user has seen the question of this number; False if it does not wait."""
        at = self.ground.stamp()
        seen = await self.ground.journal.change(
            lambda connection: log_book.acknowledge(connection, number, at)
        )
        if seen is None:
            return False
        self.ground.tell(Acknowledged(seen.taskspace, number, at))
        await self.ground.mirror_soon(seen.taskspace)
        return True


def _append(
    connection: Connection, entry: LogEntry, *, topic: str | None = None, is_live: bool = False
) -> LogEntry | None:
    """Add an entry to the log of a taskspace that exists, in the transaction that finds it."""
    taskspace = load(connection, entry.taskspace)
    if taskspace is None:
        raise unknown_taskspace(entry.taskspace)
    if is_live:
        refuse_archived(taskspace)
    return log_book.append(connection, entry, topic)


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
