"""`symposium run` as a program between one editor and the agents of its config."""

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
    """Path of the config file that `symposium run` reads here."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.jsonc"


@pytest.fixture
def editor(start: Start) -> Callable[..., Editor]:
    """Start `symposium run` with these words, and initialize it."""

    def begin(*words: str) -> Editor:
        return started_editor(start, *words)

    return begin


@pytest.fixture
def imported(
    config: Path, environment: dict[str, str], symposium_spec: Spec
) -> Callable[[], set[str]]:
    """Return the modules that `symposium run` has imported after initialize."""

    def ask() -> set[str]:
        config.write_text(config_text("eliza"))
        python = str(Path(f"{symposium_spec()}".split()[0]).with_name("python"))
        params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
        initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        ended = subprocess.run(
            [python, "-X", "importtime", "-m", "symposium", "run"],
            input=json.dumps(initialize) + "\n",
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
def test_first_start_leads_to_an_answer(editor: Callable[..., Editor], config: Path) -> None:
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
def test_config_made_in_one_run_is_used_in_the_next(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza"))
    for _ in range(2):
        it = editor()
        assert it.say(it.session(), "Hello") == HELLO
        assert it.end() == 0


@pytest.mark.requirement("run-mode.process-shared")
def test_two_sessions_share_one_process_of_the_agent(
    editor: Callable[..., Editor], config: Path, tmp_path: Path, symposium_spec: Spec
) -> None:
    shell = f"echo started >> {tmp_path}/starts; exec {symposium_spec('eliza')}"
    config.write_text(config_text(shlex.join(["sh", "-c", shell])))
    it = editor()
    one, two = it.session(), it.session()
    assert one != two
    assert it.say(one, "Hello") == it.say(two, "Hello") == HELLO
    assert (tmp_path / "starts").read_text() == "started\n"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-config-edited")
def test_edited_config_is_for_the_next_session(
    editor: Callable[..., Editor], config: Path, symposium_spec: Spec
) -> None:
    config.write_text(config_text(symposium_spec("eliza")))
    it = editor()
    old = it.session()
    config.write_text(config_text(symposium_spec("eliza"), "arrow"))
    new = it.session()
    assert it.say(new, "Hello") == f">{HELLO}"
    assert it.say(old, "Hello") == HELLO
    assert "editor → arrow →" in it.say(new, "/symposium:status")
    assert "arrow" not in it.say(old, "/symposium:status")
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-menu-beside-turn")
def test_menu_in_one_session_does_not_affect_the_turn_of_another(
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
def test_agent_killed_in_its_turn_ends_the_turn_and_not_the_editor(
    editor: Callable[..., Editor], config: Path, scripted: Spec, symposium_spec: Spec
) -> None:
    config.write_text(config_text(scripted("prompt=stderr:last-words", "prompt=kill")))
    it = editor()
    error = it.answer(it.prompt(it.session(), "Hello"))["error"]
    assert error["code"] == -32603
    assert (error["data"]["reason"], error["data"]["signal"]) == ("component_exited", "SIGKILL")
    assert "last-words" in error["data"]["stderrTail"]
    config.write_text(config_text(symposium_spec("eliza")))
    assert it.say(it.session(), "Hello") == HELLO
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-agent-killed")
def test_same_config_starts_a_new_agent_after_a_crash(
    editor: Callable[..., Editor], config: Path, scripted: Spec
) -> None:
    config.write_text(config_text(scripted("prompt=kill")))
    it = editor()
    for _ in range(2):
        assert it.answer(it.prompt(it.session(), "Hello"))["error"]["data"]["signal"] == "SIGKILL"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-config-broken")
def test_config_broken_by_hand_is_reported_and_nothing_is_lost(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("eliza"))
    it = editor()
    session = it.session()
    broken = '{ "agent": "eliza",\n  "proxies": [ { ]\n}'
    config.write_text(broken)
    messages = it.say(session, "/symposium:config")
    assert f"{config}:2:" in messages
    assert f"{config}:2:" in it.notices(it.session())
    assert it.say(session, "Hello") == HELLO
    assert config.read_text() == broken
    assert it.end() == 0


@pytest.mark.requirement("run-mode.process-start-failed")
def test_missing_agent_is_named_with_its_command(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("/no/such/agent --acp"))
    it = editor()
    messages = it.notices(it.session())
    assert "/no/such/agent --acp" in messages
    assert "No such file" in messages
    assert it.end() == 0


@pytest.mark.requirement("run-mode.unknown-mod")
def test_unknown_mod_is_left_out_with_a_notice(editor: Callable[..., Editor], config: Path) -> None:
    config.write_text(config_text("eliza", "arrow", "sparkel"))
    it = editor()
    session = it.session()
    it.until(lambda: session in it.said)
    assert "The mod `sparkel` is left out" in it.said.pop(session)
    assert it.say(session, "Hello") == f">{HELLO}"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.end-answers")
def test_open_requests_are_answered_when_the_editor_exits(
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
def test_config_and_recordings_can_be_elsewhere(
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
def test_start_imports_nothing_heavy(imported: Callable[[], set[str]]) -> None:
    names = imported()
    assert "symposium.run_mode.serve_editor" in names
    assert names & BANNED == set()
    assert names & {"_ssl", "symposium.cli.failures", "peerwire.mcp.client"} == set()
    assert not {name for name in names if name.startswith("symposium.registry")}


@pytest.mark.requirement("cli.start-on-demand")
def test_start_executes_no_rarely_used_module(
    imported: Callable[[], set[str]],
) -> None:
    assert imported() & {"dis", "opcode", "tokenize", "_ast"} == set()


@pytest.mark.requirement("run-mode.start-values")
def test_no_class_is_generated_before_the_initialize_response(
    imported: Callable[[], set[str]],
) -> None:
    ours = {name for name in imported() if name.startswith(("symposium.", "peerwire."))}
    assert "symposium.agents.eliza.engine" in ours, "the chain was started"
    # A module that is imported by name, such as an agent, is not listed itself.
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
    """Return the text without measured numbers."""
    return re.sub(r"p50 \S+ ms, p95 \S+ ms", "p50 0.02 ms, p95 0.02 ms", text)


@pytest.mark.requirement("run-mode.page")
def test_page_on_run_mode_shows_the_real_text(editor: Callable[..., Editor], config: Path) -> None:
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
def test_log_explains_why_there_is_no_chain_yet(
    editor: Callable[..., Editor], config: Path
) -> None:
    config.write_text(config_text("no-such-program --acp"))
    it = editor()
    _, said = it.process.communicate(timeout=45)
    (line,) = [each for each in said.splitlines() if "could not start the chain" in each]

    assert "no-such-program" in line
    assert "{'" not in line
    assert "Internal error" not in line
