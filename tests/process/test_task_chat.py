"""`symposium task chat` and `task stop`: the agent of a task keeps running after a chat."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from tests.process.test_cli_chat import CTRL_D, ENTER, Terminal
from tests.support.task_cli import TaskCli, is_alive, until

Chat: TypeAlias = Callable[..., Terminal]

ASKS: Final = b'{"command":"callbacks"}'
WAITS: Final = b'{"command":"wait_for_cancel"}'


@pytest.fixture
def chat(task_cli: TaskCli) -> Iterator[Chat]:
    """Open a terminal with the chat of a task."""
    opened: list[Terminal] = []

    def begin(task: str) -> Terminal:
        environment = {**os.environ, **task_cli.environment}
        opened.append(Terminal(["task", "chat", task], task_cli.clone, environment))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def results(task_cli: TaskCli, task: str) -> list[Any]:
    return [each["data"] for each in task_cli.events(task) if each["type"] == "result"]


def echo(text: str) -> str:
    return json.dumps({"command": "echo", "message": text})


def task_of(task_cli: TaskCli, agent: str) -> str:
    made = task_cli.new("talk", "Hello", "--agent", agent)
    until(lambda: results(task_cli, made["id"]))
    return made["id"]


@pytest.mark.requirement("tasks.chat")
def test_task_chat_shows_the_last_turn_and_answers_and_leaves_the_agent_running(
    task_cli: TaskCli, chat: Chat
) -> None:
    task = task_of(task_cli, "testy")
    task_cli.ok("task", "say", task, echo("earlier words"))
    until(lambda: len(results(task_cli, task)) == 2)
    user = chat("talk")
    assert "Hello" not in user.until("[prompt]")
    user.until("earlier words")
    user.until("earlier words")
    user.ready()
    user.type(echo("new words").encode(), ENTER)
    user.until("\nnew words")
    until(lambda: len(results(task_cli, task)) == 3)
    user.ready()
    user.type(CTRL_D)

    user.until("the agent continues]")
    assert user.ends() == 0
    assert task_cli.tasks()["talk"]["state"] == "idle"


def decided(task_cli: TaskCli, task: str) -> list[str]:
    return [
        each["data"]["optionId"] for each in task_cli.events(task) if each["type"] == "permission"
    ]


@pytest.mark.requirement("tasks.chat")
def test_permission_is_answered_in_the_chat(task_cli: TaskCli, chat: Chat) -> None:
    task = task_of(task_cli, "testy")
    user = chat(task)
    user.ready()
    user.type(ASKS, ENTER)
    user.until("? The agent wants to ")
    user.until("Choose 1-")
    user.type(b"1\n")
    user.until("[permission]")
    user.until("wants to edit testy-2.txt")
    user.until("Choose 1-2")
    user.type(b"\n")
    until(lambda: len(results(task_cli, task)) == 2)

    assert decided(task_cli, task) == ["allow-once", "reject"]


@pytest.mark.requirement("tasks.chat")
def test_permission_that_was_answered_elsewhere_is_not_asked_again(
    task_cli: TaskCli, chat: Chat
) -> None:
    task = task_of(task_cli, "testy")
    task_cli.ok("task", "say", task, ASKS.decode())
    until(lambda: task_cli.tasks()["talk"]["state"] == "waiting: approval")
    user = chat(task)
    user.until("Choose 1-")
    item = task_cli.json("inbox")[0]["id"]
    task_cli.ok("inbox", "answer", item, "reject-once")
    user.until("[permission]")
    user.until("wants to edit testy-2.txt")
    user.until("Choose 1-2")
    user.type(b"1\n")
    user.ready()
    user.type(CTRL_D)

    assert user.ends() == 0
    assert decided(task_cli, task) == ["reject-once", "allow"]


@pytest.mark.requirement("tasks.chat")
def test_ctrl_c_cancels_the_turn_and_the_chat_continues(task_cli: TaskCli, chat: Chat) -> None:
    task = task_of(task_cli, "testy")
    user = chat(task)
    user.ready()
    user.type(WAITS, ENTER)
    user.until("Waiting for session/cancel.")
    user.interrupt()
    user.until("[canceling; Ctrl-C again leaves]")
    user.until("[stopped: cancelled]")
    user.ready()
    user.type(echo("still here").encode(), ENTER)
    until(lambda: len(results(task_cli, task)) == 3)
    user.ready()
    user.type(WAITS, ENTER)
    user.until("Waiting for session/cancel.")
    user.interrupt()
    user.until("[stopped: cancelled]")
    user.ready()

    reasons = [each["stopReason"] for each in results(task_cli, task)]
    assert reasons[1:] == ["cancelled", "end_turn", "cancelled"]


@pytest.mark.requirement("tasks.chat")
def test_ctrl_d_leaves_an_agent_that_works(task_cli: TaskCli, chat: Chat) -> None:
    task = task_of(task_cli, "testy")
    task_cli.ok("task", "say", task, WAITS.decode())
    until(lambda: task_cli.tasks()["talk"]["state"] == "working")
    user = chat(task)
    user.until("Press Ctrl-D or type /quit to leave")
    user.type(CTRL_D)

    assert user.ends() == 0
    assert task_cli.tasks()["talk"]["state"] == "working"


@pytest.mark.requirement("tasks.chat")
def test_lines_of_a_pipe_are_prompts_and_its_end_waits_for_the_last_turn(task_cli: TaskCli) -> None:
    task = task_of(task_cli, "testy")
    words = [sys.executable, "-P", "-m", "symposium", "task", "chat", task]
    lines = [echo(f"line {each}") for each in range(2)]
    done = subprocess.run(
        words,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **task_cli.environment},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("line 0\nline 1\n")


@pytest.mark.requirement("tasks.stop")
def test_task_stop_ends_the_agent_and_keeps_the_worktree(task_cli: TaskCli) -> None:
    task = task_of(task_cli, "testy")
    tree = Path(task_cli.tasks()["talk"]["worktree"])
    (tree / "work.txt").write_text("mine\n", encoding="utf-8")
    server = task_cli.session_server(task)

    stopped = task_cli.run("task", "stop", "talk")
    again = task_cli.run("task", "stop", "talk")

    assert (stopped.returncode, again.returncode) == (0, 0)
    assert f"`symposium task resume {task[:8]}` restarts it" in stopped.stderr
    assert "is not running" in again.stderr
    assert not is_alive(server)
    assert (tree / "work.txt").read_text(encoding="utf-8") == "mine\n"
    assert task_cli.tasks()["talk"]["state"] == "agent ended"
    task_cli.ok("task", "resume", "talk")
    until(lambda: task_cli.tasks()["talk"]["state"] == "idle")


@pytest.mark.requirement("tasks.say-errors")
def test_empty_prompt_and_a_lost_agent_are_errors_with_a_fix(task_cli: TaskCli) -> None:
    task = task_of(task_cli, "testy")
    empty = task_cli.run("task", "say", "talk", " ")
    empty_of_session = task_cli.run("session", "say", task, "")
    os.kill(task_cli.session_server(task), signal.SIGKILL)
    until(lambda: task_cli.tasks()["talk"]["state"] == "lost contact")
    lost = task_cli.run("task", "say", "talk", "more")

    assert (empty.returncode, empty_of_session.returncode, lost.returncode) == (2, 1, 1)
    assert "the prompt is empty" in empty.stderr
    assert "the prompt is empty" in empty_of_session.stderr
    assert f"run `symposium task resume {task}` to restart it" in lost.stderr


@pytest.mark.requirement("approvals.usual-words")
def test_permission_is_answered_with_yes_and_an_empty_inbox_is_reported(task_cli: TaskCli) -> None:
    empty = task_cli.run("inbox")
    task = task_of(task_cli, "testy")
    task_cli.ok("task", "say", task, ASKS.decode())
    for answer in ("yes", "no"):
        until(lambda: task_cli.json("inbox"))
        shown = task_cli.run("inbox").stdout
        assert shown.startswith("1  permission:")
        task_cli.ok("inbox", "answer", "1", answer)
    until(lambda: len(results(task_cli, task)) == 2)

    assert decided(task_cli, task) == ["allow-once", "reject"]
    assert (empty.returncode, empty.stdout) == (0, "")
    assert empty.stderr == "Nothing waits for you.\n"


@pytest.mark.requirement("cli.chat-undo", "tasks.chat")
def test_undo_restores_the_worktree_of_the_task(
    task_cli: TaskCli, chat: Chat, scripted: Callable[..., str]
) -> None:
    tree = Path(task_cli.new("destroys", "--agent", scripted("prompt=ask:edit"))["worktree"])
    user = chat("destroys")
    user.until("Choose 1-2")
    (tree / "late.txt").write_text("late")
    user.type(b"1\n")
    until(lambda: len(task_cli.json("task", "show", "destroys")["snapshots"]) > 1)
    (tree / "late.txt").unlink()
    user.ready()
    user.type(b"/undo", ENTER)
    user.until("reverses this undo")

    assert (tree / "late.txt").read_text() == "late"
