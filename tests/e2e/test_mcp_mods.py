"""Mod that is an MCP server, from the config of run mode to a call by a third-party agent."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import HOST, run_or_skip
from tests.support.editor import Editor

pytestmark = pytest.mark.timeout(300)

AGENTS = ("opencode", "fastagent")
PROMPT = 'FAKE find here.echo {"message": "from a mod"}\nFAKE final done'


class Watching(Editor):
    """Editor that records every update, and allows every request."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        super().__init__(process)
        self.seen: list[dict[str, Any]] = []

    def answer(self, request_id: int) -> Any:
        assert self.process.stdout is not None
        while request_id not in self.answers:
            message = json.loads(self.process.stdout.readline())
            if "method" not in message:
                self.answers[message["id"]] = message
            elif message["method"] == "session/request_permission":
                chosen = message["params"]["options"][0]["optionId"]
                outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
                self.write({"id": message["id"], "result": outcome})
            elif "update" in message["params"]:
                self.seen.append(message["params"]["update"])
        return self.answers.pop(request_id)


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, peers_folder: Path, model: str) -> str:
    """Command of a real agent that uses the scripted model."""
    driver = str(peers_folder / "peers.py")
    run_or_skip([sys.executable, driver, "install", request.param], request.param)
    return shlex.join(["env", f"FAKE_LLM={model}", sys.executable, driver, "exec", request.param])


@pytest.fixture
def editor(agent: str, tmp_path: Path) -> Iterator[Watching]:
    """Run mode with that agent and one such mod."""
    (tmp_path / "home").mkdir()
    server = {"command": sys.executable, "args": ["-I", "-m", "peerwire.mcp.echo_server"]}
    mod = {"name": "here", "kind": "mcp", "source": {"local": server}}
    config = json.dumps({"agent": agent, "proxies": [mod]})
    (tmp_path / "home" / "config.jsonc").write_text(config)
    own = {"SYMPOSIUM_HOME": str(tmp_path / "home"), "SYMPOSIUM_RECOMMENDATIONS": "none"}
    process = subprocess.Popen(
        [HOST, "run", "--no-registry"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **own},
    )
    try:
        yield Watching(process)
    finally:
        process.kill()
        with process:
            pass


@pytest.mark.requirement("run-mode.mcp-mod-used")
def test_third_party_agent_calls_the_tool_of_a_mod(editor: Watching, tmp_path: Path) -> None:
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}}
    initialize = {"protocolVersion": 1, "clientCapabilities": capabilities}
    assert "result" in editor.ask("initialize", initialize)
    work = tmp_path / "work"
    work.mkdir()
    made = editor.ask("session/new", {"cwd": str(work), "mcpServers": []})
    assert "result" in made, made
    prompt = [{"type": "text", "text": PROMPT}]
    session = made["result"]["sessionId"]
    ended = editor.ask("session/prompt", {"sessionId": session, "prompt": prompt})
    assert ended["result"]["stopReason"] == "end_turn"
    messages = json.dumps(editor.seen)
    assert "Echo: from a mod" in messages, messages[-2000:]
