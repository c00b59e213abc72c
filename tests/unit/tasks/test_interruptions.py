"""Whoever asked goes away in the middle of something: nothing is left half made meanwhile."""

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.interruptions import KINDS, act, consistent, look, prepare, stages_of
from tests.support.task_harness import Scene, Surroundings, open_scene

from symposium.git.program import GitRunError
from symposium.tasks.engine import Engine
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.store import FAREWELL, Result, ShieldedTasks, TaskStore

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

See: TypeAlias = Callable[[Scene, str, Taskspace | None], Awaitable[None]]


@dataclass
class Asker:
    """The task that asks for something, until it goes."""

    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def go(self) -> None:
        """Stop asking, once."""
        if self.tasks:
            self.tasks.pop().cancel()


class WatchedJournal(TaskStore):
    """Lets the asker go right in the middle of its so-manieth write."""

    def __init__(self, path: Path, asker: Asker, last: int) -> None:
        super().__init__(path)
        self._asker = asker
        self._left = last

    async def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Write, and lose the asker before it is known that it is written."""
        self._left -= 1
        if self._left == 0:
            self._asker.go()
        return await super().write(work)


class Rounds:
    """One place as it was prepared, again and again."""

    def __init__(self, place: Path, kind: str) -> None:
        self._place, self._kind = place, kind
        self._kept = place.with_name("kept")
        self._made = ""

    async def begin(self) -> None:
        """Prepare it."""
        scene = open_scene(self._place)
        made = await prepare(scene, self._kind)
        self._made = made.id if made else ""
        scene.engine.close()
        shutil.copytree(self._place, self._kept, symlinks=True)

    async def round(self, scene: Scene, asker: Asker, see: See) -> None:
        """Do it with this asker, who may go meanwhile; then look."""
        made = await self._of(scene)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(act(scene, self._kind, made))
            asker.tasks.append(task)
            await asyncio.wait({task})
        await see(scene, self._kind, made)
        scene.engine.close()

    async def act_quietly(self, scene: Scene) -> None:
        """Do it; that the journal is closed meanwhile is no surprise."""
        with suppress(GitRunError, TaskspaceError):
            await act(scene, self._kind, await self._of(scene))

    async def round_after(self, scene: Scene) -> None:
        """Look, after a start."""
        await look(scene, self._kind, await self._of(scene))
        scene.engine.close()

    async def _of(self, scene: Scene) -> Taskspace | None:
        return await scene.engine.get(self._made) if self._made else None

    def anew(self) -> Path:
        """The place as it was prepared."""
        shutil.rmtree(self._place)
        shutil.copytree(self._kept, self._place, symlinks=True)
        return self._place


@pytest.mark.requirement("taskspaces.asker-goes")
@pytest.mark.parametrize("kind", KINDS)
async def test_who_asked_may_go_at_any_stage(place: Path, kind: str) -> None:
    rounds = Rounds(place, kind)
    await rounds.begin()
    for stage in stages_of(kind):
        asker = Asker()

        def gone(passed: str, stage: str = stage, asker: Asker = asker) -> None:
            if passed == stage:
                asker.go()

        scene = open_scene(rounds.anew(), Surroundings(passed=gone))
        await rounds.round(scene, asker, look)
        assert not asker.tasks, f"{stage} was passed"


@pytest.mark.requirement("taskspaces.ended-at-work")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_engine_may_be_ended_at_any_stage(place: Path, kind: str) -> None:
    rounds = Rounds(place, kind)
    await rounds.begin()
    for stage in stages_of(kind):
        reached = asyncio.Event()

        def passed(now: str, stage: str = stage, reached: asyncio.Event = reached) -> None:
            if now == stage:
                reached.set()

        await ended(open_scene(rounds.anew(), Surroundings(passed=passed)), rounds, reached)
        again = open_scene(place)
        await again.engine.start()
        await rounds.round_after(again)


async def ended(scene: Scene, rounds: Rounds, reached: asyncio.Event) -> None:
    """Begin, and do at the stage what the daemon does at its end: first the part, then answers."""
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(rounds.act_quietly(scene))
        await reached.wait()
        async with asyncio.timeout(FAREWELL):
            await scene.engine.shielded.cancel_all()
        scene.engine.close()
        asking.cancel()
        await asyncio.wait({asking})


@pytest.mark.requirement("taskspaces.asker-goes")
@pytest.mark.parametrize("kind", KINDS)
async def test_who_asked_may_go_while_anything_is_written_down(place: Path, kind: str) -> None:
    rounds = Rounds(place, kind)
    await rounds.begin()
    writes, has_gone = 0, True
    while has_gone:
        writes += 1
        asker = Asker()
        await rounds.round(watched(rounds.anew(), asker, writes), asker, left_whole)
        has_gone = not asker.tasks
    assert writes > 1


def watched(root: Path, asker: Asker, last: int) -> Scene:
    """An engine whose asker goes at this write."""
    plain = open_scene(root)
    plain.engine.close()
    journal = WatchedJournal(root / "state" / "taskspaces.db", asker, last)
    ground = replace(plain.ground, journal=journal)
    return Scene(root, Engine(ground), ground, plain.events)


async def left_whole(scene: Scene, kind: str, made: Taskspace | None) -> None:
    """No more than what must hold at once."""
    del kind, made
    await consistent(scene)


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_who_is_cancelled_while_something_is_written_waits_until_it_is(
    tmp_path: Path,
) -> None:
    journal = TaskStore(tmp_path / "state" / "taskspaces.db")
    begun, may_go_on, done = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def write(connection: sqlite3.Connection) -> None:
        del connection
        loop.call_soon_threadsafe(begun.set)
        may_go_on.wait(45)
        done.set()

    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(journal.write(write))
        await begun.wait()
        writing.cancel()
        loop.call_later(0.05, may_go_on.set)
        await asyncio.wait({writing})

    assert done.is_set()
    assert writing.cancelled()
    journal.close()


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_work_that_is_cut_stops_and_who_asked_hears_no_answer() -> None:
    undertakings, begun = ShieldedTasks(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(undertakings.run_shielded(endless()))
        await begun.wait()
        assert not undertakings.is_empty
        await undertakings.cancel_all()
        await asyncio.wait({asking})

    assert asking.cancelled()
    assert undertakings.is_empty


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_what_fails_after_who_asked_has_gone_is_written_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    undertakings, begun, over = ShieldedTasks(), asyncio.Event(), asyncio.Event()

    async def failing() -> None:
        begun.set()
        await over.wait()
        raise TaskspaceError("the disk is full", "")

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(undertakings.run_shielded(failing()))
        await begun.wait()
        asking.cancel()
        over.set()
        await asyncio.wait({asking})
    with pytest.raises(TaskspaceError, match="disk is full"):
        await undertakings.run_shielded(failing())

    assert asking.cancelled()
    assert "the disk is full" in caplog.text
