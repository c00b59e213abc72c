"""Editor window that is registered for a task, at a real daemon."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.daemons import DaemonFolder, daemon_folder
from tests.support.mcp_process import repository_in

from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_start import dial_running
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import LogProgress
from symposium.bus.messages.editor import GetSelection, RegisterTaskspaceWindow, Selection
from symposium.bus.messages.tasks import CreateTaskspace
from symposium.bus.messages.worktrees import ReportTaskspace
from symposium.bus.protocol import Role

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path / "home") as found:
        found.folder.mkdir()
        yield found


def agent_in(home: DaemonFolder, worktree: str, taskspace: str) -> BusClient:
    who = Identity(Role.MCP_SERVER, "agent", Sender(worktree, taskspace))
    return BusClient(who, settings=ClientSettings(home.options, dial_running))


@pytest.mark.requirement("bus.window-registered", "taskspaces.presence")
async def test_window_answers_for_its_task_until_it_disconnects(
    home: DaemonFolder, tmp_path: Path
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    answers = HandlerTable()

    async def selection(message: GetSelection, asked: RequestContext) -> Selection:
        del message, asked
        return Selection(selected_text="picked")

    answers.on_request(GetSelection, selection)
    await home.start()
    async with home.client(Role.CLI) as user:
        made = (await user.request(CreateTaskspace(project=str(clone), name="shown"))).taskspace
        register = RegisterTaskspaceWindow(
            window_title=f"[SYMPOSIUM:{made.id}]", taskspace_uuid=made.id
        )
        report = ReportTaskspace(taskspace_uuid=made.id)
        progress = LogProgress(project_path=str(clone), taskspace_uuid=made.id, message="m")
        async with agent_in(home, made.worktree, made.id) as agent:
            async with home.client(Role.EDITOR, answers) as editor:
                await editor.request(register)
                found = await agent.request(GetSelection())
                recorded = await agent.request(progress)
                shown = await user.request(report)
            with pytest.raises(BusRefusedError, match="no connected peer"):
                await agent.request(GetSelection())
            left = await user.request(report)

    assert found.selected_text == "picked"
    assert recorded.watchers == 1
    assert "1 window is open" in str(shown)
    assert "window is open" not in str(left)
