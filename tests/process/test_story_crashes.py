"""Killed agents and canceled turns, as processes (users A-4, A-5, A-6)."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.editor import Editor, Start, started_editor

from symposium.chain.restart_policy import RUN_MODE

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

AGENT = Path(__file__).parent / "agents" / "mortal_agent.py"


def mortal(store: Path, *words: str) -> str:
    return shlex.join([sys.executable, str(AGENT), str(store), *words])


def begun(start: Start, tmp_path: Path, *words: str, wrapped: bool = False) -> Editor:
    """Start an editor whose agent can be killed, directly or behind a wrapper that only waits."""
    agent = mortal(tmp_path / "store", *words)
    if wrapped:
        agent = shlex.join(["sh", "-c", f"{agent}; exit 0"])
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "config.jsonc").write_text(json.dumps({"agent": agent}))
    return started_editor(start)


def processes(it: Editor, session: str, text: str) -> tuple[int, int, int]:
    """Start a turn that prints its process; return its id, the process, and its parent."""
    it.said.pop(session, None)
    turn = it.prompt(session, text)
    it.until(lambda: session in it.said)
    pid, parent = map(int, it.said.pop(session).split())
    return turn, pid, parent


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.requirement("stories.a-04-killed", "stories.a-04-no-orphans")
@pytest.mark.parametrize("killed", ["the agent", "its wrapper"])
@pytest.mark.parametrize("able", ["resume", "load"])
def test_killed_agent_is_restarted_with_its_session(
    start: Start, tmp_path: Path, able: str, killed: str
) -> None:
    it = begun(start, tmp_path, able, wrapped=killed == "its wrapper")
    session = it.session()
    assert it.say(session, "first") == "first"
    turn, pid, parent = processes(it, session, "hang")
    os.kill(pid if killed == "the agent" else parent, signal.SIGKILL)
    answer = it.answer(turn)
    messages = it.said.pop(session)
    assert messages.count("⚠") == 1
    assert "was killed by SIGKILL" in messages
    assert "/symposium:retry" in messages
    assert answer["error"]["data"]["reason"] == "component_exited"
    # Processes that it had left behind are ended too.
    assert is_gone(pid)

    # The session has seen exactly two prompts: nothing was sent again, nothing was lost.
    said = it.say(session, "count")
    assert said.rpartition("\n")[2] == "2"
    assert "first" not in said
    assert int(it.say(session, "who").split()[0]) != pid
    assert it.end() == 0


@pytest.mark.requirement("stories.a-04-message-ids")
@pytest.mark.parametrize("able", ["resume", "load"])
def test_editor_gets_no_message_id_twice_when_the_agent_is_killed_twice(
    start: Start, tmp_path: Path, able: str
) -> None:
    it = begun(start, tmp_path, able)
    session = it.session()
    it.say(session, "first")
    for _ in range(2):
        turn, pid, _ = processes(it, session, "hang")
        os.kill(pid, signal.SIGKILL)
        it.answer(turn)
        it.say(session, "again")
    assert it.end() == 0

    ids = [each["messageId"] for each in it.updates if "messageId" in each]
    assert ids == [f"session-0/{number}" for number in range(1, 6)]


@pytest.mark.requirement("stories.a-04-killed", "stories.a-05-fresh")
def test_agent_without_session_load_is_reported_with_a_fresh_context(
    start: Start, tmp_path: Path
) -> None:
    it = begun(start, tmp_path, "none")
    session = it.session()
    turn, pid, _ = processes(it, session, "hang")
    os.kill(pid, signal.SIGKILL)
    it.answer(turn)
    it.until(lambda: "fresh context" in it.said.get(session, ""))
    it.said.pop(session)
    turn = it.prompt(session, "/symposium:retry")
    it.until(lambda: session in it.said)
    it.write({"method": "session/cancel", "params": {"sessionId": session}})
    assert it.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert it.say(session, "count") == "1"
    assert it.end() == 0


@pytest.mark.requirement("stories.a-04-headless")
def test_crash_without_an_editor_is_exit_code_one(
    symposium: Run, scripted: Callable[..., str]
) -> None:
    ended = symposium("prompt", "--agent", scripted("prompt=kill"), "Hello")
    assert ended.returncode == 1
    assert "SIGKILL" in ended.stderr


@pytest.mark.requirement("stories.a-06-in-time", "stories.a-04-no-orphans")
def test_agent_that_ignores_a_cancel_is_killed_and_the_next_prompt_works(
    start: Start, tmp_path: Path
) -> None:
    it = begun(start, tmp_path, "resume", "deaf", wrapped=True)
    session = it.session()
    turn, pid, _ = processes(it, session, "hang")
    for _ in range(2):
        it.write({"method": "session/cancel", "params": {"sessionId": session}})
    assert it.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert RUN_MODE.cancel_grace < 3
    assert it.say(session, "count").rpartition("\n")[2] == "1"
    assert is_gone(pid)
    assert it.end() == 0


@pytest.mark.requirement("stories.a-06-permission")
def test_cancel_ends_a_turn_that_waits_for_a_permission(start: Start, tmp_path: Path) -> None:
    it = begun(start, tmp_path, "resume")
    session = it.session()
    turn, pid, _ = processes(it, session, "ask")
    it.write({"method": "session/cancel", "params": {"sessionId": session}})
    assert it.answer(turn)["result"] == {"stopReason": "cancelled"}
    assert int(it.say(session, "who").split()[0]) == pid
    assert it.end() == 0
