"""Rows of a task in the store: all of them go with it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from symposium.tasks import tables
from symposium.tasks.model import Category, Layout, LogEntry, Taskspace
from symposium.tasks.store import TaskStore
from symposium.tasks.tables import Operation, OperationKind

ONE, OTHER = [f"00000000-0000-4000-8000-{number:012}" for number in (1, 2)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TaskStore]:
    with closing(TaskStore(tmp_path / "state" / "tasks.db")) as opened:
        yield opened


def fill(connection: sqlite3.Connection, id_: str) -> None:
    """Insert one row of a task in each table."""
    tables.save(connection, Taskspace(id_, "/clone", Layout.BESIDE, "x", f"/{id_}", "x", "now"))
    tables.append(connection, LogEntry(0, f"line of {id_}", id_, "now", Category.INFO, "x"))
    tables.claim(connection, id_, 5, bool)
    tables.note(connection, Operation(id_, OperationKind.LAND, "land.recorded"))
    connection.execute("INSERT INTO guidance VALUES (?, 'a', 'b', 'c', 'now', 1)", (id_,))
    connection.execute("INSERT INTO resolution VALUES (?, '{}')", (id_,))


def tasks_of(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """The ids of the tasks in each table that has some."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    found: dict[str, tuple[str, ...]] = {}
    for (name,) in connection.execute(names).fetchall():
        column = "id" if name == "taskspace" else "taskspace"
        rows = connection.execute(f"SELECT {column} FROM {name} ORDER BY 1")  # noqa: S608 - the names are those of the store
        found[name] = tuple(id_ for (id_,) in rows)
    return found


@pytest.mark.requirement("taskspaces.purged-from-all-tables")
async def test_task_that_is_deleted_for_good_leaves_no_row_in_any_table(store: TaskStore) -> None:
    for each in (ONE, OTHER):
        await store.write(lambda connection, id_=each: fill(connection, id_))
    before = await store.read(tasks_of)

    await store.write(lambda connection: tables.forget(connection, ONE))

    assert set(before.values()) == {(ONE, OTHER)}
    assert await store.read(tasks_of) == dict.fromkeys(before, (OTHER,))


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_task_has_an_unfinished_operation_among_those_of_others(store: TaskStore) -> None:
    def note(connection: sqlite3.Connection) -> list[bool]:
        for each in (ONE, OTHER):
            tables.note(connection, Operation(each, OperationKind.LAND, "land.recorded"))
        tables.end(connection, "none")
        return [tables.is_unfinished(connection, each) for each in (ONE, OTHER, "none")]

    assert await store.write(note) == [True, True, False]


@pytest.mark.requirement("taskspaces.store-private")
def test_store_and_the_files_beside_it_are_for_the_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "tasks.db"
    path.touch(mode=0o644)

    with closing(TaskStore(path)):
        modes = {each.name: oct(each.stat().st_mode & 0o777) for each in tmp_path.iterdir()}

    names = ("tasks.db", "tasks.db-shm", "tasks.db-wal")
    assert modes == dict.fromkeys(names, "0o600")
