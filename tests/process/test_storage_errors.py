"""A home that cannot be written: errors name the path and what to do."""

import asyncio
import errno
import os
from pathlib import Path

import pytest
from tests.support.event_listener import Mailbox
from tests.support.task_cli import TaskCli, until

from localio.files import storage_error_text, write_whole
from symposium.bus.envelope import Envelope, Sender, envelope_of, read_outcome
from symposium.bus.handlers import HandlerTable, HandlerTasks, RequestContext
from symposium.bus.messages.tasks import Inbox, ListInbox
from symposium.sessions.server import PromptQueue
from symposium.tasks.model import TaskspaceError
from symposium.tasks.store import TaskStore


@pytest.mark.requirement("tasks.storage-errors")
def test_say_names_the_file_and_the_fix_and_keeps_nothing_when_it_cannot_be_saved(
    task_cli: TaskCli,
) -> None:
    made = task_cli.new("says", "hello", "--agent", "eliza")
    until(lambda: task_cli.tasks()["says"]["state"] == "idle")
    session = task_cli.home / "sessions" / made["id"]
    session.chmod(0o500)
    refused = task_cli.run("task", "say", "says", "not saved")
    session.chmod(0o700)
    task_cli.ok("task", "say", "says", "saved")
    until(lambda: [e for e in task_cli.events(made["id"]) if e["data"].get("text") == "saved"])

    assert refused.returncode != 0
    assert "the prompt was not saved: cannot write" in refused.stderr
    assert str(session) in refused.stderr
    assert "make it writable" in refused.stderr
    assert not [e for e in task_cli.events(made["id"]) if e["data"].get("text") == "not saved"]


@pytest.mark.requirement("tasks.storage-errors")
@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.ENOSPC, "free space on its file system"),
        (errno.EROFS, "its file system is read-only; set SYMPOSIUM_HOME to another directory"),
    ],
)
async def test_request_that_cannot_be_stored_fails_with_path_and_fix(number: int, fix: str) -> None:
    sent = Mailbox[Envelope]()

    async def fail(message: ListInbox, asked: RequestContext) -> Inbox:
        del message, asked
        raise OSError(number, os.strerror(number), "/home/me/x")

    def send(envelope: Envelope) -> bool:
        sent.add(envelope)
        return True

    answers = HandlerTable()
    answers.on_request(ListInbox, fail)
    answering = HandlerTasks(answers, Sender("/"), send)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(answering.run())
        answering.start(envelope_of(ListInbox(), Sender("/")))
        outcome = read_outcome(await sent.next())
        running.cancel()

    reason = os.strerror(number)
    assert outcome.error == f"list_inbox failed: cannot write /home/me/x: {reason}; {fix}"


@pytest.mark.requirement("tasks.storage-errors")
def test_store_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "taskspaces.db").mkdir()
    with pytest.raises(TaskspaceError) as caught:
        TaskStore(tmp_path / "taskspaces.db")

    assert str(tmp_path / "taskspaces.db") in caught.value.message
    assert "move it away" not in caught.value.hint


@pytest.mark.requirement("tasks.storage-errors")
def test_write_that_fails_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = PromptQueue(tmp_path)

    def full(handle: int) -> None:
        del handle
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            write_whole(tmp_path / "file.json", "{}")
        with pytest.raises(OSError, match="No space left"):
            queue.add("not saved")

    assert storage_error_text(caught.value) == (
        f"cannot write {tmp_path / 'file.json'}: No space left on device;"
        " free space on its file system"
    )
    assert list(tmp_path.iterdir()) == []
    assert (queue.add("saved"), queue.take()) == (1, "saved")
