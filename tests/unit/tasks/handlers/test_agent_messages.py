"""Requests of agents about their tasks, through their handlers."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.support.task_harness import open_scene
from tests.support.task_views import asked, serve

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.agents import (
    DeleteTaskspace,
    Ended,
    FinishTaskspace,
    GuidanceRead,
    LogProgress,
    ProgressCategory,
    Recorded,
    SignalUser,
    Spawned,
    SpawnTaskspace,
    TaskResult,
    TaskspaceInfo,
    TaskspaceState,
    WaitForTaskspaces,
)
from symposium.bus.messages.editor import Registered, RegisterTaskspaceWindow
from symposium.bus.protocol import BusRequest
from symposium.tasks.deletion.trash import DeletionDecision
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.agent_messages import AgentMessageHandlers, ChildTaskHandlers
from symposium.tasks.model import Layout, Taskspace, TaskspaceError, TaskState
from symposium.tasks.spawning import Spawning, SpawnRequest

PARENT, CHILD, OTHER = [str(UUID(int=(0xABC << 96) + number)) for number in range(1, 4)]
TASK = Taskspace(
    *(PARENT, "/p", Layout.BESIDE, "parent", "/p/1", "b", "", "the button"),
    standing=TaskState.READY,
    initial_prompt="Fix it.",
    agent="claude",
    collaborator="socrates",
)


class SpawnRequests(Spawning):
    """Spawns nothing, and records the requests."""

    requests: list[tuple[str, SpawnRequest]]

    async def spawn(self, parent_id: str, wanted: SpawnRequest) -> Taskspace:
        self.requests.append((parent_id, wanted))
        return replace(TASK, id=CHILD)


class Requests:
    """Handlers over three tasks without a clone, the progress, and the windows."""

    def __init__(self, folder: Path) -> None:
        self.scene = open_scene(folder)
        self.engine: Engine = self.scene.engine
        self.spawning = self.engine.spawning = SpawnRequests(self.scene.context)
        self.spawning.requests = []
        self.windows: list[tuple[str, str, str]] = []
        agents = serve(self.engine, folder).agents
        self._answers = HandlerTable()
        self._answers.extend(
            AgentMessageHandlers(self.engine, agents, lambda: 3, self._register).answers()
        )
        self._answers.extend(ChildTaskHandlers(self.engine).answers())
        self.said: list[str] = []

    def _register(self, connection: str, taskspace: str, title: str) -> None:
        self.windows.append((connection, taskspace, title))

    async def ask(self, message: BusRequest[Any]) -> Any:
        return await self._answers.requests[message.about.type](message, asked(self.said))


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncGenerator[Requests]:
    made = Requests(tmp_path)
    for each in (
        TASK,
        replace(TASK, id=CHILD, name="child", branch="c", parent=PARENT),
        replace(TASK, id=OTHER, name="other", standing=TaskState.ARCHIVED),
    ):
        await made.scene.context.put(each)
    yield made
    made.scene.engine.close()


def place(id_: str = PARENT) -> dict[str, str]:
    return {"project_path": "/p", "taskspace_uuid": id_}


@pytest.mark.requirement("tasks.agents-messages")
async def test_agent_reads_its_prompt_until_it_changes_its_task(agent: Requests) -> None:
    before = await agent.ask(TaskspaceState(**place()))
    after = await agent.ask(TaskspaceState(**place(), name="Login", collaborator="hume"))

    command = before.agent_command
    assert "claude" in command[0]
    assert before == TaskspaceInfo("parent", "the button", "Fix it.", command, "socrates")
    assert after == TaskspaceInfo("Login", "the button", None, after.agent_command, "hume")


@pytest.mark.requirement("tasks.agents-messages")
async def test_report_is_recorded_and_its_agent_hears_how_many_views_show_it(
    agent: Requests,
) -> None:
    named = f"task-{PARENT.upper()}"
    info = ProgressCategory.INFO
    logged = [
        await agent.ask(LogProgress(**place(id_), message="half", category=info))
        for id_ in (PARENT, named)
    ]
    signaled = await agent.ask(SignalUser(**place(), message="which one?"))
    for _ in range(2):
        await agent.ask(GuidanceRead(**place(), id="i" * 300, layer="l" * 30, sha256="0" * 70))
    entries = await agent.engine.logs.entries(PARENT)
    (read,) = await agent.engine.guidance.of(PARENT)

    assert [*logged, signaled] == [Recorded(watchers=3)] * 3
    assert [(each.category.value, each.message) for each in entries] == [
        *[("info", "half")] * 2,
        ("question", "which one?"),
    ]
    assert (read.id, read.layer, read.sha256, read.count) == ("i" * 200, "l" * 20, "0" * 64, 2)


@pytest.mark.requirement("tasks.agents-messages")
async def test_spawned_task_has_the_agent_and_collaborator_that_were_named(
    agent: Requests,
) -> None:
    spawned = await agent.ask(
        SpawnTaskspace(
            **place(),
            name="child",
            task_description="half of it",
            initial_prompt="do",
            collaborator="hume",
            agent="testy",
        )
    )

    assert spawned == Spawned(CHILD)
    assert agent.spawning.requests == [
        (PARENT, SpawnRequest("child", "do", "half of it", "hume", "testy"))
    ]
    assert agent.said == ["making a worktree"]


@pytest.mark.requirement("tasks.agents-messages")
async def test_archived_task_takes_no_part(agent: Requests) -> None:
    for message in (
        TaskspaceState(**place(OTHER)),
        GuidanceRead(**place(OTHER), id="main.md", layer="", sha256="0"),
        RegisterTaskspaceWindow(window_title="title", taskspace_uuid=OTHER),
        DeleteTaskspace(**place(OTHER)),
        SpawnTaskspace(**place(OTHER), name="n", task_description="d", initial_prompt="p"),
    ):
        with pytest.raises(TaskspaceError, match="archived"):
            await agent.ask(message)

    assert (agent.windows, agent.spawning.requests, agent.said) == ([], [], [])


@pytest.mark.requirement("tasks.agents-messages")
async def test_window_is_registered_for_its_task_and_connection(agent: Requests) -> None:
    message = RegisterTaskspaceWindow(window_title="title", taskspace_uuid=PARENT.upper())

    assert await agent.ask(message) == Registered()
    assert agent.windows == [("c1", PARENT, "title")]


@pytest.mark.requirement("tasks.agents-messages")
async def test_agent_hears_that_the_user_keeps_its_task(agent: Requests) -> None:
    came = asyncio.Event()
    agent.engine.trash.requests.on_change = came.set
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(refusal(agent, DeleteTaskspace(**place())))
        await came.wait()
        agent.engine.trash.requests.decide(PARENT, DeletionDecision.CANCELLED)

    assert asking.result() == ("Taskspace deletion was cancelled by user", "cancelled")
    assert agent.said == ["waiting for the user to decide; `symposium inbox` shows the question"]


async def refusal(agent: Requests, message: BusRequest[Any]) -> tuple[str, str]:
    with pytest.raises(BusRefusedError) as refused:
        await agent.ask(message)
    return refused.value.message, refused.value.code


@pytest.mark.requirement("tasks.agents-messages")
async def test_parent_gets_the_results_of_its_children_in_its_own_order(agent: Requests) -> None:
    second = str(UUID(int=9))
    made = replace(TASK, id=second, name="second", branch="s", parent=CHILD)
    await agent.scene.context.put(made)
    for id_, text in ((CHILD, "one"), (second, "two")):
        done = FinishTaskspace(**place(id_), result=text, evidence=f"commit {text}")
        await agent.ask(done)
    wait = WaitForTaskspaces(**place(), children=(second, CHILD.upper()))
    ended: Ended = await agent.ask(wait)
    strange = await refusal(agent, WaitForTaskspaces(**place(), children=(CHILD, PARENT)))
    entries = await agent.engine.logs.entries(CHILD)

    assert ended.results == (
        TaskResult(second, "second", "s", "finished", "two", "commit two"),
        TaskResult(CHILD, "child", "c", "finished", "one", "commit one"),
    )
    assert strange == (f"{PARENT} is not a child of this task; name children only", "forbidden")
    assert agent.said == ["waiting for 2 taskspaces"]
    assert [(each.category.value, each.message, each.evidence) for each in entries] == [
        ("milestone", "one", "commit one")
    ]
