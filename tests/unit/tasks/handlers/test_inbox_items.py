"""The inbox lists items of every kind; an answer reaches the agent that asked, or the task."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs
from tests.support.session_servers import Servers
from tests.support.task_harness import Scene, open_scene
from tests.support.task_views import Served, asked, serve

from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import InboxChoice, ListTaskspaces, Tasks
from symposium.config.paths import paths
from symposium.sessions.session import (
    AS_ASKED,
    Login,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.sessions.spending import Spending, write_spending
from symposium.tasks.budget import budget_text, read_budget
from symposium.tasks.conflict_resolutions import Resolution, ResolutionStage
from symposium.tasks.deletion.trash import DeletionDecision
from symposium.tasks.handlers.finished_agents import choose_way
from symposium.tasks.handlers.live_sessions import LiveSessions, SessionServers
from symposium.tasks.model import Layout, Limits, Taskspace, TaskState
from symposium.tasks.tables import save

SEEN = InboxChoice("seen", "I have seen it")
DONE = "its agent is done and has changed files; `symposium task diff {}` shows them"
QUESTION = {"question": 7, "options": [{"optionId": "yes", "name": "Allow"}], "wish": "edit a"}
LOGIN = Login("no key", ("Run: login",), {"key": "Use a key", "retry": "Again"})
FINISHED = ServerSessionState(Status.EXITED, 5, reason=AS_ASKED, changed_at=90.25)


def id_of(number: int) -> str:
    return str(UUID(int=(number << 96) + 1))


@dataclass
class Inbox:
    """An inbox over tasks without clones; their agents' servers run in this process.

    Attributes:
        received: the prompts and decisions that servers received.
    """

    scene: Scene
    served: Served
    servers: Servers
    received: list[Any] = field(default_factory=list[Any])

    async def task(
        self, number: int, standing: TaskState = TaskState.READY, reason: str = "", **more: Any
    ) -> str:
        made = Taskspace(
            *(id_of(number), "/p", Layout.BESIDE, f"task {number}", f"/p/{number}", "b", ""),
            activated_at=f"2026-01-{number:02}T00:00:00+00:00",
            standing=standing,
            reason=reason,
            **more,
        )

        def write(connection: sqlite3.Connection) -> None:
            save(connection, made)

        await self.scene.context.journal.write(write)
        return made.id

    def ended(self, id_: str, state: ServerSessionState, at: float) -> None:
        """Record that the agent of a task has exited."""
        store = self.served.store
        store.add(SessionSpec(id_, SessionKind.ACP, ("agent",), "/"))
        store.write_state(id_, state)
        os.utime(store.directory(id_) / "state.json", (at, at))

    def run(self, id_: str, *questions: Any) -> None:
        """Start the server of an ACP agent."""

        async def describe() -> Any:
            return {"acpSession": "one", "working": True, "questions": questions}

        self.servers.answers(
            self.servers.started(id_), describe, self.received.append, self.received.append
        )


@pytest.fixture
async def inbox(tmp_path: Path) -> AsyncGenerator[Inbox]:
    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    async with Servers(store, tmp_path) as servers:
        scene = open_scene(tmp_path)
        live = LiveSessions(store, SessionServers(store).now)
        yield Inbox(scene, serve(scene.engine, tmp_path, live), servers)
        scene.engine.close()


@pytest.mark.requirement("tasks.inbox-order", "tasks.agent-ended", "tasks.login")
async def test_inbox_lists_urgent_kinds_first_and_the_oldest_item_of_each(inbox: Inbox) -> None:
    engine = inbox.scene.engine
    ids = [await inbox.task(number) for number in range(1, 9)]
    asks, wonders, logs_in, spends, leaves, ends, conflicts, works = ids
    older, newer = [
        await inbox.task(number, TaskState.SETUP_FAILED, reason)
        for number, reason in ((10, "`make` exited with 2"), (11, "timed out"))
    ]
    await inbox.task(12, TaskState.ARCHIVED)
    inbox.run(asks, QUESTION)
    second = await engine.records.signal(wonders, "and this?")
    first = await engine.records.log(asks, "which one?", "question")
    await engine.records.log(id_of(12), "too late?", "question")
    inbox.ended(logs_in, ServerSessionState(Status.EXITED, 3, reason="login", login=LOGIN), 60.0)
    inbox.run(spends)
    await engine.records.limit(spends, Limits(turns=2))
    write_spending(inbox.served.store.directory(spends), Spending(turns=2))
    inbox.ended(ends, ServerSessionState(Status.EXITED, 4, reason="it crashed"), 1_800_000_000.0)
    where = ("2026-01-07", "main", "c" * 40)
    await engine.resolutions.put(
        Resolution(conflicts, ResolutionStage.FAILED, 2, *where, reason="not clean")
    )
    for each in (conflicts, works):
        inbox.ended(each, FINISHED, 100.0)
    await inbox.served.live.find()
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(engine.trash.requests.ask(leaves, "all has landed"))
        await asyncio.sleep(0)
        (request,) = engine.trash.requests.pending()
        items = await inbox.served.inbox.items()
        engine.trash.requests.decide(leaves, DeletionDecision.CANCELLED)
        await asked

    retry = InboxChoice("retry", "Try again")
    expected = [
        (f"permission:{asks}:7", "wants to edit a", (InboxChoice("yes", "Allow"),)),
        (f"question:{second.number}", "and this?", (SEEN,)),
        (f"question:{first.number}", "which one?", (SEEN,)),
        (
            f"login:{logs_in}:3",
            "its agent requires a login: no key\nRun: login",
            (
                InboxChoice("key", "Let the agent log in: Use a key"),
                InboxChoice("retry", "I have logged in; continue"),
            ),
        ),
        (
            f"budget:{spends}:2turns",
            "its budget is spent (cost unknown, 0.0 min, 2 turns of 2turns); may it spend more?",
            (InboxChoice("more", "The same amount again"),),
        ),
        (
            f"delete:{leaves}:{request.id}",
            "its agent asks to delete the task: all has landed",
            (
                InboxChoice("archive", "Delete it; you can undo this for 14 days"),
                InboxChoice("keep", "Keep it"),
            ),
        ),
        (f"failed:{older}", "`make` exited with 2", (retry,)),
        (f"failed:{newer}", "timed out", (retry,)),
        (
            f"failed:{ends}:4",
            "its agent has ended: it crashed",
            (InboxChoice("retry", "Restart it"), SEEN),
        ),
        (
            f"landing:{conflicts}:2",
            "not clean",
            (
                InboxChoice("retry", "Try again: its agent gets the prompt once more"),
                InboxChoice("leave", "Leave it; the branch stays unchanged"),
            ),
        ),
        (
            f"done:{works}:90250",
            DONE.format(works[:8]),
            (InboxChoice("reviewed", "I have reviewed it"),),
        ),
    ]
    assert [(each.id, each.text, each.choices) for each in items] == expected
    assert [each.at for each in items if each.kind in {"login", "done", "landing", "failed"}] == [
        *("1970-01-01T00:01:00+00:00", "2026-01-10T00:00:00+00:00"),
        *("2026-01-11T00:00:00+00:00", "2027-01-15T08:00:00+00:00"),
        *("2026-01-07", "1970-01-01T00:01:30+00:00"),
    ]
    assert {each.taskspace: each.name for each in items} == {
        id_of(number): f"task {number}" for number in (*range(1, 9), 10, 11)
    }


@pytest.mark.requirement("tasks.list-pages")
async def test_list_has_the_tasks_that_wait_first_and_archived_ones_last(inbox: Inbox) -> None:
    one, two, three = [await inbox.task(number) for number in (1, 2, 3)]
    old = await inbox.task(9, TaskState.ARCHIVED)
    await inbox.scene.engine.records.signal(one, "which one?")

    async def listed(**options: Any) -> tuple[list[str], int]:
        message = ListTaskspaces(**options)
        answer = inbox.served.handlers.answers().requests[message.about.type]
        found: Tasks = await answer(message, asked())
        return [each.id for each in found.taskspaces], found.total

    assert await listed() == ([three, two, one, old], 4)
    assert await listed(is_archived=False) == ([three, two, one], 3)
    assert await listed(is_urgent_first=True) == ([one, three, two, old], 4)
    assert await listed(is_urgent_first=True, after=1, limit=2) == ([three, two], 4)


@pytest.mark.requirement("tasks.inbox")
async def test_answers_reach_the_agent_that_asked(inbox: Inbox) -> None:
    asks, types = await inbox.task(1), await inbox.task(2)
    inbox.run(asks, QUESTION)
    inbox.served.store.add(SessionSpec(types, SessionKind.TERMINAL, ("vi",), "/"))
    records = inbox.scene.engine.records
    to_agent, to_terminal = [await records.signal(each, "which?") for each in (asks, types)]
    await inbox.served.live.find()

    allowed = await inbox.served.inbox.answer(f"permission:{asks}:7", "yes", "me")
    said = await inbox.served.inbox.answer(f"question:{to_agent.number}", "the first", "me")
    with pytest.raises(BusRefusedError) as refused:
        await inbox.served.inbox.answer(f"question:{to_terminal.number}", "the first", "me")

    assert inbox.received == [{"question": 7, "optionId": "yes", "by": "me"}, "the first"]
    assert (allowed, said) == ("task 1 is answered", "the answer is sent to its agent")
    assert (refused.value.message, refused.value.code) == (
        *(
            "its agent has its own terminal; answer there: `symposium task attach 00000002`",
            "no_handler",
        ),
    )
    open_questions = await inbox.scene.engine.logs.attention()
    assert [each.taskspace for each in open_questions] == [types]


@pytest.mark.requirement("tasks.inbox")
async def test_answered_permission_is_not_listed_before_its_server_announces_that(
    inbox: Inbox,
) -> None:
    asks, questions = await inbox.task(1), [QUESTION]

    async def describe() -> Any:
        return {"acpSession": "one", "announces": True, "questions": questions}

    def decide(_: Any) -> None:
        questions.clear()

    inbox.servers.answers(inbox.servers.started(asks), describe, decide=decide)
    inbox.served.live.noted(asks, "asked")
    (item,) = await inbox.served.inbox.items()
    await inbox.served.inbox.answer(item.id, "yes", "me")

    assert await inbox.served.inbox.items() == []


@pytest.mark.requirement("tasks.budget", "tasks.agent-ended", "tasks.login")
async def test_answers_settle_items_without_an_agent(inbox: Inbox) -> None:
    spends, ends, works = [await inbox.task(number) for number in (1, 2, 3)]
    await inbox.scene.engine.records.limit(spends, read_budget("2turns"))
    inbox.run(spends)
    write_spending(inbox.served.store.directory(spends), Spending(turns=2))
    inbox.ended(ends, ServerSessionState(Status.EXITED, 4, reason="it crashed"), 0.0)
    inbox.ended(works, FINISHED, 100.0)
    await inbox.served.live.find()
    changes: list[None] = []
    inbox.served.inbox.on_change = lambda: changes.append(None)

    said = [
        await inbox.served.inbox.answer(each.id, answer, "me")
        for each, answer in zip(
            await inbox.served.inbox.items(), ("more", "seen", "reviewed"), strict=True
        )
    ]

    assert said == ["task 1 may spend 4turns in all", "seen", "task 3 is reviewed"]
    assert (await inbox.served.inbox.items(), len(changes)) == ([], 3)
    assert budget_text((await inbox.scene.engine.get(spends)).limits) == "4turns"
    again = serve(inbox.scene.engine, inbox.scene.root, LiveSessions(inbox.served.store))
    await again.live.find()
    assert [each.kind for each in await again.inbox.items()] == ["failed"]


@pytest.mark.requirement("tasks.login")
@pytest.mark.parametrize(("answer", "chosen"), [("key", "key"), ("retry", ""), ("unknown", "")])
async def test_chosen_login_method_is_stored_for_the_next_start(
    inbox: Inbox, answer: str, chosen: str
) -> None:
    id_ = await inbox.task(1)
    login = replace(LOGIN, chosen="old")
    state = ServerSessionState(Status.EXITED, 3, reason="login", login=login)
    inbox.ended(id_, state, 0.0)

    choose_way(id_, inbox.served.store, answer)

    expected = structs.replace(state, login=replace(LOGIN, chosen=chosen))
    assert inbox.served.store.state(id_) == expected
