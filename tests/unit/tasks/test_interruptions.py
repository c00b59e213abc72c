"""Operations stay consistent when their caller is canceled at any moment."""

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
from tests.support.task_harness import EngineOptions, Scene, open_scene

from localio.git import GitRunError
from symposium.tasks.engine import Engine
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.store import SHUTDOWN_TIMEOUT, Result, ShieldedTasks, TaskStore

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

See: TypeAlias = Callable[[Scene, str, Taskspace | None], Awaitable[None]]


@dataclass
class Caller:
    """The asyncio task that requests an operation, until it is canceled."""

    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def cancel(self) -> None:
        """Cancel the request, once."""
        if self.tasks:
            self.tasks.pop().cancel()


class WatchedJournal(TaskStore):
    """Cancels the caller in the middle of the given write."""

    def __init__(self, path: Path, caller: Caller, last: int) -> None:
        super().__init__(path)
        self._asker = caller
        self._left = last

    async def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Cancel the caller at the given write, then write."""
        self._left -= 1
        if self._left == 0:
            self._asker.cancel()
        return await super().write(work)


class Runs:
    """Runs of one operation, each in a fresh copy of a prepared directory."""

    def __init__(self, place: Path, kind: str) -> None:
        self._place, self._kind = place, kind
        self._kept = place.with_name("kept")
        self._made = ""

    async def begin(self) -> None:
        scene = open_scene(self._place)
        made = await prepare(scene, self._kind)
        self._made = made.id if made else ""
        scene.engine.close()
        shutil.copytree(self._place, self._kept, symlinks=True)

    async def run(self, scene: Scene, caller: Caller, see: See) -> None:
        """Run the operation, whose caller may be canceled; then check the result."""
        made = await self._of(scene)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(act(scene, self._kind, made))
            caller.tasks.append(task)
            await asyncio.wait({task})
        await see(scene, self._kind, made)
        scene.engine.close()

    async def act_quietly(self, scene: Scene) -> None:
        """Run the operation and ignore that the store is closed meanwhile."""
        with suppress(GitRunError, TaskspaceError):
            await act(scene, self._kind, await self._of(scene))

    async def check(self, scene: Scene) -> None:
        """Check the result after a restart."""
        await look(scene, self._kind, await self._of(scene))
        scene.engine.close()

    async def _of(self, scene: Scene) -> Taskspace | None:
        return await scene.engine.get(self._made) if self._made else None

    def restored(self) -> Path:
        """Restore the prepared directory."""
        shutil.rmtree(self._place)
        shutil.copytree(self._kept, self._place, symlinks=True)
        return self._place


@pytest.mark.requirement("taskspaces.asker-goes")
@pytest.mark.parametrize("kind", KINDS)
async def test_caller_can_be_canceled_at_any_stage(place: Path, kind: str) -> None:
    runs = Runs(place, kind)
    await runs.begin()
    for stage in stages_of(kind):
        caller = Caller()

        def cancel_at(passed: str, stage: str = stage, caller: Caller = caller) -> None:
            if passed == stage:
                caller.cancel()

        scene = open_scene(runs.restored(), EngineOptions(passed=cancel_at))
        await runs.run(scene, caller, look)
        assert not caller.tasks, f"{stage} was not reached"


@pytest.mark.requirement("taskspaces.ended-at-work")
@pytest.mark.parametrize("kind", KINDS)
async def test_engine_can_be_shut_down_at_any_stage(place: Path, kind: str) -> None:
    runs = Runs(place, kind)
    await runs.begin()
    for stage in stages_of(kind):
        reached = asyncio.Event()

        def passed(now: str, stage: str = stage, reached: asyncio.Event = reached) -> None:
            if now == stage:
                reached.set()

        await shut_down(open_scene(runs.restored(), EngineOptions(passed=passed)), runs, reached)
        again = open_scene(place)
        await again.engine.start()
        await runs.check(again)


async def shut_down(scene: Scene, runs: Runs, reached: asyncio.Event) -> None:
    """Start an operation; at the stage, shut down in the daemon's order: tasks, then answers."""
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(runs.act_quietly(scene))
        await reached.wait()
        async with asyncio.timeout(SHUTDOWN_TIMEOUT):
            await scene.engine.shielded.cancel_all()
        scene.engine.close()
        asking.cancel()
        await asyncio.wait({asking})


@pytest.mark.requirement("taskspaces.asker-goes")
@pytest.mark.parametrize("kind", KINDS)
async def test_caller_can_be_canceled_at_any_write(place: Path, kind: str) -> None:
    runs = Runs(place, kind)
    await runs.begin()
    writes, was_canceled = 0, True
    while was_canceled:
        writes += 1
        caller = Caller()
        await runs.run(watched(runs.restored(), caller, writes), caller, check_consistency)
        was_canceled = not caller.tasks
    assert writes > 1


def watched(root: Path, caller: Caller, last: int) -> Scene:
    """An engine whose caller is canceled at this write."""
    plain = open_scene(root)
    plain.engine.close()
    journal = WatchedJournal(root / "state" / "taskspaces.db", caller, last)
    context = replace(plain.context, journal=journal)
    return Scene(root, Engine(context), context, plain.events)


async def check_consistency(scene: Scene, kind: str, made: Taskspace | None) -> None:
    """Check only what must hold immediately."""
    del kind, made
    await consistent(scene)


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_canceled_writer_waits_until_the_write_is_done(
    tmp_path: Path,
) -> None:
    journal = TaskStore(tmp_path / "state" / "taskspaces.db")
    begun, may_continue, done = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def write(connection: sqlite3.Connection) -> None:
        del connection
        loop.call_soon_threadsafe(begun.set)
        may_continue.wait(45)
        done.set()

    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(journal.write(write))
        await begun.wait()
        writing.cancel()
        loop.call_later(0.05, may_continue.set)
        await asyncio.wait({writing})

    assert done.is_set()
    assert writing.cancelled()
    journal.close()


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_canceled_shielded_work_stops_without_an_answer() -> None:
    shielded, begun = ShieldedTasks(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(shielded.run_shielded(endless()))
        await begun.wait()
        assert not shielded.is_empty
        await shielded.cancel_all()
        await asyncio.wait({asking})

    assert asking.cancelled()
    assert shielded.is_empty


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_failure_after_the_caller_was_canceled_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shielded, begun, over = ShieldedTasks(), asyncio.Event(), asyncio.Event()

    async def failing() -> None:
        begun.set()
        await over.wait()
        raise TaskspaceError("the disk is full", "")

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(shielded.run_shielded(failing()))
        await begun.wait()
        asking.cancel()
        over.set()
        await asyncio.wait({asking})
    with pytest.raises(TaskspaceError, match="disk is full"):
        await shielded.run_shielded(failing())

    assert asking.cancelled()
    assert "the disk is full" in caplog.text
