"""Deletion at a real daemon, with an announcement before the files are removed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.daemons import DaemonFolder, RawSocket, daemon_folder
from tests.support.mcp_process import repository_in

from symposium.bus.envelope import read_envelope
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import (
    DeleteTaskspace,
    LogProgress,
    SignalUser,
    SpawnTaskspace,
    TaskspaceState,
    UpdateTaskspace,
)
from symposium.bus.messages.broker import Presence, WindowKind
from symposium.bus.messages.editor import RegisterTaskspaceWindow
from symposium.bus.messages.tasks import CreateTaskspace, ListInbox
from symposium.bus.messages.worktrees import RemoveTaskspace, TaskspaceWillDelete
from symposium.bus.protocol import BusRequest, Role

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path / "home") as found:
        found.folder.mkdir()
        yield found


@pytest.mark.requirement("taskspaces.deletion-announced")
async def test_editors_are_informed_before_a_taskspace_is_removed(
    home: DaemonFolder, tmp_path: Path
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    received: list[tuple[TaskspaceWillDelete, str]] = []
    has_received = asyncio.Event()
    answers = HandlerTable()

    async def receive(message: TaskspaceWillDelete, asked: RequestContext) -> None:
        received.append((message, asked.by))
        has_received.set()

    answers.on_announcement(TaskspaceWillDelete, receive)
    await home.start("--compat-socket", str(home.compat))
    window = Presence(kind=WindowKind.EDITOR)
    old = RawSocket(home.compat)
    async with (
        home.client(Role.EDITOR, answers, window) as editor,
        home.client(Role.CLI) as person,
    ):
        await editor.ready()
        made = (await person.request(CreateTaskspace(project=str(clone), name="goes"))).taskspace
        (Path(made.worktree) / "work").write_text("x", encoding="utf-8")
        with pytest.raises(BusRefusedError, match="1 untracked"):
            await person.request(RemoveTaskspace(taskspace_uuid=made.id, only_if_safe=True))
        assert received == []
        await person.request(RemoveTaskspace(taskspace_uuid=made.id))
        # Earlier messages may still be on their way to another peer.
        await has_received.wait()
        lines = [read_envelope(line) for line in await old.lines(1) if isinstance(line, bytes)]
        old.close()

    expected = TaskspaceWillDelete(taskspace_uuid=made.id, project_path=str(clone))
    assert received == [(expected, "daemon")]
    assert [each.type for each in lines] == ["taskspace_will_delete"]


@pytest.mark.requirement("taskspaces.archived-take-no-part")
async def test_archived_task_is_not_announced(home: DaemonFolder, tmp_path: Path) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    await home.start()
    async with home.client() as agent, home.client(Role.CLI) as user:
        made = (await user.request(CreateTaskspace(project=str(clone), name="old"))).taskspace
        place = {"project_path": str(clone), "taskspace_uuid": made.id}
        await agent.request(SignalUser(**place, message="Which one?"))
        was_asked = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            deleting = tasks.create_task(
                agent.request(DeleteTaskspace(**place), on_progress=lambda _: was_asked.set())
            )
            await was_asked.wait()
            await user.request(RemoveTaskspace(taskspace_uuid=made.id))
        inbox = await user.request(ListInbox())
        refused: tuple[BusRequest[Any], ...] = (
            SignalUser(**place, message="m"),
            LogProgress(project_path=str(clone), taskspace_uuid=made.id, message="m"),
            UpdateTaskspace(**place, name="zombie", description="d"),
            TaskspaceState(**place, name="zombie"),
            DeleteTaskspace(**place),
            RegisterTaskspaceWindow(window_title="t", taskspace_uuid=made.id),
            SpawnTaskspace(**place, name="n", task_description="d", initial_prompt="p"),
        )
        for message in refused[:-2]:
            with pytest.raises(BusRefusedError, match="'old' is archived"):
                await agent.request(message)
        for message in refused[-2:]:
            with pytest.raises(BusRefusedError, match="'old' is archived"):
                await user.request(message)

    assert deleting.result().outcome == "deleted"
    assert inbox.items == ()
