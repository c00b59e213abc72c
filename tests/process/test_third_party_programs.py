"""Programs without Symposium's code: a mod in another language, and a client that reconnects."""

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]

MOD = Path(__file__).parent / "agents" / "mod.pl"

SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersion": 1}),
    ("session/load", {"sessionId": "of-yesterday", "cwd": "/", "mcpServers": []}),
    ("session/prompt", {"sessionId": "of-yesterday", "prompt": []}),
]


@pytest.mark.requirement("conductor.mod-out-of-process")
def test_mod_in_another_language_needs_only_the_protocol(symposium: Run) -> None:
    perl = shutil.which("perl")
    if perl is None:
        pytest.skip("perl is not installed: the mod is written in it")
    mod = shlex.join([perl, str(MOD)])
    words = ["prompt", "--proxy", "arrow", "--proxy", mod, "--proxy", "arrow", "--agent", "eliza"]
    done = symposium(*words, "Hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ">>How do you do. Please state your problem.\n"


@pytest.mark.requirement("conductor.session-load-after-restart")
def test_session_is_loaded_by_a_restart_of_the_same_command(start: Start) -> None:
    for _ in range(2):
        host = start("run-with", "--proxy", "pass", "--agent", "eliza")
        assert host.stdin is not None
        assert host.stdout is not None
        for name, (method, params) in enumerate(SCRIPT):
            request: dict[str, Any] = {"jsonrpc": "2.0", "id": name, "method": method}
            request["params"] = params
            host.stdin.write(json.dumps(request) + "\n")
            host.stdin.flush()
            answer = json.loads(host.stdout.readline())
            while answer.get("id") != name:
                answer = json.loads(host.stdout.readline())
            assert "result" in answer, answer
        host.stdin.close()
        assert host.wait(45) == 0
