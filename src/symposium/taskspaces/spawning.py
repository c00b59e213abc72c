"""Taskspaces that agents make: within what their parent may spawn and spend (users.md B-13)."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from symposium.taskspaces.creation import Order, create
from symposium.taskspaces.failures import LimitError, TaskspaceError
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.model import Limits, Standing, Taskspace, checked_text

_ENDED = frozenset({Standing.FINISHED, Standing.ARCHIVED})


@dataclass(frozen=True, slots=True)
class ChildResult:
    """What a taskspace that has ended left behind."""

    id: str
    name: str
    branch: str
    standing: Standing
    result: str | None


@dataclass(frozen=True, slots=True)
class SpawnOrder:
    """What an agent wants of a child.

    Attributes:
        task: what the child's agent is told first.
        collaborator, agent: the parent's where nothing is said.
        limits: half of what the parent has left where nothing is said.
    """

    name: str
    task: str
    description: str = ""
    collaborator: str | None = None
    agent: str | None = None
    limits: Limits | None = None


def shared(parent: Taskspace, wanted: Limits | None) -> Limits:
    """What a child may spawn and spend: what it wants, never more than its parent has.

    Raises:
        LimitError: the parent may spawn no more.
    """
    have = parent.limits
    if have.depth <= 0:
        reason = f"{parent.name!r} may spawn no taskspaces: it is as deep as was allowed"
        raise LimitError(reason, "do the work here, or ask the user")
    if parent.spawned >= have.children:
        reason = f"{parent.name!r} has spawned {parent.spawned} taskspaces; at most {have.children}"
        raise LimitError(reason, "do the work here, or ask the user")
    # The new one counts itself; what it may spawn is taken from its parent's share.
    rest = have.children - parent.spawned - 1
    # Who says nothing gets half, so that a first child does not use up what its siblings need.
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
    """Makes children and waits for them."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._ended = asyncio.Condition()

    async def spawn(self, parent_id: str, wanted: SpawnOrder) -> Taskspace:
        """Make a taskspace for an agent's task.

        Raises:
            LimitError: the parent may not.
            TaskspaceError: as `create`.
        """
        async with self._ground.turns[f"spawn {parent_id.lower()}"]:
            parent = await self._ground.get(parent_id)
            allowed = shared(parent, wanted.limits)
            await self._count(parent, 1 + allowed.children)
            order = Order(
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
                await self._ground.mirror(parent.id)
                return await create(self._ground, order)
            except BaseException:
                await self._count(parent, -1 - allowed.children)
                with suppress(TaskspaceError, OSError):
                    await self._ground.mirror(parent.id)
                raise

    async def _count(self, parent: Taskspace, more: int) -> None:
        async with self._ground.turns[parent.id]:
            now = await self._ground.get(parent.id)
            await self._ground.put(replace(now, spawned=max(now.spawned + more, 0)))

    async def finish(self, id_: str, result: str) -> Taskspace:
        """Note what a taskspace has achieved; whoever waits for it goes on.

        Raises:
            UnknownTaskspaceError, RefusedNameError: there is none, or the text cannot be taken.
        """
        async with self._ground.turns[id_.lower()]:
            taskspace = await self._ground.get(id_)
            text = checked_text(result, "a result")
            ended = replace(taskspace, standing=Standing.FINISHED, result=text)
            await self._ground.put(ended)
            await self._ground.mirror(ended.id)
        await self.wake()
        return ended

    async def wake(self) -> None:
        """Let those who wait look again."""
        async with self._ended:
            self._ended.notify_all()

    async def wait_for(self, ids: Sequence[str]) -> list[ChildResult]:
        """Wait until these have ended, without asking again and again.

        Raises:
            UnknownTaskspaceError: there is no such taskspace.
        """
        async with self._ended:
            while True:
                found = [await self._ground.get(id_) for id_ in ids]
                if all(each.standing in _ENDED for each in found):
                    break
                await self._ended.wait()
        return [
            ChildResult(each.id, each.name, each.branch, each.standing, each.result)
            for each in found
        ]
