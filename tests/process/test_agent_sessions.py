"""Agents that keep running after their caller exits: terminals and ACP, crashes and restarts."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from click.testing import CliRunner

from symposium.__main__ import main
from symposium.config.paths import paths
from symposium.sessions.client import CANCEL, DESCRIBE, SAY, AgentSessions, launch, reach
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

RETRY = 0.02
TIMEOUT = 45.0


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))


@pytest.fixture(autouse=True)
def no_session_server_stays(store: SessionStore) -> Iterator[None]:
    yield
    for each in store.ids():
        asyncio.run(AgentSessions(store).stop(each))


def begin(symposium: Run, *words: str) -> str:
    done = symposium("session", "start", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def status(store: SessionStore, session: str) -> str:
    return store.state(session).status.value


def ask(store: SessionStore, session: str, method: str, **params: Any) -> Any:
    async def asking() -> Any:
        async with reach(store, session) as server:
            return await server.ask(method, params)

    return asyncio.run(asking())


def words(spec: str) -> list[str]:
    return shlex.split(spec)


def server_pid(tmp_path: Path, session: str) -> int:
    """Process id of its session server; 0 until the server has written it."""
    file = tmp_path / "home" / "sessions" / session / "state.json"
    return json.loads(file.read_text())["keeper"] if file.exists() else 0


def events(tmp_path: Path, session: str) -> list[dict[str, Any]]:
    file = tmp_path / "home" / "sessions" / session / "events.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def until(check: Callable[[], Any]) -> Any:
    """Wait until `check` returns a true value; return it. It polls another process."""
    deadline = time.monotonic() + TIMEOUT
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(RETRY)
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return stat[0] != "Z"


def of_type(tmp_path: Path, session: str, kind: str) -> list[Any]:
    return [event["data"] for event in events(tmp_path, session) if event["type"] == kind]


@pytest.mark.requirement("agent-sessions.outlive")
def test_program_on_a_terminal_outlives_its_caller_and_can_be_attached(
    store: SessionStore,
    symposium: Run,
) -> None:
    session = begin(symposium, "--", "sh", "-c", 'stty -echo; echo ready; read x; echo "got $x"')
    until(lambda: "ready" in symposium("session", "attach", session, stdin="\x1c").stdout)

    done = symposium("session", "attach", session, stdin="word\n")
    until(lambda: status(store, session) == "exited")

    assert "ready" in done.stdout
    assert store.state(session).reason == "the program exited with code 0"


@pytest.mark.requirement("agent-sessions.terminal-prompts")
def test_prompt_to_a_terminal_is_refused_with_the_way_to_type_it(symposium: Run) -> None:
    session = begin(symposium, "--", "cat")

    done = symposium("session", "say", session, "hello")

    assert done.returncode == 1
    assert "runs in a terminal and takes no prompts" in done.stderr
    assert "`symposium session attach ID`" in done.stderr


@pytest.mark.requirement("agent-sessions.terminal-prompts")
def test_detach_from_a_terminal_reports_that_it_continues(
    symposium: Run, environment: dict[str, str]
) -> None:
    session = begin(symposium, "--", "sh", "-c", "stty -echo; echo ready; exec cat")
    command = [sys.executable, "-P", "-m", "symposium", "session", "attach", session]
    ours, theirs = os.openpty()
    attached = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = _shown_until(ours, b"ready")
    assert b"[Ctrl-\\ detaches; the agent continues]" in shown
    os.write(ours, b"\x1c")
    shown = _shown_until(ours, b"]")
    code = attached.wait(TIMEOUT)
    os.close(ours)

    assert code == 0
    assert shown.endswith(b"[detached; the agent continues]")


@pytest.mark.requirement("agent-sessions.leaving")
@pytest.mark.parametrize("leave", [signal.SIGINT, signal.SIGQUIT])
def test_attach_to_an_agent_prints_the_way_to_detach_and_that_it_continues(
    store: SessionStore, symposium: Run, environment: dict[str, str], leave: signal.Signals
) -> None:
    session = begin(symposium, "--acp", "--prompt", "Hello", "--", "eliza")
    command = [sys.executable, "-P", "-m", "symposium", "session", "attach", session]
    ours, theirs = os.openpty()
    attached = subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    first = _shown_until(ours, b"sends it a prompt]")
    _shown_until(ours, b"end_turn")
    attached.send_signal(leave)
    last = _shown_until(ours, b"detached; the agent continues]")
    code = attached.wait(TIMEOUT)
    os.close(ours)

    assert b"Ctrl-C detaches" in first
    assert f"symposium session say {session}".encode() in first
    assert (code, b"Traceback" in last) == (0, False)
    assert status(store, session) == "running"


def _shown_until(terminal: int, mark: bytes) -> bytes:
    shown = b""
    while mark not in shown:
        shown += os.read(terminal, 1)
    return shown


@pytest.mark.requirement("agent-sessions.exact-ids")
def test_short_id_does_not_name_a_session(store: SessionStore, symposium: Run) -> None:
    one = begin(symposium, "--", "cat")
    two = begin(symposium, "--", "cat")

    for wrong in (one[:-1], one[:8], one + "0", "", "*", "../" + one, one.replace("-", "")):
        done = symposium("session", "kill", "--", wrong)
        assert (done.returncode, "session" in done.stderr) == (4, True), wrong
    symposium("session", "kill", one)

    assert status(store, one) == "exited"
    assert status(store, two) == "running"


@pytest.mark.requirement("agent-sessions.nothing-stays")
def test_children_of_a_program_end_with_it(
    store: SessionStore, symposium: Run, tmp_path: Path
) -> None:
    script = f"(trap '' HUP TERM; echo $BASHPID > {tmp_path}/pid; exec sleep 600) & wait"
    session = begin(symposium, "--", "bash", "-c", script)
    child = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))

    symposium("session", "kill", session)

    until(lambda: not is_alive(child))
    assert store.state(session).reason == "ended as asked"


@pytest.mark.requirement("agent-sessions.lost", "agent-sessions.p2")
@pytest.mark.parametrize("command", [["--", "cat"], ["--acp", "--", "eliza"]], ids=["pty", "acp"])
def test_session_with_a_killed_server_is_lost_and_can_be_resumed(
    store: SessionStore, command: list[str], symposium: Run, tmp_path: Path
) -> None:
    session = begin(symposium, *command)
    until(lambda: server_pid(tmp_path, session))
    os.kill(server_pid(tmp_path, session), signal.SIGKILL)

    until(lambda: status(store, session) == "lost")
    listed = json.loads(symposium("session", "list", "--json").stdout)
    refused = symposium("session", "show", session)
    resumed = symposium("session", "resume", session)

    assert listed[0]["reason"] == "its server exited unexpectedly"
    assert refused.returncode == 1
    assert f"symposium session resume {session}" in refused.stderr
    assert resumed.returncode == 0
    assert status(store, session) == "running"


@pytest.mark.requirement("agent-sessions.no-keys")
def test_keys_of_an_agent_are_in_no_list_and_no_event(symposium: Run, tmp_path: Path) -> None:
    agent = f"KEY=canary {sys.executable} -P -m symposium eliza"
    session = begin(symposium, "--acp", "--", agent)
    until(lambda: of_type(tmp_path, session, "started"))
    assert "canary" not in str(of_type(tmp_path, session, "started"))
    for words in (("list",), ("list", "--json")):
        messages = symposium("session", *words).stdout
        assert "KEY=…" in messages or "KEY=\\u2026" in messages
        assert "canary" not in messages


@pytest.mark.requirement("agent-sessions.start-errors")
def test_missing_program_is_reported_at_once_and_on_its_terminal(
    store: SessionStore, symposium: Run, tmp_path: Path
) -> None:
    refused = [
        symposium("session", "start", *words)
        for words in (("--", "no-such-program"), ("--acp", "--", "no-such-program --acp"))
    ]
    session = str(uuid4())
    spec = SessionSpec(session, SessionKind.TERMINAL, ("no-such-program",), str(tmp_path))
    asyncio.run(launch(store, spec, {**os.environ, "SYMPOSIUM_HOME": str(tmp_path / "home")}))

    until(lambda: status(store, session) == "exited")
    assert [each.returncode for each in refused] == [4, 4]
    assert all("no program 'no-such-program' was found in" in each.stderr for each in refused)
    assert store.ids() == [session]
    log = tmp_path / "home" / "sessions" / session / "terminal.log"
    assert "no-such-program: No such file or directory" in log.read_text()
    assert store.state(session).reason.startswith("`no-such-program` is not installed")


@pytest.mark.requirement("agent-sessions.start-errors")
def test_running_session_is_not_started_twice_and_not_removed(
    store: SessionStore, symposium: Run
) -> None:
    session = begin(symposium, "--", "cat")

    again = symposium("session", "resume", session)
    forgotten = symposium("session", "forget", session)
    symposium("session", "kill", session)
    after = symposium("session", "forget", session)

    assert (again.returncode, forgotten.returncode, after.returncode) == (1, 1, 0)
    assert "is already running" in again.stderr
    assert store.ids() == []


@pytest.mark.requirement("agent-sessions.private")
def test_files_and_socket_are_accessible_to_the_user_only(symposium: Run, tmp_path: Path) -> None:
    begin(symposium, "--acp", "--prompt", "Hello", "--", "eliza")

    home = tmp_path / "home"
    until(lambda: list((home / "sessions").rglob("events.jsonl")))
    kept = [each for each in (home / "sessions").rglob("*") if each.is_file()]
    sockets = list((home / "run").glob("*.sock"))
    assert {each.stat().st_mode & 0o077 for each in [*kept, *sockets, home / "run"]} == {0}
    assert len(sockets) == 1


@pytest.mark.requirement("agent-sessions.acp-prompts")
def test_acp_agent_gets_its_prompts_in_order_and_its_answers_are_saved(
    store: SessionStore, symposium: Run, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--prompt", "First", "--", "eliza")
    ask(store, session, SAY, text="Second")
    until(lambda: len(of_type(tmp_path, session, "result")) == 2)

    assert [data["text"] for data in of_type(tmp_path, session, "prompt")] == ["First", "Second"]
    assert [event["seq"] for event in events(tmp_path, session)] == list(
        range(1, len(events(tmp_path, session)) + 1)
    )
    assert status(store, session) == "running"


@pytest.mark.requirement("agent-sessions.acp-watch")
def test_attach_shows_earlier_and_new_messages(
    store: SessionStore, symposium: Run, start: Start, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--prompt", "First", "--", "eliza")
    until(lambda: of_type(tmp_path, session, "result"))
    watching = start("session", "attach", session, "--json")
    assert watching.stdout is not None
    before = [json.loads(watching.stdout.readline()) for _ in events(tmp_path, session)]

    ask(store, session, SAY, text="Second")
    after = json.loads(watching.stdout.readline())
    symposium("session", "kill", session)

    assert before == events(tmp_path, session)[: len(before)]
    assert after["data"] == {"text": "Second"}
    assert watching.wait(TIMEOUT) == 0


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_prompt_interrupted_by_a_kill_is_offered_and_not_repeated(
    store: SessionStore, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--prompt", "Slow", "--", *words(scripted("prompt=wait")))
    ask(store, session, SAY, text="Waiting")
    until(lambda: of_type(tmp_path, session, "prompt"))
    os.kill(server_pid(tmp_path, session), signal.SIGKILL)
    until(lambda: status(store, session) == "lost")

    symposium("session", "resume", session)
    until(lambda: len(of_type(tmp_path, session, "prompt")) == 2)

    assert of_type(tmp_path, session, "interrupted") == [{"text": "Slow"}]
    assert [data["text"] for data in of_type(tmp_path, session, "prompt")] == ["Slow", "Waiting"]
    seqs = [event["seq"] for event in events(tmp_path, session)]
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.requirement("agent-sessions.acp-fresh")
def test_agent_without_session_load_has_a_fresh_context_and_it_is_reported(
    store: SessionStore, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--", *words(scripted()))
    until(lambda: ask(store, session, DESCRIBE)["acpSession"])
    symposium("session", "kill", session)
    symposium("session", "resume", session)

    notices = until(lambda: of_type(tmp_path, session, "notice"))
    assert notices == [{"text": "fresh context: the agent does not know the conversation so far"}]


@pytest.mark.requirement("agent-sessions.acp-resume")
def test_resumed_agent_does_not_repeat_its_replay(
    store: SessionStore, symposium: Run, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--prompt", "My name is Kim", "--", "testy")
    until(lambda: of_type(tmp_path, session, "result"))
    known = ask(store, session, DESCRIBE)["acpSession"]
    before = len(of_type(tmp_path, session, "update"))
    symposium("session", "kill", session)
    symposium("session", "resume", session)
    until(lambda: len(of_type(tmp_path, session, "started")) == 2)
    until(lambda: ask(store, session, DESCRIBE)["acpSession"])

    notes = of_type(tmp_path, session, "notice")
    assert len(of_type(tmp_path, session, "update")) == before
    # The built-in agent loses its sessions with its process, and reports that.
    assert (
        ask(store, session, DESCRIBE)["acpSession"] == known or "fresh context" in notes[-1]["text"]
    )


@pytest.mark.requirement("agent-sessions.acp-dies")
def test_crashing_agent_is_restarted_up_to_three_times(
    store: SessionStore, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--", *words(scripted("prompt=kill")))
    for at in range(4):
        ask(store, session, SAY, text=f"Die {at}")
        until(lambda at=at: len(of_type(tmp_path, session, "prompt")) == at + 1)
    until(lambda: status(store, session) == "exited")

    interrupted = [data["text"] for data in of_type(tmp_path, session, "interrupted")]
    notices = [data["text"] for data in of_type(tmp_path, session, "notice")]
    assert interrupted == ["Die 0", "Die 1", "Die 2"]
    assert "not restarting it again" in notices[-1]


@pytest.mark.requirement("agent-sessions.questions")
def test_permission_request_waits_for_the_user_and_is_answered_once(
    store: SessionStore, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    session = begin(
        symposium, "--acp", "--prompt", "Edit", "--", *words(scripted("prompt=ask:edit"))
    )
    asked = until(lambda: ask(store, session, DESCRIBE)["questions"])

    shown = symposium("session", "questions", session).stdout
    listed = json.loads(symposium("session", "questions", session, "--json").stdout)
    wrong = symposium("session", "answer", session, "1", "perhaps")
    right = symposium("session", "answer", session, "1", "y")
    until(lambda: of_type(tmp_path, session, "result"))
    late = symposium("session", "answer", session, "1", "n")

    assert listed == {"questions": asked}
    assert shown.startswith("[question 1] wants to ")
    assert "answer: y (" in shown
    assert asked[0]["title"] == "do it"
    assert [option["optionId"] for option in asked[0]["options"]] == ["y", "n"]
    assert "it has y, n" in wrong.stderr
    assert right.returncode == 0
    assert "already answered by the command line" in late.stderr
    (decided,) = of_type(tmp_path, session, "permission")
    assert decided == {"title": "do it", "wish": "edit: do it", "optionId": "y"}


@pytest.mark.requirement("agent-sessions.cancel")
def test_turn_is_canceled_and_the_next_prompt_is_answered(
    store: SessionStore, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    session = begin(symposium, "--acp", "--prompt", "Wait", "--", *words(scripted("prompt=wait")))
    until(lambda: ask(store, session, DESCRIBE)["working"])
    cancelled = ask(store, session, CANCEL)
    until(lambda: of_type(tmp_path, session, "result"))
    idle = ask(store, session, CANCEL)

    assert (cancelled, idle) == ({"cancelled": True}, {"cancelled": False})
    assert of_type(tmp_path, session, "result") == [{"stopReason": "cancelled"}]


@pytest.mark.requirement("agent-sessions.start-errors")
def test_home_too_long_for_a_socket_is_an_error(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / ("x" * 100)
    done = CliRunner().invoke(
        main, ["session", "start", "--", "cat"], env={**environment, "SYMPOSIUM_HOME": str(home)}
    )

    assert done.exit_code == 1
    assert "did not start: the path of a socket has 10" in done.stderr
