"""The daemon's part for tasks, through its handlers: real git, no agent."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from tests.support.task_harness import (
    copy_template,
    git,
    make_template,
    settings_file,
    there,
)
from tests.support.task_views import asked

from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import (
    DeleteTaskspace,
    FinishTaskspace,
    GuidanceRead,
    LogProgress,
    ProgressCategory,
    SignalUser,
    SpawnTaskspace,
    TaskspaceState,
    UpdateTaskspace,
    WaitForTaskspaces,
)
from symposium.bus.messages.broker import Present
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    AnswerInbox,
    CreateTaskspace,
    FindTaskspace,
    ListInbox,
    ListTaskspaces,
    RenameTaskspace,
    RetryTaskspace,
    ShowTaskspace,
    TaskView,
)
from symposium.bus.messages.worktrees import (
    CollectTaskspaces,
    LandTaskspace,
    RemoveTaskspace,
    ReportTaskspace,
    RestoreTaskspace,
    ShowLanding,
    SnapshotTaskspace,
    TaskspaceWillDelete,
    UndoTaskspace,
)
from symposium.bus.protocol import Announcement, BusRequest
from symposium.config.paths import paths
from symposium.daemon.part import LocalPeer, PartContext, StateOwnerFile
from symposium.daemon.parts.taskspaces import Taskspaces
from symposium.errors import ExplainedError
from symposium.sessions.session import (
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

UNUSED_PID = 1 << 30
"""An unused process id: it is above the limit of the kernel."""


class SubscribedBus:
    """A bus with a subscriber to every announcement, and no other peer."""

    def __init__(self) -> None:
        self.received: list[Announcement] = []

    async def request(self, message: BusRequest[Any], **options: Any) -> Any:
        del options
        raise BusRefusedError(f"no handler for {message}", "no_handler")

    def announce(self, message: Announcement, **options: Any) -> None:
        del options
        self.received.append(message)

    def windows(self) -> list[Present]:
        return []

    def register_window(self, connection: str, taskspace: str, title: str) -> None:
        del connection, taskspace, title

    def has_subscribers(self, kind: type[Announcement]) -> bool:
        del kind
        return True


class Tasks:
    """The part, and a clone for its tasks."""

    def __init__(self, folder: Path) -> None:
        self.home, self.clone = folder / "home", folder / "clone"
        self.socket = folder / "socket"
        self.part = Taskspaces(PartContext(self.home, self.socket))
        self.bus = SubscribedBus()
        self.store = SessionStore(paths())
        self._answers = self.part.answers().requests

    async def ask(self, message: BusRequest[Any]) -> Any:
        return await self._answers[message.about.type](message, asked())

    async def new(self, name: str, **more: Any) -> TaskView:
        made = await self.ask(CreateTaskspace(project=str(self.clone), name=name, **more))
        return made.taskspace

    async def refusal(self, message: BusRequest[Any]) -> str:
        with pytest.raises((BusRefusedError, ExplainedError)) as refused:
            async with asyncio.timeout(45):
                await self.ask(message)
        return str(refused.value)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.part.run(cast("LocalPeer", self.bus)))
            yield
            running.cancel()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create an upstream and a clone."""
    directory = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(directory)))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        return make_template(directory)


@pytest.fixture
def idle(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    """Create the part without running it."""
    place = copy_template(template, tmp_path / "place")
    monkeypatch.setenv("SYMPOSIUM_HOME", str(place / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(template / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Tasks(place)


@pytest.fixture
async def tasks(idle: Tasks) -> AsyncGenerator[Tasks]:
    async with idle.running():
        yield idle


def commit(task: TaskView, name: str, text: str) -> None:
    worktree = Path(task.worktree)
    (worktree / name).write_text(text)
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", f"change {name}", cwd=worktree)


@pytest.mark.requirement("daemon.recovered-first")
async def test_request_waits_for_the_recovery_of_the_last_run(idle: Tasks) -> None:
    async with asyncio.TaskGroup() as group:
        early = group.create_task(idle.ask(ListTaskspaces()))
        for _ in range(100):
            # The request is prepared in a thread.
            await asyncio.to_thread(int)
        was_answered = early.done()
        async with idle.running():
            found = await early

    assert not was_answered
    assert found.total == 0


@pytest.mark.requirement("daemon.one-home")
async def test_second_daemon_names_the_owner_of_the_tasks(idle: Tasks, tmp_path: Path) -> None:
    socket = tmp_path / "first"
    socket.touch()
    StateOwnerFile(idle.home, socket).put()

    said = await idle.refusal(ListTaskspaces())
    assert f"process {os.getpid()} at {socket}" in said
    assert f"SYMPOSIUM_SOCKET={socket}" in said


@pytest.mark.requirement("daemon.one-home")
@pytest.mark.parametrize("why", ["nothing", "its socket", "its process", "our socket", "damaged"])
def test_owner_file_of_a_stopped_daemon_is_ignored(tmp_path: Path, why: str) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for each in (mine, theirs):
        each.touch()
    mark = StateOwnerFile(tmp_path, mine)
    file = tmp_path / "taskspaces.daemon"
    StateOwnerFile(tmp_path, mine if why == "our socket" else theirs).put()
    if why == "its socket":
        theirs.unlink()
    elif why == "its process":
        file.write_text(f'{{"pid": {UNUSED_PID}, "socket": "{theirs}"}}')
    elif why == "damaged":
        file.write_text("{")
    elif why == "nothing":
        file.unlink()

    assert mark.other() is None


@pytest.mark.requirement("daemon.one-home")
async def test_part_has_the_tasks_for_as_long_as_it_runs(idle: Tasks, tmp_path: Path) -> None:
    other = StateOwnerFile(idle.home, tmp_path / "other")
    idle.socket.touch()
    async with idle.running():
        await idle.ask(ListTaskspaces())
        while_running = other.other()

    assert while_running == (os.getpid(), str(idle.socket))
    assert other.other() is None


@pytest.mark.requirement("daemon.one-home")
def test_daemon_removes_only_its_own_owner_file(tmp_path: Path) -> None:
    one, two = (StateOwnerFile(tmp_path, tmp_path / name) for name in ("one", "two"))
    (tmp_path / "two").touch()
    two.put()
    one.remove()
    left = one.other()
    two.remove()

    assert left == (os.getpid(), str(tmp_path / "two"))
    assert list(tmp_path.glob("taskspaces.daemon")) == []


@pytest.mark.requirement("tasks.by-message")
async def test_task_is_found_shown_and_renamed(tasks: Tasks) -> None:
    task = await tasks.new("Fix login", description="the button")
    branch = await tasks.ask(FindTaskspace(named=str(task.branch)))
    other = Path(tasks.clone.parent / "by-hand")
    git("worktree", "add", "-q", "-b", "mine", str(other), cwd=tasks.clone)
    adopted = await tasks.ask(AdoptTaskspace(worktree=str(other), name="Adopted"))
    renamed = await tasks.ask(RenameTaskspace(taskspace_uuid=task.id, name="Repair login"))
    listed = await tasks.ask(ListTaskspaces(project=str(tasks.clone)))
    shown = await tasks.ask(ShowTaskspace(taskspace_uuid=task.id))

    assert [each.id for each in branch.taskspaces] == [task.id]
    assert renamed.taskspace.name == "Repair login"
    assert {each.name for each in listed.taskspaces} == {"Repair login", "Adopted"}
    assert adopted.taskspace.worktree == str(other)
    assert (shown.taskspace.name, shown.taskspace.description) == ("Repair login", "the button")


@pytest.mark.requirement("tasks.by-message")
async def test_snapshot_is_restored_by_undo_and_by_name(tasks: Tasks) -> None:
    task = await tasks.new("Fix login")
    file = Path(task.worktree) / "README.md"
    first = await tasks.ask(SnapshotTaskspace(taskspace_uuid=task.id, reason="first"))
    file.write_text("second")
    await tasks.ask(SnapshotTaskspace(taskspace_uuid=task.id, reason="second"))
    file.write_text("third")
    await tasks.ask(SnapshotTaskspace(taskspace_uuid=task.id, reason="third"))
    await tasks.ask(UndoTaskspace(taskspace_uuid=task.id))
    undone = file.read_text()
    back = await tasks.ask(UndoTaskspace(taskspace_uuid=task.id, snapshot=first.snapshot.ref))

    assert (undone, file.read_text()) == ("second", "# Sample\n")
    assert back.now.tree == first.snapshot.tree


@pytest.mark.requirement("tasks.by-message")
async def test_task_with_work_is_deleted_and_restored_with_it(tasks: Tasks) -> None:
    task = await tasks.new("Fix login")
    file = Path(task.worktree) / "new.txt"
    safe = await tasks.ask(ReportTaskspace(taskspace_uuid=task.id))
    file.write_text("work")
    unsafe = await tasks.ask(ReportTaskspace(taskspace_uuid=task.id))
    await tasks.refusal(RemoveTaskspace(taskspace_uuid=task.id, only_if_safe=True))
    wrong = await tasks.refusal(RemoveTaskspace(taskspace_uuid=task.id, branch="maybe"))
    is_there = file.exists()
    removed = await tasks.ask(RemoveTaskspace(taskspace_uuid=task.id))
    is_gone = not there(task.worktree)
    restored = await tasks.ask(RestoreTaskspace(taskspace_uuid=task.id))

    assert (safe.is_safe, unsafe.is_safe, is_there, is_gone) == (True, False, True, True)
    assert "`branch` must be auto, keep, or drop" in wrong
    assert removed.lines == (
        "Fix login is deleted",
        f"`symposium task undo {task.id}` restores it, for 14 days",
    )
    assert (restored.taskspace.id, file.read_text()) == (task.id, "work")
    deletions = [each for each in tasks.bus.received if isinstance(each, TaskspaceWillDelete)]
    assert [each.taskspace_uuid for each in deletions] == [task.id]


@pytest.mark.requirement("tasks.by-message")
@pytest.mark.parametrize("is_archived_before", [True, False])
async def test_permanently_deleted_task_loses_its_session(
    tasks: Tasks, *, is_archived_before: bool
) -> None:
    task = await tasks.new("Fix login")
    (Path(task.worktree) / "new.txt").write_text("work")
    tasks.store.add(SessionSpec(task.id, SessionKind.ACP, ("agent",), "/"))
    if is_archived_before:
        await tasks.ask(RemoveTaskspace(taskspace_uuid=task.id))
    kept = tasks.store.ids()
    removed = await tasks.ask(RemoveTaskspace(taskspace_uuid=task.id, archived_for_good=True))

    assert "cannot be undone" in removed.lines[-1]
    assert (kept, tasks.store.ids()) == ([task.id], [])
    await tasks.refusal(RestoreTaskspace(taskspace_uuid=task.id))


@pytest.mark.requirement("tasks.by-message")
async def test_task_lands_and_a_conflicting_one_gets_instructions(tasks: Tasks) -> None:
    first, second, third = [await tasks.new(name) for name in ("first", "second", "third")]
    for task in (first, second):
        commit(task, "README.md", f"by {task.name}\n")
    for task in (second, third):
        commit(task, "other.md", f"by {task.name}\n")
    wrong = await tasks.refusal(LandTaskspace(taskspace_uuid=first.id, join="squash"))
    landed = await tasks.ask(LandTaskspace(taskspace_uuid=first.id))
    shown = await tasks.ask(ShowLanding(taskspace_uuid=first.id))
    again = await tasks.ask(LandTaskspace(taskspace_uuid=first.id))
    conflict = await tasks.ask(LandTaskspace(taskspace_uuid=second.id))

    assert "`join` must be rebase or merge" in wrong
    assert landed.outcome == "landed"
    assert landed.lines[0].startswith("first has landed on ")
    (warning,) = [each for each in landed.lines if "would conflict with" in each]
    assert warning.startswith("first would conflict with second: README.md")
    assert (shown.stage, shown.landed) == ("", landed.commit)
    assert again.lines[0].startswith("first has nothing to land: ")
    assert (conflict.outcome, conflict.commit) == ("conflict", None)
    assert conflict.lines[0].endswith("nothing was changed")
    assert any(f"symposium task land {second.id[:8]} --resolve" in each for each in conflict.lines)
    assert git("show", "main:README.md", cwd=tasks.clone) == "by first"


@pytest.mark.requirement("tasks.by-message")
async def test_orphaned_worktrees_are_listed_and_removed_only_on_request(tasks: Tasks) -> None:
    task = await tasks.new("Fix login")
    left = str(UUID(int=7))
    own = {"SYMPOSIUM_TASKSPACE": left}
    tasks.store.add(SessionSpec(left, SessionKind.ACP, ("agent",), "/", own, title="Old"))
    tasks.store.write_state(left, ServerSessionState(Status.EXITED))
    for id_ in (task.id, str(UUID(int=8))):
        env = own if id_ != task.id else {"SYMPOSIUM_TASKSPACE": task.id}
        tasks.store.add(SessionSpec(id_, SessionKind.ACP, ("agent",), "/", env))
    orphan = tasks.clone.parent / "by-hand"
    git("worktree", "add", "-q", "-b", "mine", str(orphan), cwd=tasks.clone)
    looked = await tasks.ask(CollectTaskspaces(project=str(tasks.clone)))
    before = sorted(tasks.store.ids())
    done = await tasks.ask(CollectTaskspaces(is_applied=True))

    line = "the session of Old, which was deleted for good"
    assert looked.lines == (line,)
    assert looked.orphans == (str(orphan),)
    assert done.lines == (f"removed {line}",)
    assert (len(before), len(tasks.store.ids())) == (3, 2)
    assert left not in tasks.store.ids()


@pytest.mark.requirement("tasks.trust-by-digest")
async def test_set_up_runs_once_its_content_is_trusted(tasks: Tasks) -> None:
    task = await with_set_up(tasks)
    shown = await tasks.ask(ShowTaskspace(taskspace_uuid=task.id, is_whole=True))
    done = Path(task.worktree) / "done"
    other = await tasks.refusal(RetryTaskspace(taskspace_uuid=task.id, trusted="0" * 64))
    was_done = done.exists()
    made = await tasks.ask(RetryTaskspace(taskspace_uuid=task.id, trusted=shown.digest))

    assert "have changed since" in other
    assert (was_done, done.exists()) == (False, True)
    assert made.taskspace.standing == "ready"


async def with_set_up(tasks: Tasks) -> TaskView:
    """Create a task whose set-up waits for trust."""
    upstream = tasks.clone.parent / "upstream"
    (upstream / ".symposium").mkdir()
    (upstream / ".symposium" / "workspace.toml").write_text('setup = ["touch done"]')
    git("add", "-A", cwd=upstream)
    git("commit", "-qm", "set-up", cwd=upstream)
    return await tasks.new("Fix login")


@pytest.mark.requirement("tasks.trust-by-digest")
async def test_set_up_trusted_in_the_inbox_runs_there_and_in_the_next_task(
    tasks: Tasks,
) -> None:
    task = await with_set_up(tasks)
    (item,) = (await tasks.ask(ListInbox())).items
    await tasks.ask(AnswerInbox(item=item.id, answer="trust"))
    left = (await tasks.ask(ListInbox())).items
    second = await tasks.new("second")

    assert (item.kind, item.taskspace, left) == ("trust", task.id, ())
    assert "touch done" in item.text
    assert there(f"{task.worktree}/done")
    assert there(f"{second.worktree}/done")


@pytest.mark.requirement("tasks.trust-by-digest")
async def test_set_up_that_changed_after_it_was_shown_is_not_run(tasks: Tasks) -> None:
    task = await with_set_up(tasks)
    (item,) = (await tasks.ask(ListInbox())).items
    file = Path(task.worktree) / ".symposium" / "workspace.toml"
    file.write_text('setup = ["touch other"]')
    said = await tasks.refusal(AnswerInbox(item=item.id, answer="trust"))

    assert "its setup files have changed since" in said
    assert "+ .symposium/workspace.toml  setup: touch other" in said
    assert "- .symposium/workspace.toml  setup: touch done" in said
    assert not there(f"{task.worktree}/done")
    assert not there(f"{task.worktree}/other")


@pytest.mark.requirement("tasks.by-message")
async def test_another_agent_is_rejected_once_one_has_worked_or_runs(tasks: Tasks) -> None:
    task = await tasks.new("Fix login")
    await tasks.ask(RemoveTaskspace(taskspace_uuid=task.id))
    archived = await tasks.refusal(RetryTaskspace(taskspace_uuid=task.id))
    await tasks.ask(RestoreTaskspace(taskspace_uuid=task.id))
    spec = SessionSpec(task.id, SessionKind.ACP, ("eliza",), "/")
    tasks.store.add(spec)
    tasks.store.write_state(task.id, ServerSessionState(Status.EXITED, acp_session="one"))
    worked = await tasks.refusal(RetryTaskspace(taskspace_uuid=task.id, agent="claude"))
    lock = tasks.store.lock(task.id)
    runs = await tasks.refusal(RetryTaskspace(taskspace_uuid=task.id, agent="claude"))
    os.close(lock)

    assert "archived" in archived
    assert "its agent has a session already" in worked
    assert "its agent is running" in runs


@pytest.mark.requirement("tasks.agents-messages")
async def test_agent_reports_asks_and_renames_in_its_own_task(tasks: Tasks) -> None:
    task = await tasks.new("Fix login", task="Fix it.")
    place = {"project_path": str(tasks.clone), "taskspace_uuid": task.id}
    logged = await tasks.ask(
        LogProgress(**place, message="half", category=ProgressCategory.MILESTONE)
    )
    await tasks.ask(SignalUser(**place, message="which one?"))
    await tasks.ask(GuidanceRead(**place, id="main.md", layer="built-in", sha256="0"))
    new = await tasks.ask(TaskspaceState(**place, name="Login", description="the button"))
    await tasks.ask(UpdateTaskspace(**place, name="Login page", description="the form"))
    shown = await tasks.ask(ShowTaskspace(taskspace_uuid=task.id))
    inbox = (await tasks.ask(ListInbox())).items
    await tasks.ask(RemoveTaskspace(taskspace_uuid=task.id))
    refused = [
        await tasks.refusal(each)
        for each in (
            LogProgress(**place, message="late", category=ProgressCategory.INFO),
            SignalUser(**place, message="late"),
            UpdateTaskspace(**place, name="late", description=""),
        )
    ]

    assert (new.name, new.description, logged.watchers) == ("Login", "the button", 0)
    assert (shown.taskspace.name, shown.taskspace.description) == ("Login page", "the form")
    assert [each.message for each in shown.log][-2:] == ["half", "which one?"]
    assert [each.id for each in shown.guidance] == ["main.md"]
    assert [(each.kind, each.text) for each in inbox] == [("question", "which one?")]
    assert all("archived" in each for each in refused)


@pytest.mark.requirement("tasks.agents-messages")
async def test_agent_waits_for_its_own_children_only(tasks: Tasks) -> None:
    parent, other = await tasks.new("parent"), await tasks.new("other")
    place = {"project_path": str(tasks.clone), "taskspace_uuid": parent.id}
    order = SpawnTaskspace(**place, name="child", initial_prompt="do", task_description="it")
    child = (await tasks.ask(order)).new_taskspace_uuid
    wait = WaitForTaskspaces(**place, children=(child,))
    strange = await tasks.refusal(WaitForTaskspaces(**place, children=(child, other.id)))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(tasks.ask(wait))
        done = {"project_path": str(tasks.clone), "taskspace_uuid": child, "result": "all of it"}
        await tasks.ask(FinishTaskspace(**done, evidence="tests pass"))
        ended = await waiting

    assert "is not a child of this task" in strange
    (result,) = ended.results
    assert (result.name, result.result, result.evidence) == ("child", "all of it", "tests pass")


@pytest.mark.requirement("tasks.agents-messages")
@pytest.mark.parametrize(("answer", "is_left"), [("archive", False), ("keep", True)])
async def test_agent_that_asks_to_delete_its_task_waits_for_the_user(
    tasks: Tasks, answer: str, *, is_left: bool
) -> None:
    task = await tasks.new("Fix login")
    ask = DeleteTaskspace(project_path=str(tasks.clone), taskspace_uuid=task.id)
    idle = tasks.part.is_busy()

    async def outcome() -> str:
        try:
            return (await tasks.ask(ask)).outcome
        except BusRefusedError as refused:
            return f"refused: {refused.code}"

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(outcome())
        await asyncio.sleep(0)
        items = ()
        while not items:
            items = (await tasks.ask(ListInbox())).items
        busy = tasks.part.is_busy()
        await tasks.ask(AnswerInbox(item=items[0].id, answer=answer))
        decided = await asking
    for _ in range(200):
        # The work after the decision runs in the background.
        if tasks.part.is_busy():
            await tasks.ask(ListInbox())

    assert (idle, busy, tasks.part.is_busy()) == (False, True, False)
    assert there(task.worktree) is is_left
    assert decided == ("refused: cancelled" if is_left else "deleted")
