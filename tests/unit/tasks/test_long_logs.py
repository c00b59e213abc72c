"""Long logs: newest lines, open questions, and warnings that are written once."""

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.task_harness import Scene

from symposium.tasks import tables
from symposium.tasks.model import Category, LogEntry
from symposium.tasks.store import TaskStore, upgrade_to_2
from symposium.tasks.tables import load_all

LINES = 100_000
AT = "2026-01-01T00:00:00.000Z"

VERSION_1 = """
CREATE TABLE taskspace (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, record BLOB NOT NULL
);
CREATE INDEX taskspace_project ON taskspace (project);
CREATE TABLE log (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, taskspace TEXT NOT NULL,
    at TEXT NOT NULL, category TEXT NOT NULL, message TEXT NOT NULL, evidence TEXT NOT NULL,
    acknowledged_at TEXT
);
CREATE INDEX log_taskspace ON log (taskspace, number);
CREATE TABLE ports (
    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, taskspace TEXT NOT NULL UNIQUE
);
CREATE TABLE operation (
    taskspace TEXT PRIMARY KEY, kind TEXT NOT NULL, stage TEXT NOT NULL, detail BLOB NOT NULL
);
PRAGMA user_version=1;
"""
"""The tables of version 1."""

WARNINGS = (
    r"""changes the same lines as 'it\'s "odd": yes': src/app.py""",
    """changes the same lines as "it's": src/app.py, b.py""",
    "80% of 2usd,10min is spent: 1.70 usd, 8.0 min, 3 turns",
    "costs in eur do not count against a budget in usd: no rate is known",
)
TOPICS = (
    r"""changes the same lines as 'it\'s "odd": yes': """,
    """changes the same lines as "it's": """,
    "80% of 2usd,10min is spent",
    WARNINGS[3],
)


async def fill(scene: Scene, taskspace: str, count: int) -> None:
    """Write many log lines directly to the store."""

    def write(connection: sqlite3.Connection) -> None:
        for number in range(count):
            entry = LogEntry(0, str(uuid4()), taskspace, AT, Category.INFO, f"line {number}")
            tables.append(connection, entry)

    await scene.context.journal.write(write)


@pytest.mark.requirement("taskspaces.long-log")
async def test_newest_lines_and_open_questions_are_found_after_100_000_lines(scene: Scene) -> None:
    made = await scene.made()
    records = scene.engine.records
    early = await records.signal(made.id, "the first question")
    await records.log(made.id, "done", "milestone", "commit abc")
    await fill(scene, made.id, LINES)
    late = await records.signal(made.id, "the last question")

    summary = await scene.engine.logs.summary(made.id)
    newest = await scene.engine.logs.latest(made.id, 2)
    await records.acknowledge(early.number)

    assert (summary.last, summary.waiting) == (late, 2)
    assert [each.message for each in newest] == [f"line {LINES - 1}", "the last question"]
    assert await scene.engine.logs.evidence(made.id) == "commit abc"
    assert (await scene.engine.logs.summary(made.id)).waiting == 1
    assert await scene.engine.logs.attention() == [late]


@pytest.mark.requirement("taskspaces.long-log")
@pytest.mark.parametrize(
    "look", [tables.count_open, tables.last_evidence, partial(tables.latest, most=1)]
)
async def test_summary_queries_use_an_index(
    scene: Scene, look: Callable[[sqlite3.Connection, str], object]
) -> None:
    seen: list[str] = []

    def plan(connection: sqlite3.Connection) -> list[str]:
        connection.set_trace_callback(seen.append)
        look(connection, "x")
        connection.set_trace_callback(None)
        rows = connection.execute(f"EXPLAIN QUERY PLAN {seen[0]}").fetchall()
        return [row[3] for row in rows]

    steps = await scene.context.journal.read(plan)

    assert all(step.startswith("SEARCH log USING") for step in steps), steps


@pytest.mark.requirement("taskspaces.warned-once")
async def test_warning_of_a_topic_is_written_once_in_a_long_log(scene: Scene) -> None:
    made, other = await scene.made(), await scene.make("other")
    records = scene.engine.records
    first = await records.warn_once(made.id, "topic", "topic: a.py")
    await fill(scene, made.id, 2_000)
    again = await records.warn_once(made.id, "topic", "topic: b.py")
    elsewhere = await records.warn_once(other.id, "topic", "topic: a.py")
    entries = await scene.engine.logs.entries(made.id, most=5_000)

    assert (first, again, elsewhere) == (True, False, True)
    assert [each.message for each in entries if each.category is Category.WARN] == ["topic: a.py"]


@pytest.fixture
async def old_file(scene: Scene, tmp_path: Path) -> Path:
    """The database of an earlier version, with two tasks, warnings, and an open question."""
    tasks = [await scene.make("one"), await scene.make("two")]
    rows = await scene.context.journal.read(
        lambda connection: connection.execute(
            "SELECT id, project, worktree, record FROM taskspace ORDER BY rowid"
        ).fetchall()
    )
    path = tmp_path / "old" / "taskspaces.db"
    path.parent.mkdir()
    old = sqlite3.connect(path)
    old.executescript(VERSION_1)
    old.executemany("INSERT INTO taskspace VALUES (?, ?, ?, ?)", rows)
    lines = [("warn", text) for text in (*WARNINGS, WARNINGS[2], "another warning")]
    for category, text in [*lines, ("question", "which?")]:
        old.execute(
            "INSERT INTO log (id, taskspace, at, category, message, evidence)"
            " VALUES (?, ?, ?, ?, ?, '')",
            (str(uuid4()), tasks[0].id, AT, category, text),
        )
    old.commit()
    old.close()
    return path


@pytest.mark.requirement("taskspaces.upgrade")
async def test_database_of_version_1_keeps_its_tasks_questions_and_warnings(
    scene: Scene, old_file: Path
) -> None:
    journal = TaskStore(old_file)
    known = await journal.read(load_all)
    questions = await journal.read(tables.open_questions)
    topics = await journal.read(
        lambda connection: connection.execute(
            "SELECT topic FROM log WHERE topic IS NOT NULL ORDER BY number"
        ).fetchall()
    )
    journal.close()
    again = TaskStore(old_file)
    after = await again.read(load_all)
    again.close()

    assert known == after == await scene.context.everything()
    assert [each.message for each in questions] == ["which?"]
    assert tuple(topic for (topic,) in topics) == TOPICS


@pytest.mark.requirement("taskspaces.upgrade-twice")
async def test_upgrade_changes_nothing_when_another_program_has_upgraded(old_file: Path) -> None:
    journal = TaskStore(old_file)
    columns = "SELECT sql FROM sqlite_master ORDER BY name"
    before = await journal.read(lambda connection: connection.execute(columns).fetchall())

    # Like a program that read the version before the other program upgraded it.
    await journal.write(upgrade_to_2)

    after = await journal.read(lambda connection: connection.execute(columns).fetchall())
    journal.close()
    assert after == before
