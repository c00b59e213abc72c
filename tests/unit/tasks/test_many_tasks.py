"""Start, list, and lookup need as many queries and git commands for 200 tasks as for 20."""

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.task_harness import GIT, Scene, git
from tests.support.task_views import asked, serve

from symposium.bus.messages.tasks import ListInbox, ListTaskspaces, ShowTaskspace
from symposium.tasks.creation import CreateRequest
from symposium.tasks.engine_context import file_of
from symposium.tasks.handlers.overlap_watch import OverlapWatcher
from symposium.tasks.model import Layout, Limits, Taskspace, TaskState
from symposium.tasks.overlaps import BASE
from symposium.tasks.projects import make_project
from symposium.tasks.queries import Page
from symposium.tasks.reconciliation import PIECE, reconcile
from symposium.tasks.tables import forget, save

FEW = 20
MANY = 200

ONE = 7
"""The task that is looked up; a view of it needs no git, since it is missing."""

Work = Callable[[Scene], Awaitable[object]]


def task(scene: Scene, number: int, standing: TaskState = TaskState.FINISHED) -> Taskspace:
    """A task of one of ten projects; the folders of both are missing."""
    at = f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z"
    project = scene.root / f"project-{number % 10}"
    return Taskspace(
        id=str(UUID(int=(number << 96) + 1)),
        project=str(project),
        layout=Layout.BESIDE,
        name=f"task {number}",
        worktree=str(project.with_suffix(".tasks") / str(number)),
        branch=f"symposium/task-{number}",
        created_at=at,
        activated_at=at,
        base="refs/heads/main",
        standing=TaskState.MISSING if number == ONE else standing,
    )


async def store(scene: Scene, tasks: Sequence[Taskspace]) -> None:
    def write(connection: sqlite3.Connection) -> None:
        for each in tasks:
            save(connection, each)

    await scene.context.journal.write(write)


async def queries(scene: Scene, work: Work) -> list[str]:
    """SQL statements that `work` runs."""
    said: list[str] = []
    await scene.context.journal.read(lambda link: link.set_trace_callback(said.append))
    await work(scene)
    await scene.context.journal.read(lambda link: link.set_trace_callback(None))
    return said


@contextmanager
def counted_git(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Callable[[], list[str]]]:
    """Put a recording git into the path; yield a function that returns its latest arguments."""
    folder.mkdir()
    noted = folder / "noted"
    script = folder / "git"
    script.write_text(f'#!/bin/sh\necho "$*" >> {noted}\nexec {GIT} "$@"\n', encoding="utf-8")
    script.chmod(0o755)

    def take() -> list[str]:
        lines = noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines

    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        yield take


async def start(scene: Scene) -> None:
    await scene.engine.start()


async def one_page(scene: Scene) -> None:
    page, _ = await scene.engine.queries.page(Page(limit=10, is_archived=False))
    assert len(page) == 10


async def by_name(scene: Scene) -> None:
    assert len(await scene.engine.queries.named(f"task {ONE}")) == 1


async def by_folder(scene: Scene) -> None:
    known = task(scene, ONE)
    worktree, home = Path(known.worktree) / "src", file_of(known).parent / "x"
    assert [await scene.engine.find(each) for each in (worktree, home)] == [known, known]
    assert await scene.engine.find(scene.root) is None


async def listed(scene: Scene) -> None:
    handlers = serve(scene.engine, scene.root / "served").handlers
    page = await handlers.answers().requests["list_taskspaces"](
        ListTaskspaces(limit=10, is_archived=False, is_urgent_first=True), asked()
    )
    assert len(page.taskspaces) == 10


async def inbox(scene: Scene) -> None:
    answers = serve(scene.engine, scene.root / "served").handlers.answers()
    await answers.requests["list_inbox"](ListInbox(), asked())


async def shown(scene: Scene) -> None:
    answers = serve(scene.engine, scene.root / "served").handlers.answers()
    message = ShowTaskspace(taskspace_uuid=task(scene, ONE).id)
    await answers.requests["show_taskspace"](message, asked())


@pytest.mark.requirement("tasks.scale-queries")
@pytest.mark.parametrize("work", [start, one_page, by_name, by_folder, listed, inbox, shown])
async def test_number_of_queries_does_not_grow_with_the_number_of_tasks(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    counts: list[tuple[int, int]] = []
    with counted_git(tmp_path / "bin", monkeypatch) as noted:
        for count in (FEW, MANY):
            await store(scene, [task(scene, number) for number in range(count)])
            counts.append((len(await queries(scene, work)), len(noted())))

    assert counts[0] == counts[1]
    assert counts[0][0] > 0


@pytest.mark.requirement("tasks.scale-log")
async def test_log_of_a_task_is_read_without_git(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    await scene.engine.records.log(made.id, "half", "milestone")
    show = serve(scene.engine, scene.root / "served").handlers.answers().requests["show_taskspace"]
    with counted_git(tmp_path / "bin", monkeypatch) as noted:
        log = await show(ShowTaskspace(taskspace_uuid=made.id, is_whole=False), asked())
        for_log = noted()
        whole = await show(ShowTaskspace(taskspace_uuid=made.id), asked())
        for_all = noted()

    assert [each.message for each in log.log] == ["half"]
    assert (log.log, log.taskspace) == (whole.log, whole.taskspace)
    assert for_log == []
    assert for_all != []
    assert whole.snapshots != ()


@pytest.mark.requirement("tasks.scale-start")
async def test_start_checks_no_worktree_and_reconciling_checks_all(scene: Scene) -> None:
    tasks = [task(scene, number, TaskState.READY) for number in range(FEW) if number != ONE]
    await store(scene, tasks)

    lines = await scene.engine.start()
    after_start = [await scene.engine.get(each.id) for each in tasks]
    found: list[str] = []
    await scene.engine.reconcile(found.append)

    assert lines.lines == ()
    assert after_start == tasks
    assert {(await scene.engine.get(each.id)).standing for each in tasks} == {TaskState.MISSING}
    assert {f"{each.name}: its worktree is missing" for each in tasks} < set(found)
    assert not any(file_of(each).exists() for each in tasks)


@pytest.mark.requirement("tasks.scale-start")
async def test_reconciling_pauses_and_continues_after_a_failure(scene: Scene) -> None:
    made = await scene.made()
    await store(scene, [task(scene, number) for number in range(3 * PIECE)])
    file_of(made).unlink()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    found: list[str] = []
    await reconcile(scene.context, found.append, pause)

    assert file_of(made).exists()
    assert len(pauses) >= 3
    assert any("project-3" in each for each in found)


@pytest.mark.requirement("tasks.scale-start")
async def test_reconciling_finds_a_task_that_only_its_file_knows(scene: Scene) -> None:
    made = replace(await scene.made(), agent="mine", limits=Limits(children=3))
    await scene.context.put(made)
    await scene.engine.records.log(made.id, "half way", "milestone")
    await scene.context.mirror(made.id)
    archived = replace(made, id=f"{made.id[:-12]}{1:012}", standing=TaskState.ARCHIVED, ports=None)
    await scene.context.put(archived)
    await scene.context.journal.write(lambda connection: forget(connection, made.id))
    found: list[str] = []

    await scene.engine.reconcile(found.append)

    assert found == ["Fix login: found on the disk"]
    assert await scene.engine.get(made.id) == made
    assert [each.message for each in await scene.engine.logs.entries(made.id)] == ["half way"]


@pytest.mark.requirement("tasks.scale-queries")
async def test_missing_base_is_looked_up_once_for_all_tasks(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = scene.root / "Sample.symposium"
    opened = await make_project(project, "Sample", str(scene.upstream), "2026-01-01T00:00:00Z")
    settings = project / "project.json"
    words = json.loads(settings.read_text(encoding="utf-8")) | {"defaultBranch": "none"}
    settings.write_text(json.dumps(words), encoding="utf-8")
    counts: list[tuple[int, int]] = []
    page = Page(project=str(project))
    with counted_git(tmp_path / "bin", monkeypatch) as noted:
        for count in (2, 9):
            for number in range(count):
                id_ = str(UUID(int=(number << 96) + 5))
                home = opened.project.places(id_, "").home
                home.mkdir(exist_ok=True)
                text = json.dumps({"id": id_, "name": f"task {number}"})
                (home / "taskspace.json").write_text(text, encoding="utf-8")
            await scene.engine.queries.page(page)
            noted()
            said = await queries(scene, lambda scene: scene.engine.queries.page(page))
            counts.append((len(said), len(noted())))

    assert (await scene.engine.queries.page(page))[1] == 9
    assert counts[0] == counts[1]
    assert counts[0][1] > 0


@pytest.mark.requirement("tasks.scale-queries")
async def test_task_file_is_found_without_listing_the_folder(scene: Scene) -> None:
    made = [await scene.make(name) for name in ("one", "two")]
    upper = file_of(made[1]).parent.with_name(f"task-{made[1].id.upper()}")
    file_of(made[1]).parent.rename(upper)
    read: list[str] = []
    is_over = False

    def note(event: str, words: tuple[object, ...]) -> None:
        if event in {"os.listdir", "os.scandir"} and not is_over:
            read.append(f"{event} {words[0]}")

    sys.addaudithook(note)
    found = [file_of(each) for each in made]
    is_over = True

    assert read == []
    assert [each.exists() for each in found] == [True, True]
    assert found[1].parent == upper


async def changes(scene: Scene, name: str, *commands: Sequence[str]) -> Taskspace:
    """Create a task with one commit, by these git commands or file contents."""
    made = await scene.make(name)
    for words in commands:
        if words[0] == "git":
            git(*words[1:], cwd=Path(made.worktree))
        else:
            path = Path(made.worktree) / words[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(words[1], encoding="utf-8")
    git("add", "-A", cwd=Path(made.worktree))
    git("commit", "-qm", name, cwd=Path(made.worktree))
    return made


@pytest.mark.requirement("tasks.scale-radar")
async def test_only_tasks_that_may_conflict_are_merged(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await changes(scene, "one", ["README.md", "mine\n"])
    two = await changes(scene, "two", ["README.md", "theirs\n"])
    for number in range(4):
        await changes(scene, f"other {number}", [f"new/{number}", "text\n"])
    with counted_git(tmp_path / "bin", monkeypatch) as noted:
        overlaps = await scene.engine.radar(scene.clone)
        merges = [each for each in noted() if " merge-tree --write-tree " in each]
        again = await scene.engine.radar(scene.clone)
        merges_again = [each for each in noted() if " merge-tree --write-tree " in each]

    assert [{each.first, each.second} for each in overlaps] == [{one.id, two.id}]
    assert again == overlaps
    # Six merges with the base, and one of two tasks.
    assert len(merges) == 7
    assert merges_again == []
    shutil.rmtree(two.worktree)
    assert await scene.engine.radar(scene.clone) == [], "a task without its worktree is left out"


@pytest.mark.requirement("tasks.scale-radar")
async def test_only_a_task_that_has_changed_is_merged_again(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await changes(scene, "one", ["new/one", "text\n"])
    for number in range(2):
        await changes(scene, f"other {number}", [f"new/{number}", "text\n"])
    await scene.engine.radar(scene.clone)
    (Path(made.worktree) / "more").write_text("more\n", encoding="utf-8")
    with counted_git(tmp_path / "bin", monkeypatch) as noted:
        await scene.engine.radar(scene.clone)
        merges = [each for each in noted() if " merge-tree --write-tree " in each]

    assert len(merges) == 1


@pytest.mark.requirement("tasks.scale-radar")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([["git", "mv", "src", "lib"]], [["src/new.py", "new\n"]]),
        ([["thing", "a file\n"]], [["thing/inside", "a folder\n"]]),
        ([["git", "rm", "-q", "README.md"]], [["README.md", "theirs\n"]]),
    ],
)
async def test_conflict_without_a_common_path_is_found(
    scene: Scene, first: list[list[str]], second: list[list[str]]
) -> None:
    one, two = await changes(scene, "one", *first), await changes(scene, "two", *second)

    overlaps = [each for each in await scene.engine.radar(scene.clone) if each.second != BASE]

    assert [{each.first, each.second} for each in overlaps] == [{one.id, two.id}]


@pytest.mark.requirement("tasks.scale-radar")
async def test_overlap_search_skips_tasks_that_are_alone_in_their_project(
    scene: Scene,
) -> None:
    watch = OverlapWatcher(scene.engine)
    counts: list[int] = []
    for count in (FEW, MANY):
        alone = [
            replace(task(scene, number), project=str(scene.root / f"alone-{number}"))
            for number in range(count)
        ]
        await store(scene, alone)
        counts.append(len(await queries(scene, lambda _: watch.look())))

    assert counts[0] == counts[1]


@pytest.mark.requirement("tasks.radar")
async def test_tasks_are_compared_when_their_base_was_deleted(scene: Scene) -> None:
    git("branch", "old", cwd=scene.clone)
    orders = [CreateRequest(scene.clone, name, base="old") for name in ("one", "two")]
    one, two = [await scene.engine.create(each) for each in orders]
    for task in (one, two):
        (Path(task.worktree) / "README.md").write_text(task.name, encoding="utf-8")
    git("branch", "-D", "old", cwd=scene.clone)

    (overlap,) = await scene.engine.radar(scene.clone)

    assert {overlap.first, overlap.second} == {one.id, two.id}
    assert overlap.problem == ""
    assert [each.path for each in overlap.conflicts] == ["README.md"]
