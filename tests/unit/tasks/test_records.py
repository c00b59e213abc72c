"""State, progress, and questions of tasks: they persist, and the seed's rules hold."""

import asyncio
import sqlite3
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from tests.support.task_harness import Scene

from symposium.tasks.creation import CreateRequest
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import file_of
from symposium.tasks.events import Acknowledged, Changed, LineEvent
from symposium.tasks.model import (
    Category,
    LimitError,
    Limits,
    RefusedNameError,
    StageError,
    TaskspaceError,
    TaskState,
    UnknownTaskspaceError,
    category_of,
)
from symposium.tasks.records import PresenceKind, PresentAgents, Records, TaskPresence, Update
from symposium.tasks.spawning import AgentCommands, SpawnRequest, agent_command
from symposium.tasks.store import Result, TaskStore
from symposium.tasks.task_files import MAX_BYTES, read_task_file

NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.mark.requirement("taskspaces.state-read", "taskspaces.prompt-cleared")
async def test_reading_the_state_changes_nothing(scene: Scene) -> None:
    made = await scene.make("A name", task="Do it.")

    first = await scene.engine.records.state(made.id)
    again = await scene.engine.records.state(made.id.upper())

    assert first == again
    assert first.initial_prompt is not None
    assert "Do it." in first.initial_prompt
    assert (first.name, first.description, first.collaborator) == ("A name", "", None)


@pytest.mark.requirement("taskspaces.prompt-cleared")
@pytest.mark.parametrize(
    "update",
    [
        Update(name="new"),
        Update(description="new"),
        Update(collaborator="socrates"),
        Update(name=""),
    ],
)
async def test_any_update_clears_the_prompt_and_keeps_an_archive(
    update: Update, scene: Scene
) -> None:
    made = await scene.made()

    reply = await scene.engine.records.state(made.id, update)

    after = await scene.engine.get(made.id)
    assert reply.initial_prompt is None
    assert after.initial_prompt is None
    assert after.prompt_archive == made.initial_prompt
    assert scene.events[-3:] != []
    assert any(isinstance(event, Changed) for event in scene.events)


@pytest.mark.requirement("taskspaces.prompt-cleared")
async def test_progress_and_questions_keep_the_prompt(scene: Scene) -> None:
    made = await scene.made()

    await scene.engine.records.log(made.id, "x", "info")
    await scene.engine.records.signal(made.id, "y")

    assert (await scene.engine.records.state(made.id)).initial_prompt == made.initial_prompt


@pytest.mark.requirement("taskspaces.locked-name")
async def test_update_keeps_a_locked_name_and_changes_the_rest(scene: Scene) -> None:
    made = await scene.made()
    await scene.engine.records.rename(made.id, "Mine")

    reply = await scene.engine.records.state(made.id, Update("Theirs", "better"))
    await scene.engine.records.unlock_name(made.id)
    free = await scene.engine.records.state(made.id, Update("Theirs"))

    assert (reply.name, reply.description, reply.initial_prompt) == ("Mine", "better", None)
    assert free.name == "Theirs"


@pytest.mark.requirement("taskspaces.agent-table")
async def test_agent_command_first_hatches_then_resumes(
    scene: Scene,
) -> None:
    made = await scene.engine.create(
        CreateRequest(scene.clone, "x; rm -rf /", task="t", agent="claude")
    )
    hatch = (await scene.engine.records.state(made.id)).agent_command
    resume = (await scene.engine.records.state(made.id, Update(description="d"))).agent_command
    own = {"claude": AgentCommands(("mine", "{name}", "{worktree}/x"), ("again",))}

    assert hatch[0] == "claude"
    assert "yiasou" in hatch[1]
    assert "Fix it" not in hatch[1]
    assert resume == ("claude", "--continue")
    assert agent_command(made, own) == ("mine", "x; rm -rf /", "{worktree}/x")
    assert agent_command(made, {}) == ()


@pytest.mark.requirement("taskspaces.log-categories")
@pytest.mark.parametrize(
    ("word", "category"),
    [
        ("info", Category.INFO),
        ("WARN", Category.WARN),
        (" error ", Category.ERROR),
        ("milestone", Category.MILESTONE),
        ("question", Category.QUESTION),
        ("\u2139\ufe0f", Category.INFO),
        ("\u26a0", Category.WARN),
        ("\u26a0\ufe0f", Category.WARN),
        ("\u274c", Category.ERROR),
        ("\u2705", Category.MILESTONE),
        ("\u2753", Category.QUESTION),
        ("whatever", Category.INFO),
        ("", Category.INFO),
    ],
)
def test_categories_have_synonyms(word: str, category: Category) -> None:
    assert category_of(word) is category


@pytest.mark.requirement("taskspaces.log-durable")
async def test_log_lines_persist_in_order_after_a_restart(scene: Scene) -> None:
    made = await scene.made()
    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(scene.engine.records.log(made.id, str(number), "warn", "abc123"))
    logged = [event.entry for event in scene.events if isinstance(event, LineEvent)]

    scene = scene.again()
    entries = await scene.engine.logs.entries(made.id)
    later = await scene.engine.logs.entries(made.id, after=entries[9].number, most=5)

    scene.engine.close()
    assert sorted(logged, key=lambda each: each.number) == entries
    assert {entry.message for entry in entries} == {str(number) for number in range(20)}
    assert {entry.evidence for entry in entries} == {"abc123"}
    assert later == entries[10:15]


@pytest.mark.requirement("approvals.agent-secrets")
async def test_messages_and_evidence_are_stored_without_secrets(scene: Scene) -> None:
    made = await scene.made()

    def redact(id_: str, text: str) -> str:
        return text.replace("s3cret", f"[{id_ == made.id}]")

    records = Records(replace(scene.context, redact=redact))
    await records.log(made.id, "it is s3cret", "info", "s3cret too")
    await records.signal(made.id, "s3cret?")

    entries = await scene.engine.logs.entries(made.id)
    kept = [text for entry in entries[-2:] for text in (entry.message, entry.evidence)]
    assert kept == ["it is [True]", "[True] too", "[True]?", ""]


@pytest.mark.requirement("taskspaces.attention")
async def test_question_is_open_until_it_is_seen_and_stays_a_question(scene: Scene) -> None:
    made, other = await scene.make("one"), await scene.make("two")
    await scene.engine.records.signal(made.id, "which one?")
    await scene.engine.records.log(other.id, "and this?", "question")
    before = await scene.engine.logs.attention()

    seen = await scene.engine.records.acknowledge(before[0].number)
    again = await scene.engine.records.acknowledge(before[0].number)

    after = await scene.engine.logs.attention()
    entry = (await scene.engine.logs.entries(made.id))[0]
    assert [each.taskspace for each in before] == [made.id, other.id]
    assert [each.taskspace for each in after] == [other.id]
    assert (seen, again) == (True, False)
    assert entry.category is Category.QUESTION
    assert entry.acknowledged_at is not None
    assert [type(event) for event in scene.events].count(Acknowledged) == 1


@pytest.mark.requirement("taskspaces.records-refuse")
async def test_unknown_tasks_and_unsafe_texts_are_refused(
    scene: Scene,
) -> None:
    made = await scene.made()
    records = scene.engine.records
    with pytest.raises(UnknownTaskspaceError):
        await records.log(NOWHERE, "x", "info")
    with pytest.raises(RefusedNameError):
        await records.log("../../etc", "x", "info")
    with pytest.raises(RefusedNameError):
        await records.log(made.id, "\x1b[2J", "info")
    with pytest.raises(RefusedNameError):
        await records.state(made.id, Update(name="a\nb"))
    with pytest.raises(RefusedNameError):
        await records.state(made.id, Update(description="x" * (1 << 21)))
    count = "SELECT count(*) FROM log"
    stored = await scene.context.journal.read(lambda link: link.execute(count).fetchone())
    assert stored == (0,)
    assert await scene.engine.get(made.id) == made


@pytest.mark.requirement("taskspaces.file-mirrors")
async def test_task_file_mirrors_the_store_in_the_seeds_format(scene: Scene) -> None:
    made = await scene.make("A name", task="Do it.")
    await scene.engine.records.log(made.id, "half", "milestone")
    await scene.context.write_due_files()
    file = scene.root / "clone.tasks" / ".symposium" / f"task-{made.id}" / "taskspace.json"

    hatchling = msgspec.json.decode(file.read_bytes())
    await scene.engine.records.state(made.id, Update(description="d"))
    resumed = msgspec.json.decode(file.read_bytes())

    assert hatchling["state"]["hatchling"]["initialPrompt"] == made.initial_prompt
    assert hatchling["logs"][0]["category"] == "milestone"
    assert (hatchling["id"], hatchling["name"]) == (made.id, "A name")
    assert resumed["state"] == {"resume": {}}
    assert resumed["description"] == "d"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def logged(file: Path) -> list[str]:
    return [line["message"] for line in msgspec.json.decode(file.read_bytes())["logs"]]


@pytest.mark.requirement("taskspaces.file-once-a-second")
async def test_task_file_gets_log_lines_once_a_second(scene: Scene) -> None:
    now, waits = 100.0, list[float]()

    async def pause(seconds: float) -> None:
        nonlocal now
        waits.append(seconds)
        now += seconds

    made = await scene.made()
    other = await scene.make("other")
    scene.context.files.clock, scene.context.files.pause = lambda: now, pause
    now += time.monotonic()
    records, file = scene.engine.records, file_of(made)

    await records.log(made.id, "first", "info")
    now += 0.25
    for line in ("second", "third"):
        await records.log(made.id, line, "info")
    await records.log(other.id, "at once", "info")
    before = (logged(file), logged(file_of(other)))
    ready = await scene.context.files.ready()
    await scene.engine.records.state(made.id)
    await scene.context.write_due_files()

    assert before == (["first"], ["at once"])
    assert (ready, waits) == ([made.id], [0.75])
    assert logged(file) == ["first", "second", "third"]
    assert scene.context.files.due() == []


@pytest.mark.requirement("taskspaces.file-once-a-second")
async def test_engine_writes_pending_task_files_when_it_stops(scene: Scene) -> None:
    made = await scene.made()
    for line in ("first", "second"):
        await scene.engine.records.log(made.id, line, "info")

    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(scene.context.keep_files_current())
        await asyncio.sleep(0)
        keeping.cancel()

    assert logged(file_of(made)) == ["first", "second"]


@pytest.mark.requirement("taskspaces.file-once-a-second")
async def test_pending_task_file_does_not_restore_a_deleted_task(scene: Scene) -> None:
    made = await scene.made()
    for line in ("first", "second"):
        await scene.engine.records.log(made.id, line, "info")

    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.context.write_due_files()

    assert not file_of(made).parent.exists()


@pytest.mark.requirement("taskspaces.archived-take-no-part")
async def test_log_line_for_an_archived_task_is_refused_when_live_is_required(
    scene: Scene,
) -> None:
    made = await scene.made()
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)

    with pytest.raises(TaskspaceError, match="is archived"):
        await scene.engine.records.log(made.id, "x", "info", is_live=True)

    assert await scene.engine.logs.entries(made.id) == []


@pytest.mark.requirement("taskspaces.file-mirrors")
async def test_start_writes_only_task_files_that_differ_from_the_store(scene: Scene) -> None:
    same, differs, lacks = [await scene.make(name) for name in ("same", "differs", "lacks")]
    files = [file_of(each) for each in (same, differs, lacks)]
    texts = [file.read_text() for file in files]
    inode = files[0].stat().st_ino
    files[1].write_text("half a")
    files[2].unlink()

    scene = scene.again()
    await scene.engine.start()
    await scene.engine.reconcile(print)

    scene.engine.close()
    assert [file.read_text() for file in files] == texts
    assert files[0].stat().st_ino == inode


@pytest.mark.requirement("taskspaces.recoverable-from-each-other")
async def test_lost_store_is_rebuilt_from_task_files(scene: Scene) -> None:
    made = await scene.made()
    await scene.engine.records.log(made.id, "half", "milestone")
    log = await scene.engine.logs.entries(made.id)
    await scene.context.write_due_files()
    scene.engine.close()
    for file in (scene.root / "state").glob("taskspaces.db*"):
        file.unlink()

    scene = scene.again()
    found = await scene.engine.taskspaces(scene.clone)

    entries = await scene.engine.logs.entries(made.id)
    scene.engine.close()
    assert found == [made]
    assert entries == log


@pytest.mark.requirement("taskspaces.recoverable-from-each-other")
async def test_lost_task_file_is_rebuilt_from_the_store(scene: Scene) -> None:
    made = await scene.made()
    file = scene.root / "clone.tasks" / ".symposium" / f"task-{made.id}" / "taskspace.json"
    content = file.read_bytes()
    file.unlink()

    scene = scene.again()
    await scene.engine.start()
    await scene.engine.reconcile(print)

    scene.engine.close()
    assert file.read_bytes() == content


@pytest.mark.requirement("taskspaces.missing")
async def test_worktree_is_missing_until_it_is_back(scene: Scene) -> None:
    made = await scene.made()
    await asyncio.to_thread(Path(made.worktree).rename, scene.root / "away")
    missing = (await scene.engine.taskspaces())[0]
    await asyncio.to_thread((scene.root / "away").rename, made.worktree)

    back = (await scene.engine.taskspaces())[0]

    assert missing.standing is TaskState.MISSING
    assert back == made


@pytest.mark.requirement("taskspaces.spawn-limits")
async def test_child_spawns_only_within_its_parents_limits(scene: Scene) -> None:
    spawning = scene.engine.spawning
    limits = Limits(depth=2, children=4, minutes=60, costs={"usd": 3.0})
    root = await scene.engine.create(CreateRequest(scene.clone, "root", limits=limits))

    child = await spawning.spawn(
        root.id, SpawnRequest("child", "t", limits=Limits(depth=9, children=2, minutes=90))
    )
    grandchild = await spawning.spawn(child.id, SpawnRequest("grandchild", "t"))
    with pytest.raises(LimitError, match="maximum depth"):
        await spawning.spawn(grandchild.id, SpawnRequest("too deep", "t"))
    await spawning.spawn(root.id, SpawnRequest("last", "t", limits=Limits(children=0)))
    with pytest.raises(LimitError, match="the limit is 4") as refused:
        await spawning.spawn(root.id, SpawnRequest("too many", "t"))
    assert "wait" not in refused.value.hint, "an ended child still counts against the limit"

    assert child.limits == Limits(depth=1, children=2, minutes=60, costs={"usd": 3.0})
    assert child.parent == root.id
    assert grandchild.limits.depth == 0


@pytest.mark.requirement("taskspaces.spawn-limits")
async def test_children_spawned_at_the_same_time_share_one_limit(scene: Scene) -> None:
    root = await scene.engine.create(
        CreateRequest(scene.clone, "root", limits=Limits(depth=1, children=1))
    )

    async def spawned(name: str) -> str:
        try:
            return (await scene.engine.spawning.spawn(root.id, SpawnRequest(name, "t"))).name
        except LimitError as error:
            return str(error)

    async with asyncio.TaskGroup() as tasks:
        made = [tasks.create_task(spawned(name)) for name in ("one", "two")]

    refused = "'root' has created 1 tasks; the limit is 1; do the work here, or ask the user"
    assert [each.result() for each in made] == ["one", refused]
    assert (await scene.engine.get(root.id)).spawned == 1


class CancelingStore(TaskStore):
    """Cancels a task at the given write, and again at each later read."""

    def __init__(self, path: Path, write: int) -> None:
        super().__init__(path)
        self.caller: asyncio.Task[object] | None = None
        self._left = write

    async def write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Write, and cancel the caller meanwhile if this is the write."""
        if self.caller is not None:
            self._left -= 1
            if self._left == 0:
                self.caller.cancel()
        return await super().write(work)

    async def read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Read, and cancel the caller meanwhile if it was canceled before."""
        if self.caller is not None and self._left <= 0:
            self.caller.cancel()
        return await super().read(work)


@pytest.mark.requirement("taskspaces.spawn-limits")
@pytest.mark.parametrize("write", [1, 2])
async def test_spawn_that_is_canceled_repeatedly_does_not_count(scene: Scene, write: int) -> None:
    root = await scene.make("root")
    store = CancelingStore(scene.context.journal.path, write)
    engine = Engine(replace(scene.context, journal=store))
    async with asyncio.TaskGroup() as tasks:
        store.caller = tasks.create_task(engine.spawning.spawn(root.id, SpawnRequest("child", "t")))
        await asyncio.wait([store.caller])
        was_canceled = store.caller.cancelled()
        store.caller = None
    store.close()

    assert was_canceled
    assert (await scene.engine.get(root.id)).spawned == 0
    known = read_task_file(file_of(root))
    assert known is not None
    assert known.taskspace.spawned == 0


@pytest.mark.requirement("taskspaces.file-has-limits")
@pytest.mark.parametrize("is_made", [True, False])
async def test_task_file_of_a_parent_counts_its_children(scene: Scene, *, is_made: bool) -> None:
    root = await scene.make("root")
    wanted = SpawnRequest("child", "t", limits=Limits(children=2))
    if is_made:
        await scene.engine.spawning.spawn(root.id, wanted)
    else:
        lock = scene.clone / ".git" / "refs" / "heads" / f"{Path(root.branch).parent}/child.lock"
        lock.write_text("in the way of its branch")
        with pytest.raises(StageError):
            await scene.engine.spawning.spawn(root.id, wanted)

    known = read_task_file(file_of(root))
    assert known is not None
    assert known.taskspace.spawned == (3 if is_made else 0)
    assert known.taskspace == await scene.engine.get(root.id)


@pytest.mark.requirement("taskspaces.file-has-limits", "taskspaces.file-mirrors")
async def test_task_file_has_each_change_of_a_task(scene: Scene) -> None:
    made, records = await scene.made(), scene.engine.records
    changes = (
        records.limit(made.id, Limits(minutes=90)),
        records.assign(made.id, "gemini"),
        records.rename(made.id, "Mine"),
        records.activate(made.id),
        scene.engine.spawning.finish(made.id, "done"),
    )
    for change in changes:
        changed = await change
        known = read_task_file(file_of(made))
        assert known is not None
        assert known.taskspace == changed == await scene.engine.get(made.id)


@pytest.mark.requirement("taskspaces.file-size")
async def test_task_file_that_is_too_large_is_not_read(scene: Scene) -> None:
    file = file_of(await scene.make())
    content = file.read_bytes()

    file.write_bytes(content.ljust(MAX_BYTES))
    assert read_task_file(file) is not None
    file.write_bytes(content.ljust(MAX_BYTES + 1))
    assert read_task_file(file) is None


@pytest.mark.requirement("taskspaces.wait-for-children")
async def test_parent_waits_for_its_children_and_gets_their_results(scene: Scene) -> None:
    root = await scene.make("root")
    first = await scene.engine.spawning.spawn(root.id, SpawnRequest("a", "t"))
    second = await scene.engine.spawning.spawn(root.id, SpawnRequest("b", "t"))
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(scene.engine.spawning.wait_for([first.id, second.id]))
        await scene.engine.spawning.finish(first.id, "one")
        assert not waiting.done()
        await scene.engine.spawning.finish(second.id, "two")

    results = waiting.result()
    assert [each.result for each in results] == ["one", "two"]
    assert [each.branch for each in results] == [first.branch, second.branch]


@pytest.mark.requirement("taskspaces.presence")
def test_windows_of_a_task_are_those_listed_now() -> None:
    windows = [PresentAgents("editor", NOWHERE.upper(), PresenceKind.EDITOR)]
    presence = TaskPresence()
    unconnected = presence.at(NOWHERE)
    presence.connect(lambda: windows)

    first = [each.key for each in presence.at(NOWHERE)]
    windows[:] = [PresentAgents("web", str(uuid4()), PresenceKind.WEB)]

    assert (unconnected, first, presence.at(NOWHERE)) == ([], ["editor"], [])


@pytest.mark.requirement("taskspaces.file-unwritable")
async def test_task_file_that_cannot_be_written_is_reported_and_the_next_is_written(
    scene: Scene,
) -> None:
    made = sorted([await scene.make(name) for name in ("one", "two")], key=lambda each: each.id)
    blocked, other = [file_of(each) for each in made]
    content = other.read_bytes()
    for file in (blocked, other):
        file.unlink()
    blocked.mkdir()
    said: list[str] = []

    scene = scene.again()
    await scene.engine.start()
    await scene.engine.reconcile(said.append)

    scene.engine.close()
    (line,) = said
    assert line.startswith(f"{made[0].name}: its file cannot be written: ")
    assert other.read_bytes() == content
