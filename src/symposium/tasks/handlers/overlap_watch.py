"""Watch live tasks, and report once when two change the same lines (users B-10)."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from symposium.tasks import tables
from symposium.tasks.engine import Engine
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.overlaps import BASE, Overlap
from symposium.tasks.queries import LIVE

PAUSE: Final = 2.0
"""Minimum seconds between two checks: an overlap shows within ten."""

SHARE: Final = 12.0
"""Length of the pause after a check, as a multiple of its duration."""

MAX_PAUSE: Final = 60.0
"""Maximum seconds between two checks, however long one takes."""

_SAME_LINES: Final = "changes the same lines as "

_log = logging.getLogger(__name__)

Pause = Callable[[float], Awaitable[None]]


class OverlapWatcher:
    """Check repeatedly while a project has at least two live tasks.

    Args:
        engine: the taskspaces.
        pause: waits for some seconds.
        clock: seconds, to measure a check.
    """

    def __init__(
        self,
        engine: Engine,
        pause: Pause = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._pause = pause
        self._clock = clock
        self._lines: dict[str, tuple[str, ...]] = {}
        self.on_change: Callable[[str, str], None] = _ignore

    async def run(self) -> None:
        """Look for overlaps until canceled, more rarely the longer it takes."""
        while True:
            started = self._clock()
            await self.look()
            cost = self._clock() - started
            await self._pause(min(max(PAUSE, cost * SHARE), MAX_PAUSE))

    async def look(self) -> None:
        """Check once, and log new overlaps for both tasks."""
        await self._check()
        lines: dict[str, list[str]] = {}
        told_of: set[tuple[str, str]] = set()
        unknown: set[str] = set()
        for project in await self._engine.queries.shared_projects():
            overlaps = await self._overlaps(project)
            if overlaps is None or any(each.problem for each in overlaps):
                unknown.add(project)
            found = [each for each in overlaps or () if each.conflicts]
            names = await self._names({id_ for each in found for id_ in (each.first, each.second)})
            for overlap in found:
                pair = (overlap.first, overlap.second)
                for mine, other in (pair, pair[::-1]):
                    described = lines_for(overlap, mine)
                    name = names.get(other, other)
                    lines.setdefault(mine, []).extend(
                        f"with {name!r}: {each}" for each in described
                    )
                    told_of.add((mine, _topic(name)))
                    await self._tell(mine, name, overlap)
        await self._withdraw(unknown, told_of)
        before, self._lines = self._lines, {id_: tuple(found) for id_, found in lines.items()}
        for id_ in before.keys() | self._lines.keys():
            if before.get(id_) != self._lines.get(id_):
                self.on_change(id_, "conflicts")

    def lines(self, taskspace: str) -> tuple[str, ...]:
        """Places where a task overlaps with others, as of the last check."""
        return self._lines.get(taskspace, ())

    async def _check(self) -> None:
        try:
            await self._engine.queries.check_worktrees()
        except ExplainedError as error:
            _log.warning("cannot note which worktrees are missing: %s", error)

    async def _names(self, ids: set[str]) -> dict[str, str]:
        found = await self._engine.queries.of_ids(ids)
        return {each.id: each.name for each in found.values()}

    async def _withdraw(self, unknown: set[str], told_of: set[tuple[str, str]]) -> None:
        """Log the overlaps that ended: the other has landed, was deleted, or has other lines.

        Args:
            unknown: projects whose tasks could not be compared.
            told_of: tasks and topics of the overlaps that were found.
        """
        records, journal = self._engine.records, self._engine.records.context.journal
        warned = await journal.read(lambda connection: tables.topics(connection, _SAME_LINES))
        resolved = sorted(warned - told_of)
        known = await self._engine.queries.of_ids({taskspace for taskspace, _ in resolved})
        live = {id_: each for id_, each in known.items() if each.standing in LIVE}
        for taskspace, topic in resolved:
            if taskspace not in live or live[taskspace].project in unknown:
                continue
            close = partial(tables.close_topic, taskspace=taskspace, topic=topic)
            try:
                await records.log(taskspace, f"no longer {topic.removesuffix(': ')}", "info")
                await journal.write(close)
            except ExplainedError as error:
                _log.info("cannot log the end of an overlap for %s: %s", taskspace, error)

    async def _overlaps(self, project: str) -> Sequence[Overlap] | None:
        """Overlaps in a project; None if its tasks cannot be compared."""
        try:
            found = await self._engine.radar(Path(project))
        except ExplainedError as error:
            _log.info("cannot compare the tasks of %s: %s", project, error)
            return None
        return [each for each in found if each.second != BASE]

    async def _tell(self, taskspace: str, other: str, overlap: Overlap) -> None:
        """Log one line for each pair, however often their files change."""
        begun = _topic(other)
        files = ", ".join(dict.fromkeys(each.path for each in overlap.conflicts))
        try:
            await self._engine.records.warn_once(taskspace, begun, begun + files)
        except ExplainedError as error:
            # It may have been deleted since; the other tasks still need a check.
            _log.info("cannot log an overlap for %s: %s", taskspace, error)


def _topic(other: str) -> str:
    return f"{_SAME_LINES}{other!r}: "


def _ignore(id_: str, cause: str) -> None:
    del id_, cause


def lines_for(overlap: Overlap, taskspace: str) -> list[str]:
    """The files and lines of an overlap, as one of the two counts them."""
    is_first = overlap.first == taskspace
    return [_line(each, each.ours if is_first else each.theirs) for each in overlap.conflicts]


def _line(conflict: Conflict, ranges: Sequence[LineRange]) -> str:
    described = ", ".join(f"{each.first}-{each.last}" for each in ranges)
    return f"{conflict.path}{f':{described}' if described else ''} ({conflict.kind})"
