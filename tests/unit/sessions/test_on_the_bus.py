"""Requests and announcements of a task's session server on the bus."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, cast
from uuid import UUID

import pytest

from peerwire.jsonrpc.handlers import Request
from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.memory import memory_pair
from symposium.bus.client import BusClient
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import BudgetChecked, CheckBudget
from symposium.bus.messages.announcements import SessionNoted
from symposium.bus.messages.tasks import NoteKind, SnapshotView
from symposium.bus.messages.worktrees import Snapped, SnapshotTaskspace
from symposium.config.paths import paths
from symposium.sessions import budget
from symposium.sessions import session_announcements as announcing
from symposium.sessions.acp_server import AcpSessionServer
from symposium.sessions.budget import BusBudget, SpendingMeter
from symposium.sessions.client import SAY, WATCH
from symposium.sessions.session import ServerSessionState, SessionKind, SessionSpec, SessionStore
from symposium.sessions.session_announcements import BusNotes
from symposium.sessions.tool_call_snapshots import BusSnapshots, Listening

SPEC = SessionSpec(str(UUID(int=1)), SessionKind.ACP, ("testy",), "/")


class Bus:
    """A daemon that takes snapshots, knows a budget, and receives notes, or fails."""

    def __init__(self) -> None:
        self.problem = ""
        self.tree = "same"
        self.spent = BudgetChecked(is_over=False, text="")
        self.snapshots: list[SnapshotTaskspace] = []
        self.notes: list[SessionNoted] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.asked = asyncio.Event()
        self.noted = asyncio.Event()
        self.entered = 0

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self.entered -= 1

    async def ready(self) -> None:
        self._check()

    async def request(self, message: Any, *, timeout: float) -> Any:
        del timeout
        self._check()
        if isinstance(message, CheckBudget):
            return self.spent
        assert isinstance(message, SnapshotTaskspace)
        self.snapshots.append(message)
        self.asked.set()
        if "tool call" in message.reason:
            await self.is_open.wait()
        number = len(self.snapshots)
        return Snapped(snapshot=SnapshotView(f"ref-{number}", 0.0, "", self.tree, "tip"))

    async def post(self, note: SessionNoted) -> int:
        self._check()
        self.notes.append(note)
        self.noted.set()
        return 1

    def reasons(self) -> list[str]:
        return [each.reason for each in self.snapshots]

    def _check(self) -> None:
        if self.problem:
            raise BusRefusedError(self.problem, "failed")


class Viewer:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._came = asyncio.Event()

    def notify(self, method: str, params: Any) -> None:
        del method
        self.events.append(dict(params))
        self._came.set()

    def of(self, kind: str) -> list[Any]:
        return [each["data"] for each in self.events if each["type"] == kind]

    async def until(self, kind: str, count: int) -> None:
        while len(self.of(kind)) < count:
            self._came.clear()
            await self._came.wait()


class Server:
    """A session server of a task that runs in this process."""

    def __init__(self, folder: Path) -> None:
        places = {"SYMPOSIUM_HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder)}
        store = SessionStore(paths(places))
        directory = store.add(SPEC)
        self.bus, self.viewer = Bus(), Viewer()
        self.states: list[ServerSessionState] = []
        bus = cast("BusClient", self.bus)
        snapshots = BusSnapshots("one", bus)
        spending = SpendingMeter(directory, BusBudget("one", bus))
        self.server = AcpSessionServer(SPEC, store, snapshots, spending, BusNotes(SPEC.id, bus))
        self._asks = self.server.requests(self.viewer)
        self._asks[WATCH](Request(WATCH, {}, b"1"))
        self._turns = 0

    async def say(self, text: str) -> None:
        """Send a prompt, and wait for the end of its turn."""
        self.give(text)
        await self.viewer.until("result", self._turns)

    def give(self, text: str) -> None:
        self._turns += 1
        self._asks[SAY](Request(SAY, {"text": text}, b"1"))

    async def ended(self) -> None:
        await self.viewer.until("result", self._turns)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Server"]:
        async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
            tasks.create_task(self.server.run(self.states.append))
            yield self
            self.server.stop()


@pytest.mark.requirement("snapshots.around-tools")
async def test_snapshots_are_taken_before_a_turn_with_tools_and_after_it(tmp_path: Path) -> None:
    async with Server(tmp_path).running() as server:
        await server.say("tool calls")
        reasons = server.bus.reasons()
        called = [each.called_at is not None for each in server.bus.snapshots]
        entered = server.bus.entered

    assert (reasons[0], reasons[-1]) == ("before a prompt", "the turn is over")
    assert any(each.startswith(("tool call ", "after tool call ")) for each in reasons[1:-1])
    # Only the call of an agent that did not wait has a time.
    assert (called[0], called[-1]) == (False, False)
    assert {each.taskspace_uuid for each in server.bus.snapshots} == {"one"}
    assert (entered, server.bus.entered) == (1, 0)


@pytest.mark.requirement("snapshots.around-tools")
async def test_concurrent_calls_share_one_more_snapshot(
    tmp_path: Path,
) -> None:
    async with Server(tmp_path).running() as server:
        server.bus.is_open.clear()
        for count in (1, 2):
            server.give("tool calls")
            await server.viewer.until("prompt", count)
            await server.viewer.until("update", 4 * count)
        during = list(server.bus.reasons())
        server.bus.is_open.set()
        await server.ended()

    assert len([each for each in during if "tool call" in each]) == 1, during
    assert len([each for each in server.bus.reasons() if "tool call" in each]) == 2


@pytest.mark.requirement("snapshots.around-tools")
async def test_failed_snapshot_is_reported_once_until_one_succeeds(
    tmp_path: Path,
) -> None:
    async with Server(tmp_path).running() as server:
        for problem in ("no disk", "no disk", "", "no disk"):
            server.bus.problem = problem
            await server.say("tool calls")
        notices = [each["text"] for each in server.viewer.of("notice")]
        server.bus.problem = ""

    reported = "could not save the worktree (before a prompt): no disk"
    assert notices == [reported, reported]


class Reader:
    """An end of a connection that ignores what it receives."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        del lines

    def ended(self, error: Exception | None) -> None:
        del error

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...


@pytest.mark.requirement("snapshots.around-tools")
async def test_replayed_calls_take_no_snapshot_and_a_line_too_long_takes_one() -> None:
    bus = Bus()
    live, reported, problems = asyncio.Event(), asyncio.Event(), list[str]()

    def report(text: str) -> None:
        problems.append(text)
        reported.set()

    def call(id_: str) -> bytes:
        update = {"sessionUpdate": "tool_call", "toolCallId": id_, "title": f"edit {id_}"}
        return json.dumps({"method": "session/update", "params": {"update": update}}).encode()

    async with asyncio.timeout(45), BusSnapshots("one", cast("BusClient", bus)) as snapshots:
        agent, ours = memory_pair(limit=4000)
        snapshots.listen(ours, Listening(lambda: not live.is_set(), report)).start(Reader())
        agent.start(Reader())
        agent.send(call("1"))
        await agent.drain()
        live.set()
        agent.send(b"x" * 5000)
        await bus.asked.wait()
        bus.problem = "no disk"
        agent.send(call("2"))
        await reported.wait()

    assert [(each.reason, each.called_at) for each in bus.snapshots] == [
        ("a line that is too long to parse", None)
    ]
    assert problems == ["could not save the worktree (tool call edit 2): no disk"]


@pytest.mark.requirement("approvals.done-own-work")
async def test_only_changed_files_or_commits_count_as_work_of_a_turn(tmp_path: Path) -> None:
    async with Server(tmp_path).running() as server:
        await server.say("hello")
        without = server.states[-1].changed_at
        server.give("hello")
        await server.bus.asked.wait()
        await server.viewer.until("prompt", 2)
        server.bus.tree = "another"
        await server.ended()
        with_work = server.states[-1].changed_at
        await server.say("hello")
        after = server.states[-1].changed_at

    assert without == 0
    assert with_work > 0
    assert after == with_work


@pytest.mark.requirement("tasks.spending")
async def test_last_known_budget_is_used_when_the_daemon_fails(tmp_path: Path) -> None:
    del tmp_path
    bus = Bus()
    budget = BusBudget("one", cast("BusClient", bus))
    found = [await budget.exceeded()]
    for problem, is_over in (("gone", True), ("", True), ("gone", False), ("", False)):
        bus.problem, bus.spent = problem, BudgetChecked(is_over=is_over, text="1 of 1turns")
        found.append(await budget.exceeded())

    assert found == [None, None, "1 of 1turns", "1 of 1turns", None]


@pytest.mark.requirement("tasks.server-announces")
async def test_session_announces_its_turns_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "RETRY", 0)
    async with Server(tmp_path).running() as server:
        await server.say("hello")
        server.bus.problem = "the daemon is gone"
        await server.say("hello again")
        server.bus.problem = ""

    kinds = [each.kind for each in server.bus.notes]
    turn = [NoteKind.TURN_STARTED, NoteKind.TURN_ENDED]
    assert kinds == [NoteKind.STARTED, *turn, *turn, NoteKind.EXITED]
    assert [each.text for each in server.bus.notes[1:4]] == ["hello", "end_turn", "hello again"]
    numbers = [each.seq for each in server.bus.notes]
    assert numbers == sorted(numbers)
    assert {each.session for each in server.bus.notes} == {SPEC.id}


@pytest.mark.requirement("tasks.spending")
async def test_prompt_waits_while_the_budget_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "TICK", 0.001)
    async with Server(tmp_path).running() as server:
        server.bus.spent = BudgetChecked(is_over=True, text="2 of 2 turns")
        server.give("hello")
        await server.viewer.until("notice", 1)
        before = [*server.viewer.of("prompt"), *server.bus.reasons()]
        server.bus.spent = BudgetChecked(is_over=False, text="")
        await server.ended()
        notices = [each["text"] for each in server.viewer.of("notice")]

    assert before == []
    assert notices == ["paused: budget: 2 of 2 turns"]


@pytest.mark.requirement("tasks.server-announces")
async def test_note_is_sent_again_without_a_later_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "RETRY", 0)
    bus = Bus()
    bus.problem = "gone"
    async with asyncio.timeout(45), BusNotes(SPEC.id, cast("BusClient", bus)) as notes:
        notes.event(1, "question", {"title": "may I?"})
        for _ in range(5):
            await asyncio.sleep(0)
        bus.problem = ""
        await bus.noted.wait()

    assert [each.text for each in bus.notes] == ["may I?", ""]


@pytest.mark.requirement("tasks.server-announces")
async def test_session_that_requires_a_login_announces_it() -> None:
    bus = Bus()
    async with BusNotes(SPEC.id, cast("BusClient", bus)) as notes:
        notes.event(3, "question", {"title": "may I?\nplease"})
        notes.event(4, "update", {"text": "of no list"})
        notes.login("log in first")

    assert [(each.seq, each.kind, each.text) for each in bus.notes] == [
        (3, NoteKind.ASKED, "may I? please"),
        (4, NoteKind.LOGIN, "log in first"),
    ]


@pytest.mark.requirement("tasks.server-announces")
async def test_end_of_a_session_does_not_wait_for_the_daemon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announcing, "RETRY", 0)
    bus = Bus()
    bus.problem = "gone"
    async with asyncio.timeout(45):
        async with BusNotes(SPEC.id, cast("BusClient", bus)) as notes:
            for number in range(announcing.MAX_NOTES + 10):
                notes.event(number, "result", {"stopReason": str(number)})
            bus.problem = ""

    assert [each.text for each in bus.notes][-2:] == [str(announcing.MAX_NOTES + 9), ""]
    assert len(bus.notes) <= announcing.MAX_NOTES
