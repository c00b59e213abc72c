"""First run, a config changed beside a running session, and commands (users A-1, A-2, A-3)."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.support.editor import Editor, Start, started_editor

AGENT = Path(__file__).parent / "agents" / "mortal_agent.py"


def prompts(tmp_path: Path) -> list[list[str]]:
    """Return the prompts of the agent, by session."""
    return list(json.loads((tmp_path / "store").read_text()).values())


def program(folder: Path, name: str, tmp_path: Path) -> None:
    """Create an agent program that records its start."""
    folder.mkdir(exist_ok=True)
    agent = shlex.join([sys.executable, str(AGENT), str(tmp_path / "store"), "resume"])
    path = folder / name
    path.write_text(f"#!/bin/sh\necho started >> {tmp_path}/starts\nexec {agent}\n")
    path.chmod(0o755)


@pytest.mark.requirement("stories.a-01-first-run")
def test_any_first_message_leads_to_an_answer_by_an_installed_agent(
    start: Start, tmp_path: Path, environment: dict[str, str]
) -> None:
    # Outside of the open directory, of which nothing is started.
    place_of_programs = tmp_path.with_name(f"{tmp_path.name}-programs")
    program(place_of_programs, "claude-code-acp", tmp_path)
    environment["PATH"] = f"{place_of_programs}{os.pathsep}{os.environ['PATH']}"
    it = started_editor(start)
    session = it.session()
    it.until(lambda: "to " in it.said.get(session, "").rpartition("\n\n")[2])
    turn = it.prompt(session, "What is 2+2?")
    it.answer(turn)
    messages = it.said.pop(session)
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", messages, re.MULTILINE)
    number, name, place = rows[0]
    assert name == "Claude Code"
    assert str(place_of_programs / "claude-code-acp") in place
    it.say(session, number)
    answered = it.say(session, "SAVE")
    assert answered.endswith("What is 2+2?")
    assert it.end() == 0

    config = tmp_path / "home" / "config.jsonc"
    assert config.stat().st_mode & 0o777 == 0o600
    assert "claude-code-acp" in config.read_text()
    assert (tmp_path / "starts").read_text() == "started\n"
    # The agent gets no message of the dialog.
    ((received,),) = prompts(tmp_path)
    assert received.endswith("What is 2+2?")
    assert "SAVE" not in received


def configured(tmp_path: Path) -> Path:
    program(tmp_path / "bin", "agent", tmp_path)
    (tmp_path / "home").mkdir()
    config = tmp_path / "home" / "config.jsonc"
    names = ["pass", "tag", "arrow"]
    proxies = [{"name": name, "enabled": name != "arrow"} for name in names]
    value = {"agent": str(tmp_path / "bin" / "agent"), "proxies": proxies}
    config.write_text("// mine\n" + json.dumps(value, indent=2))
    return config


def begun(start: Start, tmp_path: Path) -> tuple[Editor, Path]:
    config = configured(tmp_path)
    return started_editor(start), config


@pytest.mark.requirement("stories.a-02-config")
def test_config_changed_in_one_session_is_for_the_next_and_this_one_keeps_its_chain(
    start: Start, tmp_path: Path
) -> None:
    it, config = begun(start, tmp_path)
    before = config.read_bytes()
    one = it.session()
    it.say(one, "/symposium:config")
    it.say(one, "3")
    it.say(one, "CANCEL")
    assert config.read_bytes() == before

    it.say(one, "/symposium:config")
    it.say(one, "3")
    it.say(one, "move 3 to 1")
    # Typed ahead: the menu gets the first, the agent the rest, in order.
    turns = [it.prompt(one, text) for text in ("SAVE", "hello", "count")]
    for turn in turns:
        assert it.answer(turn)["result"]["stopReason"] == "end_turn"
    messages = it.said.pop(one)
    assert "```diff" in messages
    assert "+ 1. [x] arrow" in messages
    assert messages.endswith("hello1")
    two = it.session()
    assert it.say(two, "hello") == ">hello"
    assert it.say(one, "hello") == "hello"
    assert "editor → pass → tag →" in it.say(one, "/symposium:status")
    assert "editor → arrow → pass → tag →" in it.say(two, "/symposium:status")
    assert (tmp_path / "starts").read_text() == "started\nstarted\n"
    assert config.read_text().startswith("// mine")
    assert it.end() == 0


@pytest.mark.requirement("stories.a-02-config")
def test_editor_that_exits_in_the_menu_leaves_the_file_unchanged(
    start: Start, tmp_path: Path
) -> None:
    it, config = begun(start, tmp_path)
    before = config.read_bytes()
    session = it.session()
    it.say(session, "/symposium:config")
    it.say(session, "3")
    assert it.end() == 0
    assert config.read_bytes() == before


@pytest.mark.requirement("stories.a-03-slash")
def test_commands_of_the_agent_reach_it_and_those_of_symposium_do_not(
    start: Start, tmp_path: Path
) -> None:
    it, _ = begun(start, tmp_path)
    session = it.session()
    for text in ("/compact", "/symposium:help", "/nonsense now"):
        it.say(session, text)
    assert it.end() == 0
    assert prompts(tmp_path) == [["/compact", "/nonsense now"]]
