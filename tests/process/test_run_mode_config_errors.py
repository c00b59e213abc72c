"""Configs that cannot be started: the chat stays available, over real programs."""

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.editor import Editor, Start, started_editor

Spec: TypeAlias = Callable[..., str]

QUESTION = "Hello"
ANSWER = "How do you do. Please state your problem."


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Path of the config file that `symposium run` reads here."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.jsonc"


def text_of(agent: Any, *mods: Any) -> str:
    return json.dumps({"agent": agent, "proxies": list(mods)})


def local(name: str, command: str, *arguments: str) -> dict[str, Any]:
    return {"name": name, "source": {"local": {"command": command, "args": list(arguments)}}}


def choose_eliza(it: Editor, session: str) -> str:
    """Open the menu, choose Eliza, save; return the text of the turn with the save."""
    assert "`SAVE`" in it.say(session, "/symposium:config")
    assert "Eliza" in it.say(session, "a")
    assert "Agent set to `Eliza`." in it.say(session, "Eliza")
    return it.say(session, "SAVE")


@pytest.mark.requirement("run-mode.process-mending", "config.never-crashes")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n  "agent": "\\ud800"}', "config.jsonc:2:13: \\ud800 is half a character"),
        ('{"agent": "a\\u0000b"}', "did not start"),
        ('{"agent": {"local": {"command": "a\\u0000b"}}}', "did not start"),
    ],
)
def test_invalid_characters_in_a_command_are_reported_in_the_chat(
    start: Start, config: Path, text: str, reason: str
) -> None:
    config.write_text(text)
    it = started_editor(start)
    session = it.session()

    assert reason in it.notices(session)
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-mending")
@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("/no/such/agent --acp", "No such file"),
        ("/tmp", "could not start `/tmp`: Permission denied"),
        ("{pipe}", "did not start: could not start"),
        ("elisa", "did not start: 'elisa' is neither a built-in agent"),
        ("initialize=exit:3", "exited with code 3"),
        ("new=error:-32000:Authentication required", "requires a login"),
        ("new=error:-32603:Query closed", "Query closed"),
    ],
)
def test_agent_that_does_not_start_is_reported_and_changed_in_the_chat(
    start: Start, config: Path, scripted: Spec, agent: str, reason: str
) -> None:
    pipe = config.parent / "pipe"
    os.mkfifo(pipe, 0o700)
    words = scripted(agent) if "=" in agent else agent.replace("{pipe}", str(pipe))
    config.write_text(text_of(words))
    it = started_editor(start)
    session = it.session()
    messages = it.notices(session)
    assert reason in messages
    assert "`/symposium:config`" in messages
    assert "is saved" in it.say(session, QUESTION)
    said = choose_eliza(it, session)
    assert "Configuration saved. Starting your session." in said
    assert said.endswith(ANSWER)
    assert it.say(session, QUESTION) == ANSWER
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-mending")
def test_mod_that_exits_is_reported_and_switched_off_in_the_chat(
    start: Start, config: Path
) -> None:
    config.write_text(text_of("eliza", local("mine", "false")))
    it = started_editor(start)
    session = it.session()
    messages = it.notices(session)
    assert "The mod `mine` did not start" in messages
    assert "exited with code 1" in messages
    assert "type `/symposium:config`, then `1`" in messages
    it.say(session, "/symposium:config")
    assert "Mod `mine` is now disabled." in it.say(session, "1")
    assert "Starting your session" in it.say(session, "save")
    assert it.say(session, QUESTION) == ANSWER
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-mending")
def test_error_in_a_mod_is_shown_with_its_output_and_fixed_outside_the_chat(
    start: Start, config: Path, tmp_path: Path
) -> None:
    program = tmp_path / "mine.py"
    program.write_text("def broken(:\n")
    config.write_text(text_of("eliza", local("mine", sys.executable, str(program))))
    it = started_editor(start)
    session = it.session()
    messages = it.notices(session)
    assert "SyntaxError" in messages
    assert "is saved" in it.say(session, QUESTION)
    config.write_text(text_of("eliza"))
    assert it.say(session, "again").endswith(ANSWER)
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-mending", "run-mode.mending-broken")
def test_truncated_file_is_reported_and_saved_beside_the_new_one(
    start: Start, config: Path
) -> None:
    cut = text_of("eliza")[:14]
    config.write_text(cut)
    it = started_editor(start)
    session = it.session()
    assert f"{config}:1:" in it.notices(session)
    assert "is saved" in it.say(session, QUESTION)
    it.say(session, "/symposium:config")
    it.say(session, "Eliza")
    assert it.say(session, "save").endswith(ANSWER)
    assert config.with_name("config.jsonc.broken").read_text() == cut
    assert '"agent": "eliza"' in config.read_text()
    assert it.end() == 0


@pytest.mark.requirement("run-mode.compose-missing-program")
@pytest.mark.parametrize("command", ["/no/such/mod", "no-such-mod"])
def test_mod_with_a_missing_program_is_left_out_with_a_notice(
    start: Start, config: Path, command: str
) -> None:
    config.write_text(text_of("eliza", local("mine", command), {"name": "arrow"}))
    it = started_editor(start)
    session = it.session()
    messages = it.notices(session)
    assert "The mod `mine` is left out" in messages
    assert command in messages
    assert it.say(session, QUESTION) == f">{ANSWER}"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-mending")
def test_menu_opens_by_one_prompt(
    config: Path, symposium: Callable[..., Any], symposium_spec: Spec
) -> None:
    config.write_text(text_of("/no/such"))
    agent = shlex.join(shlex.split(symposium_spec("run", "--no-registry")))
    done = symposium("prompt", "--agent", agent, "/symposium:config")
    assert done.returncode == 0
    assert "## Current Configuration" in done.stdout


@pytest.mark.requirement("run-mode.import")
def test_config_of_an_older_version_is_offered_and_unchanged(
    start: Start, config: Path, tmp_path: Path
) -> None:
    older = tmp_path / "home" / "config" / "agent.json"
    older.parent.mkdir()
    older.write_text('{"agent": {"builtin": "eliza"}}')
    it = started_editor(start)
    session = it.session()
    it.until(lambda: "`CANCEL`" in it.said.get(session, ""))
    assert "**Agent:** Eliza" in it.notices(session)
    it.say(session, "import")
    assert "Starting your session" in it.say(session, "save")
    assert it.say(session, QUESTION) == ANSWER
    assert older.read_text() == '{"agent": {"builtin": "eliza"}}'
    assert config.exists()
    assert it.end() == 0


@pytest.mark.requirement("process.shown-without-values")
def test_value_of_a_variable_is_never_shown_in_the_chat(
    start: Start, config: Path, scripted: Spec
) -> None:
    config.write_text(text_of("API_KEY=s3cr3t-word /no/such/agent"))
    it = started_editor(start)
    session = it.session()
    messages = [it.notices(session)]
    config.write_text(text_of(f"API_KEY=s3cr3t-word {scripted()}"))
    session = it.session()
    messages += [it.say(session, f"/symposium:{each}") for each in ("status", "agents", "config")]
    it.end()

    assert all("API_KEY=…" in each for each in messages), messages
    assert "s3cr3t-word" not in "".join(messages)
