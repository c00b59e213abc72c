"""Limits of tasks: budgets of children, ports, the lock, and the record of guidance."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import Scene

from symposium.tasks import logs, tables
from symposium.tasks.model import (
    Layout,
    LimitError,
    Limits,
    Ports,
    Taskspace,
    TaskspaceError,
    TaskState,
)
from symposium.tasks.repository import EngineLock
from symposium.tasks.spawning import shared
from symposium.tasks.tables import FIRST, LAST, SPACING

PARENT = Taskspace(
    "t", "/p", Layout.BESIDE, "name", "/w", "b", "2026-01-01T00:00:00Z", standing=TaskState.READY
)
BOUND = Limits(depth=2, children=5, minutes=60, costs={"usd": 3.0}, turns=10)


@pytest.mark.requirement("taskspaces.spawn-limits")
@pytest.mark.parametrize(
    ("have", "spawned", "wanted", "expected"),
    [
        (BOUND, 0, None, replace(BOUND, depth=1, children=2)),
        (BOUND, 3, None, replace(BOUND, depth=1, children=0)),
        (BOUND, 4, None, replace(BOUND, depth=1, children=0)),
        (BOUND, 0, replace(BOUND, depth=9, children=9), replace(BOUND, depth=1, children=4)),
        (BOUND, 1, replace(BOUND, depth=0, children=2), replace(BOUND, depth=0, children=2)),
        (BOUND, 0, replace(BOUND, depth=-3, children=-3), replace(BOUND, depth=0, children=0)),
        (replace(BOUND, depth=1), 0, BOUND, replace(BOUND, depth=0, children=0)),
        (
            BOUND,
            0,
            Limits(1, 1, 90, {"usd": 9.0, "eur": 1.0}, 99),
            Limits(1, 1, 60, {"usd": 3.0, "eur": 1.0}, 10),
        ),
        (
            Limits(2, 5),
            0,
            Limits(1, 1, 9, {"usd": 2.0}, 7),
            Limits(1, 1, 9, {"usd": 2.0}, 7),
        ),
        (BOUND, 0, Limits(1, 1), Limits(1, 1, 60, {"usd": 3.0}, 10)),
    ],
)
def test_limits_of_a_child_never_exceed_those_of_its_parent(
    have: Limits, spawned: int, wanted: Limits | None, expected: Limits
) -> None:
    assert shared(replace(PARENT, limits=have, spawned=spawned), wanted) == expected


@pytest.mark.requirement("taskspaces.spawn-limits")
@pytest.mark.parametrize(("limits", "spawned"), [(replace(BOUND, depth=0), 0), (BOUND, 5)])
def test_parent_at_its_limits_cannot_spawn(limits: Limits, spawned: int) -> None:
    with pytest.raises(LimitError):
        shared(replace(PARENT, limits=limits, spawned=spawned), None)


@pytest.fixture
def ports() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE ports (first INTEGER PRIMARY KEY, count INTEGER, taskspace TEXT UNIQUE)"
    )
    return connection


def free(_: int) -> bool:
    return True


def taken(_: int) -> bool:
    return False


@pytest.mark.requirement("taskspaces.ports")
def test_block_of_ports_is_entirely_free_and_assigned_once(ports: sqlite3.Connection) -> None:
    with closing(ports):
        last = FIRST + SPACING - 1
        one = tables.claim(ports, "one", 3, free)
        again = tables.claim(ports, "one", 9, free)
        two = tables.claim(ports, "two", 3, lambda port: port != FIRST + SPACING + 2)
        tables.release(ports, "one")
        three = tables.claim(ports, "three", SPACING, lambda port: port != last)
        four = tables.claim(ports, "four", SPACING - 1, lambda port: port != last)

    assert (one, again) == (Ports(FIRST, 3), Ports(FIRST, 3))
    assert two == Ports(FIRST + 2 * SPACING, 3)
    assert three == Ports(FIRST + SPACING, SPACING)
    assert four == Ports(FIRST, SPACING - 1)


@pytest.mark.requirement("taskspaces.ports")
@pytest.mark.parametrize(("count", "is_free"), [(0, free), (SPACING + 1, free), (1, taken)])
def test_unavailable_ports_are_refused(
    ports: sqlite3.Connection, count: int, is_free: Callable[[int], bool]
) -> None:
    with closing(ports), pytest.raises(TaskspaceError):
        tables.claim(ports, "one", count, is_free)


@pytest.mark.requirement("taskspaces.ports")
def test_last_block_of_ports_is_used_and_ends_in_the_range(ports: sqlite3.Connection) -> None:
    with closing(ports):
        seen: list[int] = []
        with pytest.raises(TaskspaceError):
            tables.claim(ports, "one", SPACING, lambda port: bool(seen.append(port)))

    assert seen == list(range(FIRST, LAST, SPACING))
    assert LAST <= 1 << 16


@pytest.mark.requirement("taskspaces.one-engine")
def test_lock_is_held_by_one_engine_at_a_time(tmp_path: Path) -> None:
    one, two = EngineLock(tmp_path / "home" / "lease"), EngineLock(tmp_path / "home" / "lease")
    one.take(0)
    one.take(0)
    with pytest.raises(TaskspaceError, match="locked by another engine"):
        two.take(0)
    two.give_back()
    with pytest.raises(TaskspaceError):
        two.take(0)
    one.give_back()
    two.take(0)
    two.give_back()

    assert (tmp_path / "home" / "lease").stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("guidance.read-visible")
async def test_newest_guidance_readings_of_a_task_are_kept_and_counted(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_READINGS", 2)
    guidance = scene.engine.guidance
    await guidance.note("other", "a", "user", "0")
    for text in ("a", "b", "b", "c"):
        await guidance.note("one", text, "user", "0")
    await guidance.note("one", "c", "user", "1")

    assert [(each.id, each.sha256, each.count) for each in await guidance.of("one")] == [
        ("c", "0", 1),
        ("c", "1", 1),
    ]
    assert [each.id for each in await guidance.of("other")] == ["a"]
    assert await guidance.of("unknown") == []
