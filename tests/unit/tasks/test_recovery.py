"""Recovery of interrupted operations at a start, and state after a failed write."""

import asyncio
import socket
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, git, there, tree_of

from symposium.tasks import tables
from symposium.tasks.deletion.trash import DeletionConsent, DeletionDecision, Requests
from symposium.tasks.engine_context import file_of
from symposium.tasks.model import Taskspace, TaskState
from symposium.tasks.setup import INTERRUPTED
from symposium.tasks.tables import Operation, OperationKind, load, save, unfinished
from symposium.tasks.task_discovery import check_all
from symposium.tasks.task_environment import is_unused
from symposium.tasks.task_files import read_task_file


def move(before: str, after: str) -> None:
    Path(before).rename(after)


async def begun(
    scene: Scene, task: Taskspace, kind: OperationKind, stage: str, standing: TaskState
) -> tuple[Scene, Taskspace, tuple[str, ...]]:
    """Restart the engine with this operation in progress; return the task after recovery."""

    def note(connection: sqlite3.Connection) -> None:
        save(connection, replace(task, standing=standing))
        tables.note(connection, Operation(task.id, kind, stage))

    await scene.context.journal.write(note)
    scene.engine.close()
    again = scene.again()
    lines = (await again.engine.start()).lines
    assert await again.context.journal.read(unfinished) == []
    assert (await again.engine.start()).lines == ()
    after = await again.engine.get(task.id)
    assert (known := read_task_file(file_of(after))) is not None
    assert known.taskspace == after
    return again, after, lines


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_deletion_interrupted_before_the_archive_is_undone(scene: Scene) -> None:
    made = await scene.make()
    (Path(made.worktree) / "work").write_text("x", encoding="utf-8")
    before = tree_of(Path(made.worktree))
    again, after, lines = await begun(
        scene, made, OperationKind.DELETE, "delete.recorded", TaskState.DELETING
    )

    assert lines == (f"{made.name}: was not deleted",)
    assert after.standing is TaskState.READY
    assert tree_of(Path(made.worktree)) == before
    again.engine.close()


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_creation_interrupted_after_the_worktree_can_be_retried(scene: Scene) -> None:
    made = await scene.make()
    again, after, lines = await begun(
        scene, made, OperationKind.CREATE, "create.worktree", TaskState.CREATING
    )

    assert after.standing is TaskState.SETUP_FAILED
    assert lines == (f"{made.name}: {after.reason}",)
    assert (await again.engine.retry(made.id)).standing is TaskState.READY
    again.engine.close()


@pytest.mark.requirement("taskspaces.ended-at-start")
@pytest.mark.parametrize("has_work", [False, True])
async def test_creation_interrupted_during_the_worktree_is_rolled_back_without_work_in_it(
    scene: Scene, *, has_work: bool
) -> None:
    made = await scene.made()
    if has_work:
        (Path(made.worktree) / "work").write_text("x", encoding="utf-8")

    def note(connection: sqlite3.Connection) -> None:
        save(connection, replace(made, standing=TaskState.CREATING))
        tables.note(connection, Operation(made.id, OperationKind.CREATE, "create.fetched"))

    await scene.context.journal.write(note)
    again = scene.again()
    lines = (await again.engine.start()).lines
    found = [each.standing for each in await again.engine.taskspaces()]
    again.engine.close()

    said = INTERRUPTED if has_work else "its creation was rolled back"
    assert lines == (f"{made.name}: {said}",)
    assert found == ([TaskState.SETUP_FAILED] if has_work else [])
    assert there(made.worktree) is has_work
    assert (made.branch in git("branch", "--list", "task/*", cwd=scene.clone)) is has_work
    assert (scene.root / "clone.tasks").exists() is has_work


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_undo_interrupted_at_its_last_stage_is_completed(scene: Scene) -> None:
    made = await scene.make()
    again, after, lines = await begun(
        scene, made, OperationKind.UNDO, "undo.restored", TaskState.READY
    )

    assert (after.standing, lines) == (TaskState.READY, (f"{made.name}: was restored",))
    again.engine.close()


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_landing_interrupted_before_it_moved_anything_changes_nothing(scene: Scene) -> None:
    made = await scene.make()
    scene.commit(Path(made.worktree), "mine", "unlanded")
    again, after, lines = await begun(
        scene, made, OperationKind.LAND, "land.recorded", TaskState.READY
    )

    assert (after.standing, lines) == (
        TaskState.READY,
        (f"{made.name}: landing was interrupted; land again",),
    )
    again.engine.close()


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_operation_that_cannot_be_ended_stays_with_its_reason(scene: Scene) -> None:
    made, nowhere = await scene.made(), str(scene.root / "nowhere")
    tasks = {
        OperationKind.DELETE: replace(
            made, id=f"{made.id[:-12]}{1:012}", name="lost", project=nowhere
        ),
        OperationKind.UNDO: replace(made, standing=TaskState.ARCHIVED),
    }

    def note(connection: sqlite3.Connection) -> None:
        for kind, each in tasks.items():
            save(connection, each)
            tables.note(connection, Operation(each.id, kind, f"{kind}.recorded"))
        tables.note(
            connection, Operation(f"{made.id[:-12]}{2:012}", OperationKind.LAND, "land.recorded")
        )

    await scene.context.journal.write(note)
    again = scene.again()
    lines = (await again.engine.start()).lines
    reasons = [(await again.engine.get(each.id)).reason for each in tasks.values()]
    left = await again.context.journal.read(unfinished)
    again.engine.close()

    trash = scene.root / "state" / "trash" / made.id
    assert reasons[0].startswith(f"delete cannot be recovered: {nowhere} does not exist")
    assert reasons[1].startswith(f"undo cannot be recovered: the archive {trash} cannot be read: ")
    assert sorted(lines) == sorted([f"lost: {reasons[0]}", f"{made.name}: {reasons[1]}"])
    assert {each.taskspace for each in left} >= {each.id for each in tasks.values()}


@pytest.mark.requirement("taskspaces.write-whole-or-not")
async def test_failed_write_changes_nothing_and_the_next_one_works(
    scene: Scene,
) -> None:
    made = await scene.make()
    journal = scene.context.journal

    def fail(connection: sqlite3.Connection) -> None:
        save(connection, replace(made, name="half"))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await journal.write(fail)
    before = await journal.read(lambda connection: load(connection, made.id))
    await journal.write(lambda connection: save(connection, replace(made, name="whole")))
    after = await journal.read(lambda connection: load(connection, made.id))

    assert before == made
    assert after == replace(made, name="whole")


@pytest.mark.requirement("taskspaces.missing")
async def test_check_of_all_worktrees_writes_only_changed_tasks(scene: Scene) -> None:
    noted = replace(await scene.make(), reason="its agent asks")
    gone = await scene.make("gone")
    await scene.context.put(noted)
    await scene.engine.queries.check_worktrees()
    first = await scene.engine.get(noted.id)
    move(gone.worktree, f"{gone.worktree}.away")
    await scene.engine.queries.check_worktrees()
    missing = await scene.context.journal.read(lambda connection: load(connection, gone.id))
    move(f"{gone.worktree}.away", gone.worktree)
    await scene.engine.queries.check_worktrees()
    back = await scene.context.journal.read(lambda connection: load(connection, gone.id))
    seen = await scene.engine.queries.checked(noted.id)

    assert first == noted
    assert seen == noted
    assert missing is not None
    assert (missing.standing, missing.reason) == (TaskState.MISSING, "its worktree is missing")
    assert back == gone


@pytest.mark.requirement("taskspaces.missing")
async def test_archived_task_is_not_missing(scene: Scene) -> None:
    made = await scene.make()
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await check_all(scene.context)

    assert not there(made.worktree)
    assert (await scene.engine.queries.checked(made.id)).standing is TaskState.ARCHIVED


@pytest.mark.requirement("taskspaces.ports")
def test_port_in_use_is_not_assigned() -> None:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port: int = listening.getsockname()[1]
        while_listening = is_unused(port)

    assert (while_listening, is_unused(port)) == (False, True)


@pytest.mark.requirement("taskspaces.delete-requests")
async def test_deletion_request_is_announced_when_added_and_when_removed() -> None:
    requests = Requests()
    pending: list[int] = []
    requests.on_change = lambda: pending.append(len(requests.pending()))
    late = await requests.ask("one", "done", expiry=0)
    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(requests.ask("one")) for _ in range(2)]
        await asyncio.sleep(0)
        other = requests.decide("two", DeletionDecision.DELETED)
        answered = requests.decide("one", DeletionDecision.DELETED)

    assert late is DeletionDecision.EXPIRED
    assert [each.result() for each in asking] == [
        DeletionDecision.DELETED,
        DeletionDecision.DELETED,
    ]
    assert (other, answered, requests.pending()) == (0, 2, [])
    assert pending == [1, 0, 1, 1, 0, 0]


@pytest.mark.requirement("taskspaces.delete-requests")
async def test_decision_reaches_the_request_that_still_waits() -> None:
    requests = Requests()
    async with asyncio.TaskGroup() as tasks:
        canceled, waiting = [tasks.create_task(requests.ask("one")) for _ in range(2)]
        await asyncio.sleep(0)
        expired = await requests.ask("one", expiry=0)
        canceled.cancel()
        answered = requests.decide("one", DeletionDecision.DELETED)

    assert (answered, expired) == (1, DeletionDecision.EXPIRED)
    assert canceled.cancelled()
    assert waiting.result() is DeletionDecision.DELETED


@pytest.mark.requirement("taskspaces.rollback-spares-others")
async def test_rollback_of_a_creation_keeps_a_branch_of_another_worktree(scene: Scene) -> None:
    made = await scene.make()
    other = scene.root / "mine"
    git("worktree", "unlock", made.worktree, cwd=scene.clone)
    git("worktree", "remove", "--force", made.worktree, cwd=scene.clone)
    git("worktree", "add", "-q", str(other), made.branch, cwd=scene.clone)

    def note(connection: sqlite3.Connection) -> None:
        save(connection, replace(made, standing=TaskState.CREATING))
        tables.note(connection, Operation(made.id, OperationKind.CREATE, "create.recorded"))

    await scene.context.journal.write(note)
    scene.engine.close()
    again = scene.again()
    lines = (await again.engine.start()).lines
    left = await again.engine.taskspaces()
    again.engine.close()

    assert lines == (f"{made.name}: its creation was rolled back",)
    assert left == []
    assert git("status", "--porcelain", "--branch", cwd=other).startswith(f"## {made.branch}")
    assert (other / "README.md").exists()


@pytest.mark.requirement("taskspaces.ended-at-start")
async def test_every_interrupted_operation_ends_at_the_next_start(scene: Scene) -> None:
    made = [await scene.make(name) for name in ("one", "two")]

    def note(connection: sqlite3.Connection) -> None:
        for each in made:
            save(connection, replace(each, standing=TaskState.DELETING))
            tables.note(connection, Operation(each.id, OperationKind.DELETE, "delete.recorded"))

    await scene.context.journal.write(note)
    scene.engine.close()
    again = scene.again()
    lines = (await again.engine.start()).lines
    found = [await again.engine.get(each.id) for each in made]
    again.engine.close()

    assert sorted(lines) == ["one: was not deleted", "two: was not deleted"]
    assert [each.standing for each in found] == [TaskState.READY] * 2
