"""`symposium run-with` as a program between a client and its agent."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from click.testing import CliRunner

from symposium.__main__ import main

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

INITIALIZE = {"method": "initialize", "params": {"protocolVersion": 1}}
NEW: dict[str, Any] = {"method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
BANNED = {
    *("h11", "httpx2", "importlib.metadata", "mcp", "prompt_toolkit", "pydantic", "rich"),
    *("starlette", "uvicorn"),
}


def write(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def read(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def ask(process: subprocess.Popen[str], request_id: int, message: dict[str, Any]) -> Any:
    """Return the response to a request; skip earlier messages."""
    write(process, {"id": request_id, **message})
    while (answer := read(process)).get("id") != request_id or "method" in answer:
        pass
    return answer


def say(process: subprocess.Popen[str], text: str) -> str:
    """Return the agent's text after a prompt in a new session."""
    ask(process, 1, INITIALIZE)
    session = ask(process, 2, NEW)["result"]["sessionId"]
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    write(process, {"id": 3, "method": "session/prompt", "params": prompt})
    said = ""
    while "result" not in (message := read(process)):
        update = message["params"]["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            said += update["content"]["text"]
    return said


def end(process: subprocess.Popen[str]) -> int:
    """Close its input; return its exit code."""
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(45)


@pytest.mark.requirement("cli.run-with-agent-mode", "cli.exit-ok", "cli.eliza-hello")
def test_run_with_an_agent_is_an_agent_and_ends_with_its_client(start: Start) -> None:
    process = start("run-with", "--agent", "eliza")

    assert say(process, "Hello") == "How do you do. Please state your problem."
    assert end(process) == 0


@pytest.mark.requirement("cli.run-with-proxy-mode")
def test_run_without_an_agent_is_a_proxy_and_refuses_plain_initialize(start: Start) -> None:
    process = start("run-with", "--proxy", "arrow")

    refusal = ask(process, 1, INITIALIZE)

    assert refusal["error"]["code"] == -32600
    assert "_proxy/initialize" in refusal["error"]["data"]


@pytest.mark.requirement("cli.run-with-proxy-mode", "cli.mods-as-processes")
def test_chain_of_mods_is_a_mod_of_another_chain(start: Start, symposium_spec: Spec) -> None:
    inner = symposium_spec("run-with", "--proxy", "arrow", "--proxy", "arrow")
    process = start("run-with", "--proxy", inner, "--agent", "eliza")

    assert say(process, "Hello").startswith(">>How do you do")


@pytest.mark.requirement("cli.run-with-no-arguments")
def test_run_with_neither_mods_nor_agent_changes_nothing(
    start: Start, symposium_spec: Spec
) -> None:
    process = start("run-with", "--proxy", symposium_spec("run-with"), "--agent", "eliza")

    assert say(process, "Hello") == "How do you do. Please state your problem."


@pytest.mark.requirement("cli.run-with-proxy-order")
def test_order_of_mods_is_from_client_to_agent(start: Start, marking: Spec) -> None:
    mods = ["--proxy", marking("A"), "--proxy", marking("B"), "--proxy", marking("C")]
    process = start("run-with", *mods, "--agent", "eliza")

    # The last mod is the first to see messages of the agent.
    assert say(process, "Hello").startswith("ABCHow do you do")


@pytest.mark.requirement("cli.run-with-stdout")
def test_stdout_has_only_protocol_whatever_the_agent_prints(start: Start, scripted: Spec) -> None:
    noise = scripted("any=text:Welcome!", "any=stderr:on stderr")
    process = start("run-with", "--agent", noise, "--log", "debug")

    assert say(process, "Hello") == "Answered."
    rest, _ = process.communicate(timeout=45)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())


@pytest.mark.requirement("cli.run-with-trace-dir")
def test_trace_is_written_into_a_new_directory(start: Start, tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "traces"
    process = start("run-with", "--agent", "eliza", "--trace-dir", str(directory))
    say(process, "Hello")
    end(process)

    (trace,) = directory.iterdir()
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [event["method"] for event in events if event["type"] == "request"] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]


@pytest.mark.requirement("cli.run-with-trace-dir-collision")
def test_two_starts_in_one_second_write_two_traces(start: Start, tmp_path: Path) -> None:
    both = [start("run-with", "--agent", "eliza", "--trace-dir", "traces") for _ in range(2)]
    for process in both:
        ask(process, 1, INITIALIZE)
    for process in both:
        end(process)

    assert len(list((tmp_path / "traces").iterdir())) == 2


@pytest.mark.requirement("cli.run-with-log")
@pytest.mark.parametrize(("level", "is_said"), [("warning", False), ("info", True)])
def test_log_level_decides_if_an_agents_stderr_is_forwarded(
    start: Start, scripted: Spec, level: str, *, is_said: bool
) -> None:
    process = start("run-with", "--agent", scripted("any=stderr:warming-up"), "--log", level)
    ask(process, 1, INITIALIZE)
    _, talk = process.communicate(timeout=45)

    assert ("warming-up" in talk) == is_said


@pytest.mark.requirement("cli.run-with-log-dir")
def test_log_file_is_written_only_into_a_given_directory(start: Start, tmp_path: Path) -> None:
    plain = start("run-with", "--agent", "eliza", "--log", "debug")
    say(plain, "Hello")
    end(plain)
    assert list(tmp_path.rglob("*.log")) == []

    logged = start("run-with", "--agent", "eliza", "--log-dir", "logs")
    say(logged, "Hello")
    end(logged)
    (log,) = tmp_path.rglob("*.log")
    assert "session/prompt" in log.read_text()


@pytest.mark.requirement("cli.run-with-imports")
def test_no_heavy_module_is_imported_before_the_initialize_response(
    start: Start, environment: dict[str, str]
) -> None:
    environment["PYTHONPROFILEIMPORTTIME"] = "1"
    process = start("run-with", "--proxy", "arrow", "--proxy", "tag", "--agent", "eliza")
    ask(process, 1, INITIALIZE)
    _, talk = process.communicate(timeout=45)

    imported = {line.rpartition("|")[2].strip() for line in talk.splitlines()}
    assert "symposium.chain.conductor" in imported
    assert imported & BANNED == set()
    other = {f"symposium.cli.commands.{name}" for name in ("chat", "prompt", "trace", "eliza")}
    assert imported & other == set()


@pytest.mark.requirement("cli.exit-runtime")
def test_crash_of_a_component_is_an_error_for_open_requests(start: Start, scripted: Spec) -> None:
    process = start("run-with", "--agent", scripted("new=exit:3"))
    ask(process, 1, INITIALIZE)
    answer = ask(process, 2, NEW)

    assert answer["error"]["data"]["exitCode"] == 3
    assert process.wait(45) == 1


@pytest.mark.requirement("cli.exit-interrupted")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_the_command_and_every_program_it_has_started(
    start: Start, tmp_path: Path, scripted: Spec, number: int, code: int
) -> None:
    # A program that the end of input does not end: a shell that runs on after its agent.
    shell = f"echo $$ > pid; {scripted('any=text')}; sleep 60"
    process = start("run-with", "--agent", shlex.join(["sh", "-c", shell]))
    ask(process, 1, INITIALIZE)
    agent = int((tmp_path / "pid").read_text())
    process.send_signal(number)

    assert process.wait(45) == code
    with pytest.raises(ProcessLookupError):
        os.kill(agent, 0)


@pytest.mark.requirement("cli.help")
def test_every_command_has_help_with_an_example(symposium: Run) -> None:
    listed = symposium("--help")
    names = re.findall(r"^  ([a-z][a-z-]*)  ", listed.stdout, re.MULTILINE)
    assert listed.returncode == 0
    assert {"run-with", "eliza", "prompt", "chat"} <= set(names)

    for name in names:
        shown = CliRunner().invoke(main, [name, "--help"])
        assert shown.exit_code == 0, name
        assert "  Example:\n" in shown.stdout, name
        assert shown.stderr == "", name


@pytest.mark.requirement("cli.eliza-acp")
def test_eliza_is_a_separate_agent(start: Start) -> None:
    process = start("eliza", "--deterministic")

    assert say(process, "Hello") == "How do you do. Please state your problem."
    assert end(process) == 0
