"""Child tasks, their limits, and the command lines of their agents.

`BUILT_IN` lists agents that run in a terminal (bus-mcp-taskspaces §3.4). Any other program is named
`terminal:PROGRAM`. The command line does not contain the task; the agent asks for it (seed 000).
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from symposium.tasks.creation import CreateRequest, create
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.model import (
    LimitError,
    Limits,
    Taskspace,
    TaskspaceError,
    TaskState,
    checked_text,
)

_ENDED = frozenset({TaskState.FINISHED, TaskState.ARCHIVED})


@dataclass(frozen=True, slots=True)
class ChildResult:
    """Result of a finished task."""

    id: str
    name: str
    branch: str
    standing: TaskState
    result: str | None


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """Request of an agent to create a child task.

    Attributes:
        task: the first prompt of the child's agent.
        collaborator: default: the parent's.
        agent: default: the parent's.
        limits: limits of the child. Default: half of the children left, and the parent's other
            limits.
    """

    name: str
    task: str
    description: str = ""
    collaborator: str | None = None
    agent: str | None = None
    limits: Limits | None = None


def shared(parent: Taskspace, wanted: Limits | None) -> Limits:
    """Limits of a child: the wanted ones, never more than its parent has left.

    Raises:
        LimitError: the parent has reached a limit.
    """
    have = parent.limits
    if have.depth <= 0:
        reason = f"{parent.name!r} cannot create tasks: the maximum depth is reached"
        raise LimitError(reason, "do the work here, or ask the user")
    if parent.spawned >= have.children:
        reason = f"{parent.name!r} has created {parent.spawned} tasks; the limit is {have.children}"
        raise LimitError(reason, "do the work here, or ask the user")
    # The new task counts itself; its children are taken from its parent's share.
    rest = have.children - parent.spawned - 1
    # Default: half, so that a first child does not use up the share of its siblings.
    want = wanted or replace(have, children=rest // 2)
    return Limits(
        depth=max(min(want.depth, have.depth - 1), 0),
        children=max(min(want.children, rest), 0) if have.depth > 1 else 0,
        minutes=_least(want.minutes, have.minutes),
        costs=_least_costs(want.costs, have.costs),
        turns=_least(want.turns, have.turns),
    )


_Number = TypeVar("_Number", int, float)


def _least_costs(wanted: Mapping[str, float], have: Mapping[str, float]) -> dict[str, float]:
    least = {each: min(wanted.get(each, math.inf), have.get(each, math.inf)) for each in wanted}
    return {**have, **least}


def _least(wanted: _Number | None, have: _Number | None) -> _Number | None:
    if wanted is None or have is None:
        return have if wanted is None else wanted
    return min(wanted, have)


class Spawning:
    """Create child tasks and wait for them."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._ended = asyncio.Condition()

    async def spawn(self, parent_id: str, wanted: SpawnRequest) -> Taskspace:
        """Create a child task.

        Raises:
            LimitError: the limits of the parent are reached.
            TaskspaceError: see `create`.
        """
        async with self._context.turns[f"spawn {parent_id.lower()}"]:
            parent = await self._context.get(parent_id)
            allowed = shared(parent, wanted.limits)
            order = CreateRequest(
                project=Path(parent.project),
                name=wanted.name,
                task=wanted.task,
                description=wanted.description,
                collaborator=wanted.collaborator or parent.collaborator,
                agent=wanted.agent or parent.agent,
                parent=parent.id,
                limits=allowed,
            )
            try:
                await self._save_spawned(parent, parent.spawned + 1 + allowed.children)
                await self._context.mirror(parent.id)
                return await create(self._context, order)
            except BaseException:
                await self._context.shielded.after_failure(self._undo_count(parent))
                raise

    async def _undo_count(self, parent: Taskspace) -> None:
        await self._save_spawned(parent, parent.spawned)
        with suppress(TaskspaceError, OSError):
            await self._context.mirror(parent.id)

    async def _save_spawned(self, parent: Taskspace, spawned: int) -> None:
        # Only `spawn` changes this number, for one child of a parent at a time.
        async with self._context.turns[parent.id]:
            now = await self._context.get(parent.id)
            await self._context.put(replace(now, spawned=spawned))

    async def finish(self, id_: str, result: str) -> Taskspace:
        """Record the result of a task, and wake the callers that wait for it.

        Raises:
            UnknownTaskspaceError, RefusedNameError: the task is unknown, or the text is not valid.
        """
        async with self._context.turns[id_.lower()]:
            taskspace = await self._context.get(id_)
            text = checked_text(result, "a result")
            ended = replace(taskspace, standing=TaskState.FINISHED, result=text)
            await self._context.put(ended)
            await self._context.mirror(ended.id)
        await self.wake()
        return ended

    async def wake(self) -> None:
        """Let all waiting callers check again."""
        async with self._ended:
            self._ended.notify_all()

    async def wait_for(self, ids: Sequence[str]) -> list[ChildResult]:
        """Wait until these have finished, without polling.

        Raises:
            UnknownTaskspaceError: a task does not exist.
        """
        async with self._ended:
            while True:
                found = [await self._context.get(id_) for id_ in ids]
                if all(each.standing in _ENDED for each in found):
                    break
                await self._ended.wait()
        return [
            ChildResult(each.id, each.name, each.branch, each.standing, each.result)
            for each in found
        ]


_ASK: Final = "Call the tool expand_reference with the reference 'yiasou' and do what it says."


TERMINAL: Final = "terminal:"
"""Prefix of a program that runs in a terminal; any other agent is an ACP agent."""


@dataclass(frozen=True, slots=True)
class AgentCommands:
    """Command lines of one agent; `{name}`, `{id}`, `{worktree}`, and `{branch}` are replaced.

    Attributes:
        hatch: starts the agent of a new task.
        resume: continues the agent's last session.
    """

    hatch: tuple[str, ...]
    resume: tuple[str, ...]


BUILT_IN: Final[Mapping[str, AgentCommands]] = {
    "claude": AgentCommands(("claude", _ASK), ("claude", "--continue")),
    "codex": AgentCommands(("codex", _ASK), ("codex", "resume", "--last")),
    "gemini": AgentCommands(("gemini", "-i", _ASK), ("gemini", "--resume")),
    "qcli": AgentCommands(("q", "chat", _ASK), ("q", "chat", "--resume")),
}


def agent_command(
    taskspace: Taskspace, table: Mapping[str, AgentCommands] = BUILT_IN
) -> tuple[str, ...]:
    """Command line that starts the task's agent now; empty for an unknown agent."""
    known = table.get(taskspace.agent or "")
    if known is None:
        return ()
    words = known.resume if taskspace.initial_prompt is None else known.hatch
    filled = {
        "{name}": taskspace.name,
        "{id}": taskspace.id,
        "{worktree}": taskspace.worktree,
        "{branch}": taskspace.branch,
    }
    return tuple(_fill(word, filled) for word in words)


def _fill(word: str, values: Mapping[str, str]) -> str:
    # Whole words only: a placeholder in a name must not be replaced.
    return values.get(word, word)
