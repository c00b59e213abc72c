"""Run mode with a third-party client, from the first start: acpx, from its npm package."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.run_mode_setup import PEERS, RunModeMachine, clients, opencode, set_up_machine
from tests.e2e.transcript import SLOW, Transcript

pytestmark = pytest.mark.timeout(300)

ACPX = PEERS / "npm" / "acpx" / "node_modules" / ".bin" / "acpx"

RESTART = "The client is restarted"


class Acpx:
    """User at a shell with acpx; one acpx process keeps the connection between commands."""

    def __init__(self, machine: RunModeMachine, transcript: Transcript) -> None:
        self.transcript = transcript
        self._stage = machine

    def run(self, *words: str) -> str:
        """Run a command of acpx until it exits; return its output."""
        process = self.begin(*words)
        return self.finish(process)

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command; the transcript gets it and its output."""
        shown = " ".join(repr(word) if " " in word or "/" in word else word for word in words)
        self.transcript.add(f"$ acpx {shown}")
        before = ["--agent", self._stage.host, "--cwd", str(self._stage.work)]
        before += ["--approve-all", "--timeout", "90", "--ttl", "60"]
        return subprocess.Popen(
            [ACPX, *before, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._stage.work,
            env=self._stage.environment,
        )

    def finish(self, process: "subprocess.Popen[str]", received: str = "") -> str:
        """Wait for a command; return its output, including what was read before."""
        with process:
            assert process.stdout is not None
            text = received + process.stdout.read()
        self.transcript.add(f"{text.strip()}\n")
        return text


def output_until(process: "subprocess.Popen[str]", words: str) -> str:
    """Read the output of a command until these words."""
    assert process.stdout is not None
    text = ""
    while words not in text:
        read = process.stdout.read(1)
        assert read, f"it ended before it said {words!r}: {text}"
        text += read
    return text


@pytest.fixture
def machine(tmp_path: Path, peers_folder: Path, model: str) -> RunModeMachine:
    clients(peers_folder, ACPX)
    opencode(peers_folder)
    return set_up_machine(tmp_path / "machine", peers_folder, model)


@pytest.fixture
def acpx(machine: RunModeMachine) -> Iterator[Acpx]:
    client = Acpx(machine, Transcript("acpx.md", machine.places))
    yield client
    client.run("sessions", "close")


@pytest.mark.requirement("stories.strangers-acpx")
def test_acpx_works_from_no_config_to_a_resumed_session(
    acpx: Acpx, machine: RunModeMachine
) -> None:
    _first_run(acpx, machine)
    _tools_and_menu(acpx, machine)
    _cancel(acpx)
    _death(acpx, machine)
    acpx.transcript.check(RESTART)
    _restart(acpx, machine)
    acpx.transcript.check()


def _first_run(acpx: Acpx, machine: RunModeMachine) -> None:
    acpx.transcript.scene("First start")
    acpx.run("sessions", "new")
    first = f"FAKE read {machine.work}/notes.txt ;; FAKE final That is what it says."
    messages = acpx.run("prompt", first)
    assert "| 1 | OpenCode | Found at" in messages
    assert "Your message is saved" in messages
    assert "SAVE" in acpx.run("prompt", "1")
    assert not machine.config.exists()
    answered = acpx.run("prompt", "SAVE")
    assert "hello from notes" in answered
    assert "That is what it says." in answered
    assert machine.config.stat().st_mode & 0o777 == 0o600
    assert machine.starts() == 1


def _tools_and_menu(acpx: Acpx, machine: RunModeMachine) -> None:
    acpx.transcript.scene("A tool that asks first")
    messages = acpx.run(
        "prompt", f"FAKE write {machine.work}/new.txt by acpx ;; FAKE final Written."
    )
    assert "session/request_permission" in messages
    assert (machine.work / "new.txt").read_text(encoding="utf-8") == "by acpx"

    acpx.transcript.scene("The menu, and away from it")
    before = machine.config.read_bytes()
    assert "## Current Configuration" in acpx.run("prompt", "/symposium:config")
    assert "is now disabled" in acpx.run("prompt", "3")
    assert "Returning to your session" in acpx.run("prompt", "CANCEL")
    assert machine.config.read_bytes() == before
    assert "editor → guidance → ferris → cargo →" in acpx.run("prompt", "/symposium:status")


def _cancel(acpx: Acpx) -> None:
    acpx.transcript.scene("A turn that is cancelled")
    slow = acpx.begin("prompt", SLOW)
    received = output_until(slow, "Soon")
    acpx.run("cancel")
    assert "[done] cancelled" in acpx.finish(slow, received)
    assert "Here." in acpx.run("prompt", "FAKE say Here.")


def _death(acpx: Acpx, machine: RunModeMachine) -> None:
    acpx.transcript.scene("The agent is killed in a turn")
    slow = acpx.begin("prompt", SLOW)
    received = output_until(slow, "Soon")
    machine.kill_agent()
    messages = acpx.finish(slow, received)
    assert "was killed by SIGKILL" in messages
    assert slow.returncode == 1
    assert "Alive." in acpx.run("prompt", "FAKE say Alive.")
    assert machine.starts() == 2


def _restart(acpx: Acpx, machine: RunModeMachine) -> None:
    """The session was created before there was an agent: only Symposium knows this id."""
    acpx.transcript.scene(RESTART)
    messages = acpx.run("status")
    owner = next(line for line in messages.splitlines() if line.startswith("pid: "))
    _end(int(owner.removeprefix("pid: ")))
    again = acpx.run("prompt", "FAKE say Here again.")
    if "The agent is being started" in again:
        pytest.skip("the agent starts too slowly here for an editor's initialize request")
    assert "session/resume" in again
    assert "Here again." in again
    assert machine.starts() == 3


def _end(pid: int) -> None:
    """Kill a process that is no child, and wait until it has exited."""
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGTERM)
        assert select.select([handle], [], [], 30)[0], f"process {pid} continues"
    finally:
        os.close(handle)
