"""`symposium up`: restarted agents, and its output."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from msgspec import to_builtins
from msgspec.structs import replace
from tests.support.answering_daemon import answering
from tests.unit.cli.test_session_commands import ENDED, server_of

from symposium.__main__ import main
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import (
    Inbox,
    InboxItem,
    ListInbox,
    ListTaskspaces,
    RetryTaskspace,
    TaskMade,
    Tasks,
    TaskView,
)
from symposium.cli.commands.up import then_and_now
from symposium.cli.tasks import task_line
from symposium.config.paths import paths
from symposium.sessions.client import DESCRIBE
from symposium.sessions.session import (
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

TASK = TaskView(
    id="6f1c2a77-0000-4000-8000-000000000000",
    name="fix login",
    description="",
    project="/p",
    worktree="/p.tasks/a",
    branch="symposium/fix-login",
    base="refs/heads/main",
    standing="ready",
    state="lost contact",
    created_at="",
    activated_at="",
)


@pytest.mark.requirement("tasks.up-deleted-meanwhile")
def test_up_reports_a_task_deleted_while_it_ran() -> None:
    assert then_and_now(TASK, None).endswith(
        "lost contact        6f1c2a77  (deleted in the meantime)"
    )
    assert then_and_now(TASK, replace(TASK, state="working")).endswith("(was: lost contact)")
    assert "(" not in then_and_now(TASK, TASK)


LOST = replace(TASK, id=ENDED, session="lost")
REFUSED = replace(TASK, id=str(UUID(int=2 << 96)), session="lost", name="refused")
DONE = replace(TASK, id=str(UUID(int=3 << 96)), session="lost", standing="finished")
RUNNING = replace(TASK, id=str(UUID(int=4 << 96)), session="running", state="working")
TERMINAL = replace(TASK, id=str(UUID(int=5 << 96)), session="lost", name="in a terminal")
ARCHIVED = replace(TASK, id=str(UUID(int=6 << 96)), session="lost", archived_at="2026-01-01")
ITEM = InboxItem("question:1", "question", ENDED, TASK.name, TASK.created_at, "which one?")


@pytest.mark.requirement("tasks.up")
def test_up_restarts_the_lost_agents_and_lists_every_task_and_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    store = SessionStore(paths())
    for task, kind in ((LOST, SessionKind.ACP), (TERMINAL, SessionKind.TERMINAL)):
        store.add(SessionSpec(task.id, kind, ("x",), str(tmp_path)))
        store.write_state(task.id, ServerSessionState(Status.RUNNING, is_fresh=True))
    views = [LOST, REFUSED, DONE, RUNNING, TERMINAL, ARCHIVED]

    async def tasks(_: ListTaskspaces) -> Tasks:
        return Tasks(tuple(views))

    async def retry(message: RetryTaskspace) -> TaskMade:
        if message.taskspace_uuid == REFUSED.id:
            raise BusRefusedError("not now", "failed")
        views[:] = [replace(LOST, state="working"), REFUSED, DONE, RUNNING, ARCHIVED]
        return TaskMade(LOST)

    replies: dict[type[Any], Any] = {
        ListTaskspaces: tasks,
        ListInbox: Inbox((ITEM,)),
        RetryTaskspace: retry,
    }
    with (
        answering(replies, tmp_path) as (part, socket),
        server_of(store, {DESCRIBE: {"open": True}}) as asked,
    ):
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        dry = CliRunner().invoke(main, ["up", "--dry-run", "--json"])
        is_dry = not part.took(RetryTaskspace)
        shown = CliRunner().invoke(main, ["up"])
        retried = [each.taskspace_uuid for each in part.took(RetryTaskspace)]

    listed = [LOST, REFUSED, DONE, RUNNING, TERMINAL]
    found = [{"before": each.state, "outcome": "", **to_builtins(each)} for each in listed]
    assert json.loads(dry.stdout) == json.loads(
        json.dumps({"tasks": found, "inbox": [to_builtins(ITEM)]})
    )
    assert (is_dry, retried, asked) == (
        *(True, [LOST.id, REFUSED.id, TERMINAL.id], [(DESCRIBE, {})]),
    )
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        f"{task_line(replace(LOST, state='working'))}  (was: lost contact)",
        "  restarted its agent; fresh context",
        task_line(REFUSED),
        "  could not restart its agent: not now",
        task_line(DONE),
        task_line(RUNNING),
        f"{task_line(TERMINAL)}  (deleted in the meantime)",
        "  restarted its agent",
        "question:1",
        "  fix login: which one?",
    ]
