"""Writes that wait for the disk share one transaction."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection, IntegrityError

import pytest

from symposium.tasks.model import TaskspaceError
from symposium.tasks.store import TaskStore

pytestmark = pytest.mark.requirement("tasks.shared-commit")

INSERT = "INSERT INTO ports VALUES (?, 1, ?)"
OTHERS = range(2, 7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TaskStore]:
    with closing(TaskStore(tmp_path / "tasks.db")) as opened:
        yield opened


def insert(number: int) -> Callable[[Connection], int]:
    """Insert a row of this number, and return the number."""

    def work(connection: Connection) -> int:
        connection.execute(INSERT, (number, str(number)))
        return number

    return work


async def numbers(store: TaskStore) -> list[int]:
    rows = await store.read(lambda connection: connection.execute("SELECT first FROM ports"))
    return sorted(first for (first,) in rows)


async def together(
    store: TaskStore, *works: Callable[[Connection], object]
) -> tuple[list[object], list[str]]:
    """Start these writes while another one is at work; their outcomes, and all statements."""
    begun, released, statements = threading.Event(), threading.Event(), list[str]()

    def slow(connection: Connection) -> None:
        connection.set_trace_callback(statements.append)
        begun.set()
        released.wait()

    async def outcome(work: Callable[[Connection], object]) -> object:
        try:
            return await store.write(work)
        except (TaskspaceError, ValueError) as error:
            return error

    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(store.write(slow))
        await asyncio.to_thread(begun.wait)
        waiting = [tasks.create_task(outcome(work)) for work in works]
        await asyncio.sleep(0)
        released.set()
    assert first.done()
    await store.read(lambda connection: connection.set_trace_callback(None))
    return [each.result() for each in waiting], statements


async def test_writes_that_wait_share_one_commit(store: TaskStore) -> None:
    outcomes, statements = await together(store, *map(insert, OTHERS))

    assert outcomes == [*OTHERS]
    assert await numbers(store) == [*OTHERS]
    assert statements.count("COMMIT") == 2


async def test_write_that_raises_changes_nothing_and_fails_alone(store: TaskStore) -> None:
    def fails(connection: Connection) -> None:
        insert(50)(connection)
        raise ValueError("no")

    outcomes, statements = await together(store, insert(2), fails, insert(3), insert(3), insert(4))

    assert [type(each) for each in outcomes] == [int, ValueError, int, TaskspaceError, int]
    assert isinstance(outcomes[3], TaskspaceError)
    assert isinstance(outcomes[3].__cause__, IntegrityError)
    assert str(store.path) in outcomes[3].message
    assert await numbers(store) == [2, 3, 4]
    assert statements.count("COMMIT") == 2


async def test_full_disk_fails_each_write_and_leaves_no_change(store: TaskStore) -> None:
    def fill(connection: Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")
        connection.execute(INSERT, (9, "9" * 100_000))

    outcomes, _ = await together(store, insert(2), fill, insert(3))

    assert isinstance(outcomes[1], TaskspaceError)
    written = [each for each in outcomes if isinstance(each, int)]
    assert await numbers(store) == written
    await store.read(lambda connection: connection.execute("PRAGMA max_page_count=100000"))
    assert await store.write(insert(4)) == 4
    assert await numbers(store) == [*written, 4]
