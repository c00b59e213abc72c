"""Writes that wait for the disk share one transaction."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import Connection, IntegrityError

import pytest

from symposium.tasks import store as store_module
from symposium.tasks.model import TaskspaceError
from symposium.tasks.store import ShieldedTasks, TaskStore

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


@pytest.mark.requirement("tasks.shared-commit")
async def test_writes_that_wait_share_one_commit(store: TaskStore) -> None:
    outcomes, statements = await together(store, *map(insert, OTHERS))

    assert outcomes == [*OTHERS]
    assert await numbers(store) == [*OTHERS]
    assert statements.count("COMMIT") == 2


@pytest.mark.requirement("tasks.shared-commit")
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


@pytest.mark.requirement("tasks.shared-commit")
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


@pytest.mark.requirement("tasks.shared-commit")
async def test_single_write_that_raises_changes_nothing_and_the_next_one_works(
    store: TaskStore,
) -> None:
    def fail(connection: Connection) -> None:
        insert(1)(connection)
        raise ValueError("no")

    def fail_in_sqlite(connection: Connection) -> None:
        insert(2)(connection)
        connection.execute("SELECT missing")

    with pytest.raises(ValueError, match="no"):
        await store.write(fail)
    with pytest.raises(TaskspaceError, match="no such column"):
        await store.write(fail_in_sqlite)
    assert await store.write(insert(3)) == 3
    assert await numbers(store) == [3]


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_canceled_caller_of_a_write_waits_until_it_is_saved(store: TaskStore) -> None:
    begun, released = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(connection: Connection) -> None:
        insert(1)(connection)
        loop.call_soon_threadsafe(begun.set)
        released.wait()

    async with asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(store.write(slow))
        await begun.wait()
        done: set[asyncio.Task[None]] = set()
        for _ in range(2):
            caller.cancel()
            done |= (await asyncio.wait({caller}, timeout=0.01))[0]
        released.set()

    assert (done, caller.cancelled()) == (set(), True)
    assert await numbers(store) == [1]


@pytest.mark.requirement("taskspaces.write-whole-or-not")
async def test_failed_commit_is_rolled_back_and_the_next_write_works(store: TaskStore) -> None:
    await store.read(lambda connection: connection.execute("PRAGMA foreign_keys=ON"))
    await store.write(
        lambda connection: connection.execute(
            "CREATE TABLE child (parent REFERENCES ports (first) DEFERRABLE INITIALLY DEFERRED)"
        )
    )

    def orphan(connection: Connection) -> None:
        insert(2)(connection)
        connection.execute("INSERT INTO child VALUES (7)")

    with pytest.raises(TaskspaceError) as failed:
        await store.write(orphan)

    reason = f"cannot write {store.path}: FOREIGN KEY constraint failed"
    assert (failed.value.message, failed.value.hint) == (
        reason,
        "free space on its file system, or make the file writable",
    )
    assert await store.write(insert(3)) == 3
    assert await numbers(store) == [3]


@pytest.mark.requirement("taskspaces.store-refused")
async def test_store_that_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    damaged, newer, folder = [tmp_path / name for name in ("damaged", "newer", "folder")]
    damaged.write_bytes(b"no database" * 100)
    with closing(TaskStore(newer)) as opened:
        await opened.read(lambda connection: connection.execute("PRAGMA user_version=3"))
    with closing(TaskStore(old := tmp_path / "old")) as opened:
        # Its upgrade fails: it has the columns of version 2.
        await opened.read(lambda connection: connection.execute("PRAGMA user_version=1"))
    folder.mkdir()
    (tmp_path / "file").touch()
    errors: dict[str, tuple[str, str]] = {}
    for path in (damaged, newer, old, folder, tmp_path / "file" / "tasks.db"):
        with pytest.raises(TaskspaceError) as caught:
            TaskStore(path)
        errors[path.name] = caught.value.message, caught.value.hint

    moved = "move it away; the data of its tasks is also in their taskspace.json"
    space = "free space on its file system, or make the file writable"
    assert errors == {
        "damaged": (f"cannot use {damaged}: file is not a database", moved),
        "newer": (f"{newer} was written by a newer version", "update Symposium"),
        "old": (f"cannot write {old}: duplicate column name: name", space),
        "folder": (f"cannot use {folder}: unable to open database file", space),
        "tasks.db": (f"cannot write {tmp_path / 'file'}: File exists", ""),
    }


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_repeatedly_canceled_caller_waits_for_its_work_and_logs_its_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shielded, begun, released = ShieldedTasks(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await released.wait()
        raise ValueError("no")

    async with asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(shielded.run_shielded(work()))
        await begun.wait()
        for _ in range(2):
            caller.cancel()
            await asyncio.sleep(0)
        is_waiting = not caller.done() and not shielded.is_empty
        released.set()

    assert is_waiting
    assert caller.cancelled()
    assert shielded.is_empty
    assert [each.getMessage() for each in caplog.records] == [
        "failed after its caller was canceled: no"
    ]


@pytest.mark.requirement("taskspaces.ended-at-work")
async def test_shutdown_cancels_work_and_waits_for_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shielded, begun = ShieldedTasks(), asyncio.Event()
    steps: list[str] = []

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("ended")

    async with asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(shielded.run_shielded(work()))
        await begun.wait()
        await shielded.cancel_all()
        steps.append("shut down")

    assert shielded.is_stopped
    assert steps == ["ended", "shut down"]
    assert caller.cancelled()
    assert caplog.records == []


@pytest.mark.requirement("taskspaces.ended-at-work")
async def test_shutdown_waits_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SHUTDOWN_TIMEOUT", 0.0)
    shielded, begun, released = ShieldedTasks(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await released.wait()

    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(shielded.run_shielded(work()))
        await begun.wait()
        await shielded.cancel_all()
        is_left = not shielded.is_empty
        released.set()

    assert is_left


@pytest.mark.requirement("taskspaces.failure-reported")
async def test_only_a_failed_rollback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    shielded = ShieldedTasks()

    async def rollback(error: Exception | None) -> None:
        if error is not None:
            raise error

    await shielded.after_failure(rollback(None))
    quiet = list(caplog.records)
    await shielded.after_failure(rollback(ValueError("no")))

    assert quiet == []
    assert [each.getMessage() for each in caplog.records] == ["a rollback failed: no"]
