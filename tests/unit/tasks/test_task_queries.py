"""Queries of tasks by index: pages of the list, names, families."""

import sqlite3
from dataclasses import replace
from uuid import UUID

import pytest
from tests.support.task_harness import Scene

from symposium.tasks.model import Layout, Taskspace, TaskState
from symposium.tasks.queries import Page
from symposium.tasks.tables import save


def task(number: int, name: str = "", parent: int | None = None) -> Taskspace:
    return Taskspace(
        id=id_of(number),
        project="/p",
        layout=Layout.BESIDE,
        name=name or f"task {number}",
        worktree=f"/p.tasks/{number}",
        branch=f"symposium/task-{number}",
        created_at="",
        activated_at=f"2026-01-{number:02}T00:00:00.000Z",
        standing=TaskState.FINISHED,
        parent=None if parent is None else id_of(parent),
    )


def id_of(number: int) -> str:
    return str(UUID(int=(number << 96) + 1))


def archived(each: Taskspace) -> Taskspace:
    return replace(each, standing=TaskState.ARCHIVED, archived_at="2026-02-01T00:00:00.000Z")


async def store(scene: Scene, *tasks: Taskspace) -> None:
    def write(connection: sqlite3.Connection) -> None:
        for each in tasks:
            save(connection, each)

    await scene.context.journal.write(write)


async def numbers(scene: Scene, page: Page) -> tuple[list[int], int]:
    found, total = await scene.engine.queries.page(page)
    return [UUID(each.id).int >> 96 for each in found], total


@pytest.mark.requirement("tasks.list-pages")
async def test_page_lists_urgent_tasks_first_then_recently_used_ones(scene: Scene) -> None:
    await store(scene, *(task(number) for number in range(1, 6)), archived(task(9)))
    urgent = (id_of(2), id_of(1))

    assert await numbers(scene, Page()) == ([5, 4, 3, 2, 1, 9], 6)
    assert await numbers(scene, Page(is_archived=False)) == ([5, 4, 3, 2, 1], 5)
    assert await numbers(scene, Page(limit=3, first=urgent)) == ([2, 1, 5], 6)
    assert await numbers(scene, Page(after=1, limit=2, first=urgent)) == ([1, 5], 6)
    assert await numbers(scene, Page(after=3, limit=2, first=urgent)) == ([4, 3], 6)
    assert await numbers(scene, Page(after=6, limit=2)) == ([], 6)
    assert await numbers(scene, Page(project=str(scene.clone))) == ([], 0)


@pytest.mark.requirement("tasks.find")
async def test_task_is_found_by_id_id_prefix_name_or_branch(scene: Scene) -> None:
    old = archived(task(4, "twice"))
    await store(scene, task(1), task(2, "twice"), task(3, "twice"), old, task(5, "gone"))
    await store(scene, archived(task(5, "gone")), task(6, id_of(1)))

    async def named(text: str) -> list[int]:
        return [UUID(each.id).int >> 96 for each in await scene.engine.queries.named(text)]

    assert await named(id_of(1).upper()) == [1]
    assert await named("twice") == [2, 3]
    assert await named("gone") == [5]
    assert await named("symposium/task-3") == await named("task-3") == [3]
    assert await named(id_of(1)[:8]) == [1]
    assert await named("0000") == [1, 2, 3, 6]
    assert await named("000") == await named("") == await named("no such task") == []


@pytest.mark.requirement("tasks.budget")
async def test_family_is_the_ancestors_and_all_their_descendants(scene: Scene) -> None:
    tasks = [task(1), task(2, parent=1), task(3, parent=1), task(4, parent=3), task(5)]
    await store(scene, *tasks)
    found = [await scene.engine.queries.family(id_of(number)) for number in (1, 4, 5)]

    assert found == [tasks[:4], tasks[:4], tasks[4:]]


@pytest.mark.requirement("tasks.list-pages")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT record FROM taskspace WHERE name = 'x' ORDER BY rowid",
        "SELECT record FROM taskspace WHERE branch IN ('x', 'y') ORDER BY rowid",
        "SELECT record FROM taskspace WHERE id >= 'x' AND id < 'y' ORDER BY rowid",
        "SELECT record FROM taskspace WHERE standing = 'ready' AND reason <> '' ORDER BY rowid",
        (
            "SELECT record FROM taskspace WHERE is_archived = 0 AND id NOT IN"
            " (SELECT value FROM json_each('[]')) ORDER BY is_archived, activated_at DESC, rowid"
            " LIMIT 100 OFFSET 0"
        ),
    ],
)
async def test_list_query_uses_an_index(scene: Scene, sql: str) -> None:
    rows = await scene.context.journal.read(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
    )
    steps = [row[3] for row in rows]

    assert steps[0].startswith("SEARCH taskspace USING INDEX"), steps
    assert "activated_at" not in sql or not any("TEMP B-TREE" in step for step in steps), steps
