"""A session server of an ACP agent, with the built-in test agent in this process."""

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.config.paths import paths
from symposium.sessions.acp_server import AcpSessionServer
from symposium.sessions.budget import NoBudget, SpendingMeter
from symposium.sessions.client import ANSWER, CANCEL, QUESTIONS, SAY, WATCH
from symposium.sessions.session import (
    AS_ASKED,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.sessions.session_announcements import NoNotes
from symposium.sessions.spending import read_spending
from symposium.sessions.tool_call_snapshots import NoSnapshots

SPEC = SessionSpec(str(UUID(int=1)), SessionKind.ACP, ("testy",), "/")


class UnsavedWorktree(NoSnapshots):
    """A worktree that cannot be saved, and that every turn changes."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.problem = ""
        self.has_changed = False

    async def save(self, reason: str) -> str:
        self.reasons.append(reason)
        return self.problem

    async def begin_turn(self) -> str:
        return await self.save("before a prompt")


class Noted(NoNotes):
    def __init__(self) -> None:
        self.events: list[tuple[int, str]] = []

    def event(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        del data
        self.events.append((seq, kind))


class Viewer:
    """A viewer that waits for events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._came = asyncio.Event()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        del method
        self.events.append(dict(params))
        self._came.set()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each["data"] for each in self.events if each["type"] == kind]

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Return the event of a kind, once there are that many."""
        while len(found := self.of(kind)) < count:
            self._came.clear()
            await self._came.wait()
        return found[count - 1]


class Session:
    """A running session server, and one viewer of it."""

    def __init__(
        self, store: SessionStore, spec: SessionSpec, meter: type[SpendingMeter] = SpendingMeter
    ) -> None:
        directory = store.directory(spec.id)
        self.store = store
        self.snapshots, self.notes, self.viewer = UnsavedWorktree(), Noted(), Viewer()
        spending = meter(directory, NoBudget())
        self.server = AcpSessionServer(spec, store, self.snapshots, spending, self.notes)
        self.states: list[ServerSessionState] = []

    def ask(self, method: str, **params: Any) -> Any:
        return self.server.requests(self.viewer)[method](Request(method, params, b"1"))

    async def run(self) -> ServerSessionState:
        return await self.server.run(self.states.append)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    places = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    return SessionStore(paths(places))


@asynccontextmanager
async def session(
    store: SessionStore,
    spec: SessionSpec = SPEC,
    *,
    watched: bool = True,
    meter: type[SpendingMeter] = SpendingMeter,
) -> AsyncGenerator[Session]:
    """Run a session in the block, and stop it afterwards."""
    store.add(spec)
    made = Session(store, spec, meter)
    if watched:
        made.ask(WATCH)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        yield made
        made.server.stop()
        made.server.stop()
        ended = await running
        store.write_state(spec.id, ended)
    assert (ended.status, ended.reason) == (Status.EXITED, AS_ASKED)


def texts(viewer: Viewer) -> list[str]:
    contents = [each.get("content") for each in viewer.of("update")]
    return [each["text"] for each in contents if isinstance(each, dict)]


@pytest.mark.requirement("agent-sessions.acp-prompts")
async def test_prompts_are_answered_and_announced_in_order(store: SessionStore) -> None:
    async with session(store, replace(SPEC, prompt="first")) as made:
        first = made.ask(SAY, text='{"command": "echo", "message": "second"}')
        await made.viewer.until("result", 2)
        described = made.server.describe()

    assert first == {"waiting": 2}
    assert [each["text"] for each in made.viewer.of("prompt")] == [
        "first",
        '{"command": "echo", "message": "second"}',
    ]
    assert texts(made.viewer)[-1] == "second"
    assert made.viewer.of("result") == [{"stopReason": "end_turn"}] * 2
    assert (described["working"], described["open"], described["waiting"]) == (False, True, 0)
    numbers = [each["seq"] for each in made.viewer.events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert made.notes.events == [(each["seq"], each["type"]) for each in made.viewer.events]
    assert read_spending(store.directory(SPEC.id)).turns == 2
    assert made.snapshots.reasons == ["before a prompt", "the turn is over"] * 2


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
async def test_first_prompt_is_not_repeated_after_a_restart(store: SessionStore) -> None:
    spec = replace(SPEC, prompt="first")
    async with session(store, spec) as before:
        await before.viewer.until("result")
    async with session(store, spec) as after:
        after.ask(SAY, text="second")
        await after.viewer.until("result")

    assert after.viewer.of("prompt") == [{"text": "second"}]
    assert after.states[0].status is Status.RUNNING
    assert after.states[0].server_pid == os.getpid()


@pytest.mark.requirement("agent-sessions.acp-resume")
async def test_session_resumes_with_its_id_and_waiting_prompts(store: SessionStore) -> None:
    async with session(store) as before:
        before.ask(SAY, text="hello")
        await before.viewer.until("result")
        before.server.stop()
        before.ask(SAY, text="while it stops")
    async with session(store) as after:
        await after.viewer.until("result")

    assert after.viewer.of("prompt") == [{"text": "while it stops"}]
    assert after.states[-1].acp_session == before.states[-1].acp_session
    assert not after.states[-1].is_fresh
    assert after.viewer.of("notice") == []


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
async def test_interrupted_prompt_is_offered_without_the_first_prompt(
    store: SessionStore,
) -> None:
    spec = replace(SPEC, prompt="first")
    store.add(spec)
    (store.directory(SPEC.id) / "prompts.json").write_text('{"waiting": [], "said": "lost"}')
    made = Session(store, spec)
    found = made.ask(WATCH)["events"]

    assert [(each["type"], each["data"]) for each in found] == [("interrupted", {"text": "lost"})]
    assert made.server.describe()["waiting"] == 0


@pytest.mark.requirement("agent-sessions.cancel")
async def test_cancel_ends_the_turn_only(store: SessionStore) -> None:
    async with session(store, watched=False) as made:
        idle = made.ask(CANCEL)
        made.ask(WATCH, since=0)
        made.ask(SAY, text="wait for cancel")
        await made.viewer.until("update")
        working = made.server.describe()["working"]
        busy = made.ask(CANCEL)
        ended = await made.viewer.until("result")
        made.ask(SAY, text="hello")
        again = await made.viewer.until("result", 2)

    assert (idle, working, busy) == ({"cancelled": False}, True, {"cancelled": True})
    assert (ended["stopReason"], again["stopReason"]) == ("cancelled", "end_turn")


@pytest.mark.requirement("agent-sessions.acp-prompts")
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"text": ""}, INVALID_PARAMS),
        ({"text": " \n"}, INVALID_PARAMS),
        ({"text": 1}, INVALID_PARAMS),
        ({}, INVALID_PARAMS),
        ({"text": "x" * (1024 * 1024 + 1)}, INVALID_REQUEST),
    ],
)
def test_invalid_prompt_is_rejected(store: SessionStore, params: dict[str, Any], code: int) -> None:
    store.add(SPEC)
    made = Session(store, SPEC)
    with pytest.raises(RpcError) as refused:
        made.ask(SAY, **params)

    # A signal may arrive before `run` starts.
    made.server.stop()
    assert refused.value.code == code
    assert made.server.describe()["waiting"] == 0


@pytest.mark.requirement("agent-sessions.storage-error")
def test_prompt_that_cannot_be_saved_is_an_internal_error(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        del handle
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.add(SPEC)
    made = Session(store, SPEC)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RpcError) as refused:
            made.ask(SAY, text="not saved")

    assert (refused.value.code, refused.value.data) == (INTERNAL_ERROR, {"reason": "storage"})
    assert refused.value.message.startswith("the prompt was not saved: cannot write")
    assert made.server.describe()["waiting"] == 0


@pytest.mark.requirement("agent-sessions.questions")
async def test_question_is_saved_shown_answered_once_and_recorded(store: SessionStore) -> None:
    async with session(store) as made:
        made.snapshots.problem = "the disk is full"
        made.ask(SAY, text="callbacks")
        asked = await made.viewer.until("question")
        listed = made.ask(QUESTIONS)["questions"]
        option = asked["options"][0]["optionId"]
        notices = made.viewer.of("notice")
        made.snapshots.problem = ""
        with pytest.raises(RpcError, match="has no option"):
            made.ask(ANSWER, question=asked["question"], optionId="another")
        made.ask(ANSWER, question=asked["question"], optionId=option, by="Ada")
        with pytest.raises(RpcError, match="already answered by Ada"):
            made.ask(ANSWER, question=asked["question"], optionId=option)
        with pytest.raises(RpcError) as wrong:
            made.ask(ANSWER, question="1", optionId=option)
        await made.viewer.until("question", 2)
        made.ask(CANCEL)
        await made.viewer.until("result")

    (number,) = [each["question"] for each in listed]
    assert number == asked["question"]
    assert made.viewer.of("settled") == [{"question": number}, {"question": number + 1}]
    assert made.viewer.of("permission")[0]["optionId"] == option
    assert notices == [{"text": "the disk is full"}] * 2, "before the turn, and before the question"
    assert made.snapshots.reasons[1].startswith("asked: ")
    assert wrong.value.code == INVALID_PARAMS


@pytest.mark.requirement("agent-sessions.acp-watch")
async def test_viewer_gets_new_events_until_it_leaves(store: SessionStore) -> None:
    async with session(store) as made:
        made.ask(SAY, text="hello")
        await made.viewer.until("result")
        late, gone = Viewer(), len(made.viewer.events)
        watch = made.server.requests(late)[WATCH]
        missed: Any = watch(Request(WATCH, {"since": gone - 1}, b"1"))
        with pytest.raises(RpcError):
            watch(Request(WATCH, {"since": "1"}, b"1"))
        made.server.left(made.viewer)
        made.ask(SAY, text="hello")
        await late.until("result")

    assert [each["type"] for each in missed["events"]] == ["result"]
    assert missed["seq"] == gone
    assert len(made.viewer.events) == gone


@pytest.mark.requirement("approvals.done-own-work")
async def test_only_a_turn_that_changed_the_worktree_is_recorded(store: SessionStore) -> None:
    async with session(store) as made:
        made.ask(SAY, text="hello")
        await made.viewer.until("result")
        unchanged = made.states[-1].changed_at
        made.snapshots.has_changed = True
        made.snapshots.problem = "the disk is full"
        made.ask(SAY, text="hello")
        await made.viewer.until("result", 2)

    assert unchanged == 0
    assert made.states[-1].changed_at > 0
    kinds = [each["type"] for each in made.viewer.events]
    assert kinds[-2:] == ["notice", "result"]


class BrokenMeter(SpendingMeter):
    """A meter that fails as soon as a turn runs."""

    async def spent(self) -> str:
        raise OSError("no disk")


@pytest.mark.requirement("tasks.budget")
async def test_turn_whose_budget_cannot_be_monitored_is_completed(store: SessionStore) -> None:
    async with session(store, meter=BrokenMeter) as made:
        made.ask(SAY, text="hello")
        ended = await made.viewer.until("result")

    assert made.viewer.of("notice") == [{"text": "the budget is not monitored: no disk"}]
    assert ended == {"stopReason": "end_turn"}


@pytest.mark.requirement("agent-sessions.acp-dies")
async def test_agent_that_never_starts_is_tried_four_times(store: SessionStore) -> None:
    """The fourth exit within five minutes is the last."""
    spec = replace(SPEC, command=("no-such-agent-anywhere",))
    store.add(spec)
    made = Session(store, spec)
    made.ask(WATCH)
    async with asyncio.timeout(45):
        ended = await made.run()

    assert ended.status is Status.EXITED
    assert "no-such-agent-anywhere" in ended.reason
    *ends, last = [each["text"] for each in made.viewer.of("notice")]
    assert ends == [f"the agent exited: {ended.reason}"] * 4
    assert "4 times within 5 minutes; not restarting it again" in last


@pytest.mark.requirement("agent-sessions.start-errors")
@pytest.mark.parametrize(
    ("command", "policy", "said"),
    [
        ("no-such-agent-anywhere --acp", "", "no-such-agent-anywhere"),
        ("testy", "broken [", "policy.toml"),
    ],
)
async def test_agent_that_needs_the_user_is_tried_once(
    store: SessionStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    policy: str,
    said: str,
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    spec = replace(SPEC, command=(command,))
    store.add(spec)
    if policy:
        (tmp_path / "home" / "policy.toml").write_text(policy)
    made = Session(store, spec)
    made.ask(WATCH)
    async with asyncio.timeout(45):
        ended = await made.run()

    assert ended.status is Status.EXITED
    assert said in ended.reason
    (notice,) = made.viewer.of("notice")
    assert notice["text"] == f"the agent exited: {ended.reason}"


@pytest.mark.requirement("agent-sessions.lost")
async def test_cancelled_session_server_does_not_report_a_requested_stop(
    store: SessionStore,
) -> None:
    store.add(SPEC)
    made = Session(store, SPEC)
    made.ask(WATCH)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        await made.viewer.until("started")
        running.cancel()
    assert running.cancelled()


@pytest.mark.requirement("agent-sessions.stop-and-cancel")
async def test_stop_leaves_no_cancellation_behind(store: SessionStore) -> None:
    store.add(SPEC)
    made = Session(store, SPEC)
    made.ask(WATCH)

    async def run() -> tuple[str, int]:
        ended = await made.run()
        task = asyncio.current_task()
        assert task is not None
        return ended.reason, task.cancelling()

    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run())
        await made.viewer.until("started")
        made.server.stop()
    assert running.result() == (AS_ASKED, 0)


@pytest.mark.requirement("agent-sessions.stop-and-cancel")
async def test_cancellation_during_a_stop_is_not_lost(store: SessionStore) -> None:
    store.add(SPEC)
    made = Session(store, SPEC)
    made.ask(WATCH)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        await made.viewer.until("started")
        made.server.stop()
        running.cancel()
    assert running.cancelled()
