"""`symposium run` as a program between one editor and the agents that its config names."""

import importlib
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.editor import Editor, Start, started_editor

Spec: TypeAlias = Callable[..., str]

HELLO = "How do you do. Please state your problem."
BANNED = {
    *("h11", "httpx2", "importlib.metadata", "mcp", "pydantic", "rich", "starlette"),
    *("urllib.request", "uvicorn"),
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The config file that `symposium run` reads here."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.jsonc"


@pytest.fixture
def editor(start: Start) -> Callable[..., Editor]:
    """Starts `symposium run` with these words, and greets it."""

    def begin(*words: str) -> Editor:
        return started_editor(start, *words)

    return begin


@pytest.fixture
def imported(config: Path, environment: dict[str, str], ourselves: Spec) -> Callable[[], set[str]]:
    """What `symposium run` has imported when it has greeted its editor and was left."""

    def ask() -> set[str]:
        config.write_text(config_text("eliza"))
        python = str(Path(f"{ourselves()}".split()[0]).with_name("python"))
        params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
        greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        ended = subprocess.run(
            [python, "-X", "importtime", "-m", "symposium", "run"],
            input=json.dumps(greeting) + "\n",
            capture_output=True,
            text=True,
            env=environment,
            timeout=45,
            check=True,
        )
        assert '"agentCapabilities"' in ended.stdout
        return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}

    return ask


def config_text(agent: str, *mods: str) -> str:
    return json.dumps({"agent": agent, "proxies": [{"name": name} for name in mods]})


@pytest.mark.requirement("run-mode.first-start", "run-mode.file-mode")
def test_from_the_first_start_to_the_first_answer(
    editor: Callable[..., Editor], config: Path
) -> None:
    it = editor()
    session = it.session()
    it.until(lambda: "to leave" in it.said.get(session, ""))
    row = re.search(r"\| (\d+) \| Eliza \|", it.said.pop(session))
    assert row is not None
    assert "Agent set to `Eliza`." in it.say(session, row[1])
    assert it.say(session, "SAVE") == "Configuration saved. Starting your session.\n\n"
    assert it.say(session, "Hello") == HELLO
    assert config.stat().st_mode & 0o777 == 0o600
    assert it.end() == 0


@pytest.mark.requirement("run-mode.first-start")
def test_a_config_made_in_one_run_is_there_in_the_next(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza"))
    for _ in range(2):
        it = editor()
        assert it.say(it.session(), "Hello") == HELLO
        assert it.end() == 0


@pytest.mark.requirement("run-mode.process-shared")
def test_two_sessions_share_one_process_of_the_agent(
    editor: Callable[..., Editor], config: Path, tmp_path: Path, ourselves: Spec
) -> None:
    shell = f"echo started >> {tmp_path}/starts; exec {ourselves('eliza')}"
    config.write_text(config_text(shlex.join(["sh", "-c", shell])))
    it = editor()
    one, two = it.session(), it.session()
    assert one != two
    assert it.say(one, "Hello") == it.say(two, "Hello") == HELLO
    assert (tmp_path / "starts").read_text() == "started\n"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-config-edited")
def test_an_edited_config_is_for_the_next_session(
    editor: Callable[..., Editor], config: Path, ourselves: Spec
) -> None:
    config.write_text(config_text(ourselves("eliza")))
    it = editor()
    old = it.session()
    config.write_text(config_text(ourselves("eliza"), "arrow"))
    new = it.session()
    assert it.say(new, "Hello") == f">{HELLO}"
    assert it.say(old, "Hello") == HELLO
    assert "editor → arrow →" in it.say(new, "/symposium:status")
    assert "arrow" not in it.say(old, "/symposium:status")
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-menu-beside-turn")
def test_a_menu_in_one_session_leaves_the_turn_of_another_alone(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("testy"))
    it = editor()
    busy, other = it.session(), it.session()
    turn = it.prompt(busy, '{"command": "wait_for_cancel"}')
    it.until(lambda: busy in it.said)
    assert "## Current Configuration" in it.say(other, "/symposium:config")
    it.write({"method": "session/cancel", "params": {"sessionId": busy}})
    assert it.answer(turn)["result"]["stopReason"] == "cancelled"
    assert "cancelled" in it.say(other, "cancel")
    assert "Hello" in it.say(other, '{"command": "greet"}')
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-agent-killed")
def test_an_agent_killed_in_its_turn_ends_the_turn_and_not_the_editor(
    editor: Callable[..., Editor], config: Path, scripted: Spec, ourselves: Spec
) -> None:
    config.write_text(config_text(scripted("prompt=stderr:last-words", "prompt=kill")))
    it = editor()
    error = it.answer(it.prompt(it.session(), "Hello"))["error"]
    assert error["code"] == -32603
    assert (error["data"]["reason"], error["data"]["signal"]) == ("component_exited", "SIGKILL")
    assert "last-words" in error["data"]["stderrTail"]
    config.write_text(config_text(ourselves("eliza")))
    assert it.say(it.session(), "Hello") == HELLO
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-agent-killed")
def test_after_a_death_the_same_config_starts_a_new_agent(
    editor: Callable[..., Editor], config: Path, scripted: Spec
) -> None:
    config.write_text(config_text(scripted("prompt=kill")))
    it = editor()
    for _ in range(2):
        assert it.answer(it.prompt(it.session(), "Hello"))["error"]["data"]["signal"] == "SIGKILL"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-config-broken")
def test_a_config_broken_by_hand_is_told_where_one_looks_and_nothing_is_lost(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza"))
    it = editor()
    session = it.session()
    broken = '{ "agent": "eliza",\n  "proxies": [ { ]\n}'
    config.write_text(broken)
    told = it.say(session, "/symposium:config")
    assert f"{config}:2:" in told
    assert f"{config}:2:" in it.notices(it.session())
    assert it.say(session, "Hello") == HELLO
    assert config.read_text() == broken
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-start-failed")
def test_an_agent_that_is_not_there_is_named_with_what_was_to_be_started(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("/no/such/agent --acp"))
    it = editor()
    told = it.notices(it.session())
    assert "/no/such/agent --acp" in told
    assert "No such file" in told
    assert it.end() == 0


@pytest.mark.requirement("run-mode.unknown-mod")
def test_a_mod_that_nobody_knows_is_left_out_and_told(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza", "arrow", "sparkel"))
    it = editor()
    session = it.session()
    it.until(lambda: session in it.said)
    assert "The mod `sparkel` is left out" in it.said.pop(session)
    assert it.say(session, "Hello") == f">{HELLO}"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.end-answers")
def test_what_is_open_when_the_editor_ends_is_answered(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza"))
    it = editor()
    session = it.session()
    turn = it.prompt(session, "Hello")
    assert it.process.stdin is not None
    it.process.stdin.close()
    assert it.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert it.process.wait(45) == 0


@pytest.mark.requirement("run-mode.option-config", "run-mode.recorded")
def test_the_config_and_what_is_recorded_can_be_elsewhere(
    editor: Callable[..., Editor], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.jsonc"
    elsewhere.write_text(config_text("eliza"))
    it = editor("--config", str(elsewhere), "--trace-dir", "traces", "--log-dir", "logs")
    assert it.say(it.session(), "Hello") == HELLO
    assert it.end() == 0
    (trace,) = (tmp_path / "traces").iterdir()
    assert '"session/prompt"' in trace.read_text()
    logs = "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert "C →" in logs or "C ←" in logs


@pytest.mark.requirement("run-mode.imports", "cli.start-without-tls")
def test_starting_imports_nothing_heavy(imported: Callable[[], set[str]]) -> None:
    names = imported()
    assert "symposium.run_mode.config_agent" in names
    assert names & BANNED == set()
    assert names & {"_ssl", "symposium.cli.failures", "peerwire.mcp.client"} == set()
    assert not {name for name in names if name.startswith("symposium.registry")}


@pytest.mark.requirement("cli.start-on-demand")
def test_starting_executes_no_module_that_is_used_in_rare_cases_only(
    imported: Callable[[], set[str]],
) -> None:
    assert imported() & {"dis", "opcode", "tokenize", "_ast"} == set()


@pytest.mark.requirement("run-mode.start-values")
def test_no_class_is_made_by_running_code_before_the_editor_is_greeted(
    imported: Callable[[], set[str]],
) -> None:
    ours = {name for name in imported() if name.startswith(("symposium.", "peerwire."))}
    assert "symposium.agents.eliza.engine" in ours, "the chain was started"
    # What is imported by its name, as an agent is, is not listed itself.
    ours.add("symposium.agents.eliza.agent")
    modules = [importlib.import_module(name) for name in sorted(ours)]
    slow = [
        f"{module.__name__}.{name}"
        for module in modules
        for name, thing in vars(module).items()
        if is_dataclass(thing) and getattr(thing, "__module__", "") == module.__name__
    ]
    assert slow == []


def same_figures(text: str) -> str:
    """The text, whatever was measured."""
    return re.sub(r"p50 \S+ ms, p95 \S+ ms", "p50 0.02 ms, p95 0.02 ms", text)


@pytest.mark.requirement("run-mode.page")
def test_the_page_on_run_mode_shows_what_is_said(
    editor: Callable[..., Editor], config: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/run-mode.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (chat,) = re.findall(r"~~~text\n(.*?)~~~", page, re.DOTALL)
    config.write_text(written)
    it = editor()
    session = it.session()
    typed = re.findall(r"^> (.+)$", chat, re.MULTILINE)
    said = [f"> {text}\n\n{same_figures(it.say(session, text).rstrip())}\n" for text in typed]
    assert "\n".join(said) == chat
    assert it.end() == 0


@pytest.mark.requirement("showing.once")
def test_the_log_says_in_words_why_there_is_no_chain_yet(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("no-such-program --acp"))
    it = editor()
    _, said = it.process.communicate(timeout=45)
    (line,) = [each for each in said.splitlines() if "could not start the chain" in each]

    assert "no-such-program" in line
    assert "{'" not in line
    assert "Internal error" not in line
