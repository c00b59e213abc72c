"""Run mode with a third-party client over one connection: an example of ACP's Python SDK."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.run_mode_setup import PEERS, RunModeMachine, clients, opencode, set_up_machine
from tests.e2e.transcript import SLOW, Transcript

pytestmark = pytest.mark.timeout(300)

PYTHON = PEERS / "py" / "acp" / "bin" / "python"
EXAMPLE = PEERS / "src" / "agent_client_protocol-0.12.1" / "examples" / "gemini.py"
LISTENS = "\n> "
CHOOSES = "Select option: "
TIMEOUT = 40
"""Seconds after which this client cancels a turn: it cannot cancel while one is open."""


class Example:
    """User at the example client, with typed lines and printed output."""

    def __init__(self, process: "subprocess.Popen[str]", transcript: Transcript) -> None:
        self.transcript = transcript
        self._process = process

    def scene(self, title: str) -> None:
        """Start the next part."""
        self.transcript.scene(title)

    def say(self, line: str, *until: str, ends: str = LISTENS) -> str:
        """Type a line; return the output until it contains these words and a new prompt."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self.transcript.add(f"> {line}")
        return self.read_until(*until, ends=ends)

    def read_until(self, *until: str, ends: str = LISTENS) -> str:
        """Return the output until it contains these words and this exact text."""
        assert self._process.stdout is not None
        text = ""
        while not (_joined(text, until) and ends in text):
            read = self._process.stdout.read(1)
            assert read, f"it ended before it said {until}: {text}"
            text += read
        self.transcript.add(_conversation(text))
        return text


def _joined(text: str, until: tuple[str, ...]) -> bool:
    """Whether the words were printed: this client breaks the line after each chunk."""
    said = " ".join(text.split())
    return all(words in said for words in until)


def _conversation(text: str) -> str:
    """Return the readable text: updates that this client prints as objects are left out."""
    lines = [line for line in text.splitlines() if not line.startswith("[session update]")]
    return "\n".join(lines).replace(LISTENS, "\n").strip("> \n") + "\n"


@pytest.fixture
def machine(tmp_path: Path, peers_folder: Path, model: str) -> RunModeMachine:
    clients(peers_folder, PYTHON, EXAMPLE)
    opencode(peers_folder)
    return set_up_machine(tmp_path / "machine", peers_folder, model)


@pytest.fixture
def example(machine: RunModeMachine) -> Iterator[Example]:
    # It accepts one program, and gives it a flag.
    editor = machine.root / "editor.sh"
    editor.write_text(f"#!/bin/sh\nexec {machine.host}\n", encoding="utf-8")
    editor.chmod(0o755)
    process = subprocess.Popen(
        [PYTHON, EXAMPLE, "--gemini", editor, "--prompt-timeout", str(TIMEOUT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=machine.work,
        env=machine.environment,
    )
    with process:
        yield Example(process, Transcript("python-sdk.md", machine.places))
        process.kill()


@pytest.mark.requirement("stories.strangers-python-sdk")
def test_sdk_example_works_over_one_connection(example: Example, machine: RunModeMachine) -> None:
    _first_run(example, machine)
    _tools_and_menu(example, machine)
    _cancel_and_death(example, machine)
    example.transcript.check()


def _first_run(it: Example, machine: RunModeMachine) -> None:
    it.scene("First start")
    it.read_until("Welcome to Symposium!", "Enter a number to select", "to leave.")
    it.say(f"FAKE read {machine.work}/notes.txt ;; FAKE final That is what it says.", "is saved")
    it.say("1", "- `SAVE`")
    assert not machine.config.exists()
    it.say("SAVE", "Configuration saved.", "That is what it says.")
    assert machine.config.stat().st_mode & 0o777 == 0o600
    assert machine.starts() == 1


def _tools_and_menu(it: Example, machine: RunModeMachine) -> None:
    it.scene("A tool that asks first")
    write = f"FAKE write {machine.work}/new.txt by the SDK ;; FAKE final Written."
    it.say(write, "Permission requested:", ends=CHOOSES)
    it.say("1", "Written.")
    assert (machine.work / "new.txt").read_text(encoding="utf-8") == "by the SDK"

    it.scene("A permission that is refused")
    again = f"FAKE write {machine.work}/other.txt by the SDK ;; FAKE final So be it."
    it.say(again, "Permission requested:", ends=CHOOSES)
    it.say("3")
    assert not (machine.work / "other.txt").exists()

    it.scene("The menu, and away from it")
    before = machine.config.read_bytes()
    it.say("/symposium:config", "## Current Configuration")
    it.say("3", "is now disabled")
    it.say("CANCEL", "Returning to your session.")
    assert machine.config.read_bytes() == before


def _cancel_and_death(it: Example, machine: RunModeMachine) -> None:
    it.scene("A turn that is cancelled")
    it.say(SLOW, "Soon", "timed out")
    it.say("FAKE say Here.", "Here.")
    assert machine.starts() == 1

    it.scene("The agent is killed in a turn")
    it.say(SLOW, "Soon", ends="\n")
    machine.kill_agent()
    it.read_until("killed by SIGKILL", "prompt error")
    it.say("FAKE say Alive.", "Alive.")
    assert machine.starts() == 2
