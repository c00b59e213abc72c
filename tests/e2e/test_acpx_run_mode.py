"""Run mode with a stranger's client, from the first start on: acpx, from its npm package."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.run_mode_setup import PEERS, RunModeStage, clients, opencode, set_stage
from tests.e2e.transcript import SLOW, Transcript

pytestmark = pytest.mark.timeout(300)

ACPX = PEERS / "npm" / "acpx" / "node_modules" / ".bin" / "acpx"

RESTART = "The client is started anew"


class Acpx:
    """A person at a shell, with acpx; a process of acpx's keeps the connection between commands."""

    def __init__(self, stage: RunModeStage, transcript: Transcript) -> None:
        self.transcript = transcript
        self._stage = stage

    def run(self, *words: str) -> str:
        """Run a command of acpx's to its end; what it printed."""
        process = self.begin(*words)
        return self.finish(process)

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command; it stands in the transcript with what it prints."""
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

    def finish(self, process: "subprocess.Popen[str]", heard: str = "") -> str:
        """Wait for a command; what it printed, with what was heard of it before."""
        with process:
            assert process.stdout is not None
            text = heard + process.stdout.read()
        self.transcript.add(f"{text.strip()}\n")
        return text


def heard_until(process: "subprocess.Popen[str]", words: str) -> str:
    """Read what a command prints until these words."""
    assert process.stdout is not None
    text = ""
    while words not in text:
        read = process.stdout.read(1)
        assert read, f"it ended before it said {words!r}: {text}"
        text += read
    return text


@pytest.fixture
def stage(tmp_path: Path, peers_folder: Path, model: str) -> RunModeStage:
    clients(peers_folder, ACPX)
    opencode(peers_folder)
    return set_stage(tmp_path / "stage", peers_folder, model)


@pytest.fixture
def acpx(stage: RunModeStage) -> Iterator[Acpx]:
    client = Acpx(stage, Transcript("acpx.md", stage.places))
    yield client
    client.run("sessions", "close")


@pytest.mark.requirement("stories.strangers-acpx")
def test_a_day_with_acpx_from_no_config_to_a_session_taken_up_again(
    acpx: Acpx, stage: RunModeStage
) -> None:
    _first_run(acpx, stage)
    _tools_and_menu(acpx, stage)
    _cancel(acpx)
    _death(acpx, stage)
    acpx.transcript.check(RESTART)
    _restart(acpx, stage)
    acpx.transcript.check()


def _first_run(acpx: Acpx, stage: RunModeStage) -> None:
    acpx.transcript.scene("First start")
    acpx.run("sessions", "new")
    first = f"FAKE read {stage.work}/notes.txt ;; FAKE final That is what it says."
    told = acpx.run("prompt", first)
    assert "| 1 | OpenCode | Found at" in told
    assert "Your message is saved" in told
    assert "SAVE" in acpx.run("prompt", "1")
    assert not stage.config.exists()
    answered = acpx.run("prompt", "SAVE")
    assert "hello from notes" in answered
    assert "That is what it says." in answered
    assert stage.config.stat().st_mode & 0o777 == 0o600
    assert stage.starts() == 1


def _tools_and_menu(acpx: Acpx, stage: RunModeStage) -> None:
    acpx.transcript.scene("A tool that asks first")
    told = acpx.run("prompt", f"FAKE write {stage.work}/new.txt by acpx ;; FAKE final Written.")
    assert "session/request_permission" in told
    assert (stage.work / "new.txt").read_text(encoding="utf-8") == "by acpx"

    acpx.transcript.scene("The menu, and away from it")
    before = stage.config.read_bytes()
    assert "## Current Configuration" in acpx.run("prompt", "/symposium:config")
    assert "is now disabled" in acpx.run("prompt", "3")
    assert "Returning to your session" in acpx.run("prompt", "CANCEL")
    assert stage.config.read_bytes() == before
    assert "editor → guidance → ferris → cargo →" in acpx.run("prompt", "/symposium:status")


def _cancel(acpx: Acpx) -> None:
    acpx.transcript.scene("A turn that is cancelled")
    slow = acpx.begin("prompt", SLOW)
    heard = heard_until(slow, "Soon")
    acpx.run("cancel")
    assert "[done] cancelled" in acpx.finish(slow, heard)
    assert "Here." in acpx.run("prompt", "FAKE say Here.")


def _death(acpx: Acpx, stage: RunModeStage) -> None:
    acpx.transcript.scene("The agent is killed in a turn")
    slow = acpx.begin("prompt", SLOW)
    heard = heard_until(slow, "Soon")
    stage.kill_agent()
    told = acpx.finish(slow, heard)
    assert "was killed by SIGKILL" in told
    assert slow.returncode == 1
    assert "Alive." in acpx.run("prompt", "FAKE say Alive.")
    assert stage.starts() == 2


def _restart(acpx: Acpx, stage: RunModeStage) -> None:
    """The session was made before there was an agent: only we know it by this id."""
    acpx.transcript.scene(RESTART)
    told = acpx.run("status")
    owner = next(line for line in told.splitlines() if line.startswith("pid: "))
    _end(int(owner.removeprefix("pid: ")))
    again = acpx.run("prompt", "FAKE say Here again.")
    if "The agent is being started" in again:
        pytest.skip("the agent starts too slowly here: no editor waits so long for what it can do")
    assert "session/resume" in again
    assert "Here again." in again
    assert stage.starts() == 3


def _end(pid: int) -> None:
    """End a process that is not ours, and wait until it has ended."""
    handle = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGTERM)
        assert select.select([handle], [], [], 30)[0], f"process {pid} goes on"
    finally:
        os.close(handle)
