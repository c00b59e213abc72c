"""Lookup of the task's context, with each failure of its sources."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp_harness import TASK, FakeBus, ProgressRecorder, workplace_in

from symposium.bus.endpoint import OnProgress
from symposium.bus.errors import (
    BusLostError,
    BusReconnectingError,
    BusRefusedError,
    BusUnreachableError,
)
from symposium.bus.messages.agents import TaskspaceInfo, TaskspaceState
from symposium.documents.first_prompt import TaskContext
from symposium.mcp_server.location import AgentLocation, written_down
from symposium.mcp_server.offering import ToolOffering
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.task_lookup import LOOKUP_TIMEOUT, keep_collaborator, look_up
from symposium.tasks.model import Layout, Taskspace, TaskState
from symposium.tasks.task_files import write_task_file

ON_DISK = TaskContext("From disk", "On disk", "Fix it.", "sparkle")


def store_task(workplace: ServerContext, where: Path) -> None:
    taskspace = Taskspace(
        TASK,
        str(workplace.root),
        Layout.BESIDE,
        "From disk",
        str(workplace.root),
        "task/import",
        "2026-01-01T00:00:00Z",
        description="On disk",
        standing=TaskState.READY,
        initial_prompt="Fix it.",
        collaborator="sparkle",
    )
    where.mkdir(parents=True)
    write_task_file(where / "taskspace.json", taskspace, [])


def beside(workplace: ServerContext) -> Path:
    project = Path(workplace.standing.project)
    return project.with_name(f"{project.name}.tasks") / ".symposium" / f"task-{TASK}"


@pytest.mark.requirement("mcp-server.prompts")
async def test_daemon_is_asked_first(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", TaskspaceInfo(name="Import", description="d", collaborator="c"))
    workplace = workplace_in(tmp_path, bus)
    store_task(workplace, beside(workplace))
    found = await look_up(workplace.standing, bus)

    assert found == TaskContext("Import", "d", None, "c")
    assert bus.asked == [TaskspaceState(project_path=str(workplace.root), taskspace_uuid=TASK)]


@pytest.mark.requirement("mcp-server.degraded")
@pytest.mark.parametrize(
    "error",
    [
        BusUnreachableError("no daemon", ""),
        BusReconnectingError("reconnecting", ""),
        BusLostError("lost", ""),
        BusRefusedError("no such taskspace", "not_found"),
        BusRefusedError("no handler", "no_handler"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_task_file_is_read_when_the_daemon_fails(error: Exception, tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", error)
    workplace = workplace_in(tmp_path, bus)
    nothing = await look_up(workplace.standing, bus)
    store_task(workplace, beside(workplace))

    assert nothing is None
    assert await look_up(workplace.standing, bus) == ON_DISK


@pytest.mark.requirement("mcp-server.degraded")
@pytest.mark.parametrize("place", ["beside", "project", "hidden", "parent"])
def test_task_file_is_found_from_any_directory(place: str, tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    project = Path(workplace.standing.project)
    elsewhere = tmp_path / "elsewhere" / "deep"
    where = {
        "beside": beside(workplace),
        "project": project / f"taskspace-{TASK}",
        "hidden": project / ".symposium" / f"task-{TASK}",
        "parent": elsewhere.parent,
    }
    store_task(workplace, where[place])

    assert written_down(AgentLocation(elsewhere, str(project), TASK)) == ON_DISK
    assert written_down(AgentLocation(elsewhere, str(project), TASK.replace("0", "1"))) is None


@pytest.mark.requirement("mcp-server.degraded")
async def test_silent_daemon_times_out_after_half_of_the_200_ms_of_a_prompt(tmp_path: Path) -> None:
    bus = FakeBus()

    async def silent(message: Any, news: OnProgress | None) -> Any:
        del message, news
        await asyncio.Event().wait()

    bus.answers["taskspace_state"] = silent
    workplace = workplace_in(tmp_path, bus)
    store_task(workplace, beside(workplace))
    found = await look_up(workplace.standing, bus)
    prompt = workplace.boot.inlined(found)

    assert LOOKUP_TIMEOUT <= 0.1
    assert found == ON_DISK
    assert "Fix it." in prompt


@pytest.mark.requirement("mcp-server.degraded")
async def test_daemon_is_not_asked_outside_a_task(tmp_path: Path) -> None:
    bus = FakeBus()
    workplace = workplace_in(tmp_path, bus, taskspace="")

    assert await look_up(workplace.standing, bus) is None
    assert bus.asked == []


@pytest.mark.requirement("mcp-server.degraded")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": 3}', '{"id": "nope"}', "\ud800"])
async def test_damaged_task_file_is_ignored(text: str, tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    beside(workplace).mkdir(parents=True)
    file = beside(workplace) / "taskspace.json"
    file.write_bytes(text.encode(errors="surrogatepass"))

    assert await look_up(workplace.standing, workplace.bus) is None


@pytest.mark.requirement("mcp-server.collaborator-kept")
@pytest.mark.parametrize(
    ("task", "asked", "expected"),
    [
        (TaskContext("n", "d"), "sparkle", ["sparkle"]),
        (TaskContext("n", "d", None, "sparkle"), "sparkle", []),
        (TaskContext("n", "d", "Fix it."), "sparkle", []),
        (TaskContext("n", "d"), None, []),
        (None, "sparkle", []),
    ],
)
async def test_chosen_collaborator_is_saved_when_the_task_has_started(
    task: TaskContext | None, asked: str | None, expected: list[str], tmp_path: Path
) -> None:
    bus = FakeBus()
    await keep_collaborator(workplace_in(tmp_path, bus).standing, bus, task, asked)
    kept = [message.collaborator for message in bus.asked if isinstance(message, TaskspaceState)]

    assert kept == expected


@pytest.mark.requirement("mcp-server.collaborator-kept")
async def test_prompt_saves_its_collaborator(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", TaskspaceInfo(name="Import", description="d"))
    offering = ToolOffering(workplace_in(tmp_path, bus))
    params = {"arguments": {"collaborator": "sparkle"}}
    await offering.prompt("hi", params, SilentClient())

    assert [
        message.collaborator for message in bus.asked if isinstance(message, TaskspaceState)
    ] == [
        None,
        "sparkle",
    ]


class SilentClient:
    """A client that gets no messages."""

    revision = "2025-11-25"
    news = ProgressRecorder()
    context = None
