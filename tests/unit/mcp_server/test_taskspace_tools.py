"""Tools with slow requests to the daemon."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp_harness import TASK, FakeBus, ProgressRecorder, call_tool, workplace_in

from symposium.bus.endpoint import OnProgress
from symposium.bus.errors import BusLostError, BusRefusedError
from symposium.bus.messages.agents import (
    Decided,
    Ended,
    Spawned,
    SpawnTaskspace,
    TaskResult,
    TaskspaceInfo,
    TaskspaceState,
    WaitForTaskspaces,
)
from symposium.bus.messages.broker import Progress

ORDER = {"name": "Docs", "task_description": "Write them", "initial_prompt": "Write the docs."}


@pytest.mark.requirement("mcp-server.taskspace-tools")
@pytest.mark.parametrize(
    ("asked", "mine", "expected"),
    [(None, "sparkle", "sparkle"), ("base-agent", "sparkle", "base-agent"), (None, None, None)],
)
async def test_new_task_inherits_the_collaborator(
    asked: str | None, mine: str | None, expected: str | None, tmp_path: Path
) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", TaskspaceInfo(collaborator=mine))
    bus.answer("spawn_taskspace", Spawned(new_taskspace_uuid="new-one"))
    arguments = ORDER if asked is None else ORDER | {"collaborator": asked}
    answer = await call_tool(workplace_in(tmp_path, bus), "spawn_taskspace", arguments)
    message = bus.asked[-1]

    assert "new-one" in answer.text
    assert isinstance(message, SpawnTaskspace)
    assert (message.taskspace_uuid, message.collaborator) == (TASK, expected)
    assert message.initial_prompt == "Write the docs."


@pytest.mark.requirement("tasks.agent-names-everywhere")
async def test_named_agent_is_passed_on(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", TaskspaceInfo())
    bus.answer("spawn_taskspace", Spawned(new_taskspace_uuid="new-one"))
    await call_tool(workplace_in(tmp_path, bus), "spawn_taskspace", ORDER | {"agent": "gemini"})

    assert isinstance(bus.asked[-1], SpawnTaskspace)
    assert bus.asked[-1].agent == "gemini"


@pytest.mark.requirement("mcp-server.taskspace-tools", "mcp-server.errors")
async def test_failed_creation_is_not_reported_as_created(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("spawn_taskspace", BusRefusedError("at most 8 children", "failed", "do it here"))
    answer = await call_tool(workplace_in(tmp_path, bus), "spawn_taskspace", ORDER)

    assert answer.is_error
    assert "at most 8 children\ndo it here" in answer.text


@pytest.mark.requirement("mcp-server.taskspace-tools")
@pytest.mark.parametrize(("prompt", "is_cleared"), [(None, True), ("still", False)])
async def test_update_returns_the_new_state(
    prompt: str | None, *, is_cleared: bool, tmp_path: Path
) -> None:
    bus = FakeBus()
    now = TaskspaceInfo(name="Locked by the user", description="d", initial_prompt=prompt)
    bus.answer("taskspace_state", now)
    arguments = {"name": "Mine", "description": "d"}
    answer = await call_tool(workplace_in(tmp_path, bus), "update_taskspace", arguments)
    (message,) = bus.asked

    assert isinstance(message, TaskspaceState)
    assert (message.name, message.description, message.collaborator) == ("Mine", "d", None)
    assert "'Locked by the user'" in answer.text
    assert answer.value.initial_prompt_cleared is is_cleared
    assert ("cleared" in answer.text) is is_cleared


@pytest.mark.requirement("mcp-server.delete")
@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        (Decided(outcome="deleted"), "deleted", "was deleted"),
        (Decided(outcome="archived"), "archived", "can restore them"),
        (Decided(outcome="cancelled"), "cancelled", "Nothing was deleted"),
        (Decided(outcome="expired"), "expired", "Nothing was deleted"),
        (Decided(outcome="pending"), "pending", "Nothing was deleted"),
        (
            BusRefusedError("Taskspace deletion was cancelled by user"),
            "cancelled",
            "Nothing was deleted",
        ),
        (BusRefusedError("no answer", "timeout"), "pending", "Nothing was deleted"),
    ],
)
async def test_answer_states_the_decision(
    reply: Any, outcome: str, text: str, tmp_path: Path
) -> None:
    bus = FakeBus()
    bus.answer("delete_taskspace", reply)
    answer = await call_tool(workplace_in(tmp_path, bus), "delete_taskspace", {})

    assert answer.value.outcome == outcome
    assert text in answer.text
    assert not answer.is_error
    assert bus.timeouts == [1800.0]


@pytest.mark.requirement("mcp-server.delete")
async def test_progress_is_forwarded(tmp_path: Path) -> None:
    bus, progress = FakeBus(), ProgressRecorder()
    decide = asyncio.Event()

    async def deciding(message: Any, news: OnProgress | None) -> Decided:
        del message
        assert news is not None
        news(Progress(request_id="r", message="2 commits are on no remote"))
        await decide.wait()
        return Decided(outcome="deleted")

    bus.answers["delete_taskspace"] = deciding
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        call = call_tool(workplace_in(tmp_path, bus), "delete_taskspace", {}, progress)
        answer = tasks.create_task(call)
        while "2 commits are on no remote" not in progress.lines:
            progress.came.clear()
            await progress.came.wait()
        assert not answer.done()
        decide.set()

    assert answer.result().value.outcome == "deleted"


@pytest.mark.requirement("mcp-server.delete", "mcp-server.errors")
@pytest.mark.parametrize("error", [BusLostError("lost", "look"), BusRefusedError("no", "failed")])
async def test_failure_is_not_reported_as_a_deletion(error: Exception, tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("delete_taskspace", error)
    answer = await call_tool(workplace_in(tmp_path, bus), "delete_taskspace", {})

    assert answer.is_error
    assert "deleted" not in answer.text


@pytest.mark.requirement("mcp-server.delete")
async def test_canceled_call_withdraws_its_request(tmp_path: Path) -> None:
    bus, progress = FakeBus(), ProgressRecorder()
    ended = asyncio.Event()

    async def deciding(message: Any, news: OnProgress | None) -> Decided:
        del message, news
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Decided()

    bus.answers["delete_taskspace"] = deciding
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        call = call_tool(workplace_in(tmp_path, bus), "delete_taskspace", {}, progress)
        asking = tasks.create_task(call)
        await progress.came.wait()
        asking.cancel()
        await ended.wait()

    assert asking.cancelled()


@pytest.mark.requirement("tasks.wait-for")
async def test_results_of_other_tasks_are_awaited_for_half_an_hour(tmp_path: Path) -> None:
    bus = FakeBus()
    ended = (
        TaskResult("1", "parser", "task/parser", "finished", "It parses.", "12 passed"),
        TaskResult("2", "docs", "task/docs", "archived"),
    )
    progress = ProgressRecorder()

    async def finishing(message: Any, news: OnProgress | None) -> Ended:
        del message, news
        await progress.came.wait()
        return Ended(results=ended)

    bus.answers["wait_for_taskspaces"] = finishing
    workplace, arguments = workplace_in(tmp_path, bus), {"taskspace_uuids": ["1", "2"]}
    answer = await call_tool(workplace, "wait_for_taskspaces", arguments, progress)
    bus.answer("wait_for_taskspaces", BusRefusedError("no answer", "timeout"))
    late = await call_tool(workplace, "wait_for_taskspaces", arguments)
    bus.answer("wait_for_taskspaces", BusRefusedError("no such child", "not_found"))
    refused = await call_tool(workplace, "wait_for_taskspaces", arguments)

    assert progress.lines == ["Waiting for 2 taskspace(s)."]
    assert answer.text == (
        "parser is finished on task/parser: It parses. (12 passed)\n"
        "docs is archived on task/docs: no result given"
    )
    assert answer.value.results == [*ended]
    assert late.text == "The taskspaces are not finished yet; call again to wait longer."
    assert (late.value.results, late.is_error, refused.is_error) == ([], False, True)
    assert bus.timeouts == [1800.0] * 3
    assert (
        bus.asked
        == [
            WaitForTaskspaces(
                project_path=str(tmp_path / "checkout"), taskspace_uuid=TASK, children=("1", "2")
            )
        ]
        * 3
    )
