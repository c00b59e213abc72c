"""The host as a program: started programs, and cleanup at its exit."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import bare_proxy

Start = Callable[..., subprocess.Popen[str]]
Spec = Callable[..., str]

INITIALIZE = {"protocolVersion": 1}

STUBBORN = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
for line in sys.stdin:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"protocolVersion": 1}}
    print(json.dumps(answer), flush=True)
signal.pause()
"""
"""Agent that ignores the end of its input and SIGTERM, and has a child."""

REFUSES_AND_LEAVES = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": 1}}))
        sys.stdout.flush()
        continue
    error = {"code": -32000, "message": "Authentication required", "data": "log in first"}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
    sys.exit(0)
"""

CHATTY = """
import json, os, sys
for line in sys.stdin:
    for _ in range(64):
        os.write(2, b"x" * 65535 + b"\\n")
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"protocolVersion": 1}}
    print(json.dumps(answer), flush=True)
"""


def script(directory: Path, text: str) -> str:
    (directory / "agent.py").write_text(text)
    return json.dumps({"command": sys.executable, "args": [str(directory / "agent.py")]})


def ask(host: subprocess.Popen[str], name: int, method: str, params: Any = None) -> None:
    assert host.stdin is not None
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": name, "method": method}
    request["params"] = params or {}
    host.stdin.write(json.dumps(request) + "\n")
    host.stdin.flush()


def read(host: subprocess.Popen[str]) -> Any:
    assert host.stdout is not None
    return json.loads(host.stdout.readline())


def open_host(start: Start, *words: str) -> tuple[subprocess.Popen[str], Any]:
    host = start("run-with", *words)
    ask(host, 0, "initialize", INITIALIZE)
    return host, read(host)


def end_input(host: subprocess.Popen[str]) -> int:
    assert host.stdin is not None
    host.stdin.close()
    return host.wait(45)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.requirement("process.end-exit-zero", "peers.eof-does-not-end-everyone")
def test_agent_that_does_not_exit_is_killed_with_its_whole_tree(
    start: Start, tmp_path: Path
) -> None:
    host, answer = open_host(start, "--agent", script(tmp_path, STUBBORN))
    assert answer["result"]["protocolVersion"] == 1
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert all(is_alive(pid) for pid in pids)
    assert end_input(host) == 0
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.requirement("process.end-on-signal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signal_to_the_host_ends_its_components_too(
    start: Start, tmp_path: Path, name: str
) -> None:
    host, _ = open_host(start, "--agent", script(tmp_path, STUBBORN))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    host.send_signal(getattr(signal, name))
    host.wait(45)
    assert not any(is_alive(pid) for pid in pids)


PARENT = """
import os, runpy, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("proxy-pids", "w").write(f"{os.getpid()} {child.pid}")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
signal.pause()
"""
"""Proxy with a child; it ignores the end of its input and SIGTERM."""


@pytest.mark.requirement("process.end-nothing-left")
@pytest.mark.parametrize("way", ["end of input", "SIGTERM", "SIGINT", "SIGHUP", "agent killed"])
def test_no_process_of_a_mod_or_an_agent_is_left_after_the_host_exits(
    start: Start, tmp_path: Path, way: str
) -> None:
    (tmp_path / "proxy.py").write_text(PARENT)
    bare = Path(bare_proxy.__file__)
    proxy = json.dumps({"command": sys.executable, "args": [str(tmp_path / "proxy.py"), str(bare)]})
    host, answer = open_host(start, "--proxy", proxy, "--agent", script(tmp_path, STUBBORN))
    assert answer["result"]["protocolVersion"] == 1
    listed = [(tmp_path / name).read_text().split() for name in ("pids", "proxy-pids")]
    pids = [int(pid) for each in listed for pid in each]
    assert len(pids) == 4
    assert all(is_alive(pid) for pid in pids)

    if way == "end of input":
        end_input(host)
    elif way == "agent killed":
        os.kill(pids[0], signal.SIGKILL)
        host.wait(20)
    else:
        host.send_signal(getattr(signal, way))
        host.wait(20)

    assert not [pid for pid in pids if is_alive(pid)]


@pytest.mark.requirement("process.end-flushes")
def test_pending_messages_for_the_client_are_written_before_the_host_exits(
    start: Start, scripted: Spec
) -> None:
    host, _ = open_host(start, "--agent", scripted("prompt=flood:5000"))
    ask(host, 1, "session/new", {"cwd": "/", "mcpServers": []})
    assert read(host)["id"] == 1
    ask(host, 2, "session/prompt", {"sessionId": "one", "prompt": []})
    assert host.stdin is not None
    assert host.stdout is not None
    host.stdin.close()
    received = [json.loads(line) for line in host.stdout]
    assert host.wait(45) == 0
    said = [each["params"]["update"]["content"]["text"] for each in received if "params" in each]
    assert said == [*(f"line {number}\n" for number in range(5000)), "Answered."]
    # On a slow machine the grace period ends before the agent has answered.
    (answer,) = [each for each in received if "params" not in each]
    late = answer.get("error", {}).get("data") == {"reason": "shutting_down"}
    assert answer["id"] == 2
    assert late or answer["result"] == {"stopReason": "end_turn"}
    assert late or received[-1] == answer


@pytest.mark.requirement("process.exit-keeps-protocol-error")
def test_error_of_the_agent_is_reported_instead_of_the_later_exit(
    start: Start, tmp_path: Path
) -> None:
    host, _ = open_host(start, "--agent", script(tmp_path, REFUSES_AND_LEAVES))
    ask(host, 1, "session/new", {"cwd": "/", "mcpServers": []})
    error = {"code": -32000, "message": "Authentication required", "data": "log in first"}
    assert read(host) == {"jsonrpc": "2.0", "id": 1, "error": error}


@pytest.mark.requirement("process.spawn-early-exit")
def test_agent_that_exits_at_once_gives_one_error_on_initialize(
    start: Start, scripted: Spec
) -> None:
    host, answer = open_host(start, "--agent", scripted("initialize=exit:3"))
    data = answer["error"]["data"]
    assert (answer["error"]["code"], data["reason"]) == (-32603, "component_exited")
    assert (data["exitCode"], data["signal"]) == (3, None)
    assert "scripted_agent.py" in " ".join(data["argv"])
    assert "giving up" in data["stderrTail"]
    assert end_input(host) == 1
    assert host.stdout is not None
    assert host.stdout.read() == ""


@pytest.mark.requirement("process.spawn-missing-program")
def test_missing_program_is_named_on_initialize_with_the_fix(start: Start) -> None:
    _, answer = open_host(start, "--agent", "no-such-agent --acp")
    data = answer["error"]["data"]
    assert data["reason"] == "component_start_failed"
    assert data["argv"] == ["no-such-agent", "--acp"]
    assert data["errno"] == errno.ENOENT
    assert "PATH" in data["detail"]


@pytest.mark.requirement("process.spawn-not-executable")
@pytest.mark.parametrize("name", ["folder", "plain"])
def test_file_that_cannot_run_is_named_on_initialize(
    start: Start, tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("no program")
    _, answer = open_host(start, "--agent", f"./{name} --acp")
    data = answer["error"]["data"]
    assert data["reason"] == "component_start_failed"
    assert data["argv"] == [f"./{name}", "--acp"]
    assert data["errno"] == errno.EACCES


@pytest.mark.requirement("process.spec-builtin-name")
def test_name_of_a_built_in_means_the_built_in(
    start: Start, tmp_path: Path, environment: dict[str, str]
) -> None:
    program = tmp_path / "eliza"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    _, answer = open_host(start, "--proxy", "pass", "--agent", "eliza")
    assert answer["result"]["agentInfo"]["name"] == "eliza"


@pytest.mark.requirement("peers.chatty-stderr")
def test_megabytes_on_stderr_block_nothing(start: Start, tmp_path: Path) -> None:
    host, answer = open_host(start, "--log", "error", "--agent", script(tmp_path, CHATTY))
    assert answer["result"]["protocolVersion"] == 1
    assert end_input(host) == 0


@pytest.mark.requirement("peers.several-starts")
def test_several_hosts_for_one_session_are_independent(start: Start) -> None:
    hosts = [open_host(start, "--proxy", "pass", "--agent", "eliza")[0] for _ in range(3)]
    for host in hosts:
        ask(host, 1, "session/load", {"sessionId": "one", "cwd": "/", "mcpServers": []})
        assert "result" in read(host)
    hosts[0].kill()
    hosts[0].wait(45)
    for host in hosts[1:]:
        ask(host, 2, "session/prompt", {"sessionId": "one", "prompt": []})
        assert read(host)
        assert end_input(host) == 0
