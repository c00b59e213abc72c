"""A deletion at a real daemon, and who hears of it before the files go."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.daemons import Raw, Yard, yard
from tests.support.mcp_process import repository_in

from symposium.bus.answers import Answers, Asked
from symposium.bus.envelope import read_envelope
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.create_taskspace import CreateTaskspace
from symposium.bus.messages.presence import Presence
from symposium.bus.messages.remove_taskspace import RemoveTaskspace
from symposium.bus.messages.taskspace_will_delete import TaskspaceWillDelete
from symposium.bus.roles import Role
from symposium.bus.shapes import WindowKind

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Yard]:
    async with yard(tmp_path / "home") as found:
        found.folder.mkdir()
        yield found


@pytest.mark.requirement("taskspaces.deletion-announced")
async def test_editors_hear_that_a_taskspace_goes_before_it_does(
    home: Yard, tmp_path: Path
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    heard: list[tuple[TaskspaceWillDelete, str]] = []
    has_heard = asyncio.Event()
    answers = Answers()

    async def hear(message: TaskspaceWillDelete, asked: Asked) -> None:
        heard.append((message, asked.by))
        has_heard.set()

    answers.hear(TaskspaceWillDelete, hear)
    await home.start("--compat-socket", str(home.compat))
    window = Presence(kind=WindowKind.EDITOR)
    old = Raw(home.compat)
    async with (
        home.client(Role.EDITOR, answers, window) as editor,
        home.client(Role.CLI) as person,
    ):
        await editor.ready()
        made = (await person.request(CreateTaskspace(project=str(clone), name="goes"))).taskspace
        (Path(made.worktree) / "work").write_text("x", encoding="utf-8")
        with pytest.raises(BusRefusedError, match="1 untracked"):
            await person.request(RemoveTaskspace(taskspace_uuid=made.id, only_if_safe=True))
        assert heard == []
        await person.request(RemoveTaskspace(taskspace_uuid=made.id))
        # What was said before the answer to one peer may still be on its way to another.
        await has_heard.wait()
        lines = [read_envelope(line) for line in await old.lines(1) if isinstance(line, bytes)]
        old.close()

    expected = TaskspaceWillDelete(taskspace_uuid=made.id, project_path=str(clone))
    assert heard == [(expected, "daemon")]
    assert [each.type for each in lines] == ["taskspace_will_delete"]
