"""Mods that are MCP servers: from the config to a tool call of an agent, over real processes."""

import json
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from tests.process.conftest import AGENTS
from tests.support.editor import Editor, Start, started_editor

ECHO: Final = {
    "local": {"command": sys.executable, "args": ["-I", "-m", "peerwire.mcp.echo_server"]}
}
USE: Final = 'use tool {}::echo with {{"message": "hi"}}'
ECHO_TOOL: Final = {"name": "echo", "inputSchema": {"type": "object"}}


@dataclass
class Server:
    """MCP server at a URL, with one tool; records request headers."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                info = {"name": "web", "version": "1"}
                version = params["protocolVersion"]
                return {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            case "tools/list":
                return {"tools": [ECHO_TOOL]}
            case _:
                text = f"Web: {params['arguments']['message']}"
                return {"content": [{"type": "text", "text": text}]}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.headers.append(dict(self.headers))
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in body:
                self.reply(202, b"")
                return
            result = made.answer(body["method"], body.get("params", {}))
            answer = {"jsonrpc": "2.0", "id": body["id"], "result": result}
            self.reply(200, json.dumps(answer).encode())

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            del format, args

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    listening.daemon_threads = True
    made.url = f"http://127.0.0.1:{listening.server_port}/mcp"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., None]:
    """Write a config: an agent, and mods of kind `mcp` by name and source."""
    (tmp_path / "home").mkdir()

    def write(agent: str, **sources: Any) -> None:
        mods = [{"name": name, "kind": "mcp", "source": each} for name, each in sources.items()]
        text = json.dumps({"agent": agent, "proxies": mods})
        (tmp_path / "home" / "config.jsonc").write_text(text)

    return write


def web(server: Server) -> dict[str, Any]:
    headers = [{"name": "X-Key", "value": "sesame"}]
    return {"http": {"name": "web", "url": server.url, "headers": headers}}


@pytest.mark.requirement("run-mode.mcp-mod-used")
def test_agent_uses_the_tool_of_a_mod_without_a_message_before_the_prompt(
    start: Start, config: Callable[..., None], server: Server, symposium_spec: Callable[..., str]
) -> None:
    config(symposium_spec("eliza"), here=ECHO, web=web(server))
    it = started_editor(start)
    session = it.session()
    assert it.said == {}
    assert it.say(session, USE.format("here")) == "OK: Echo: hi"
    assert it.say(session, USE.format("web")) == "OK: Web: hi"
    assert {each["X-Key"] for each in server.headers} == {"sesame"}
    assert it.end() == 0


@pytest.mark.requirement("run-mode.mcp-mod-relayed", "run-mode.mcp-mod-used")
def test_agent_without_urls_uses_the_tools_through_the_bridge(
    start: Start, config: Callable[..., None], server: Server, symposium_spec: Callable[..., str]
) -> None:
    without = """sed -u 's/"http":true/"http":false/'"""
    config(shlex.join(["sh", "-c", f"{symposium_spec('eliza')} | {without}"]), web=web(server))
    it = started_editor(start)
    assert it.say(it.session(), USE.format("web")) == "OK: Web: hi"
    assert {each["X-Key"] for each in server.headers} == {"sesame"}
    assert it.end() == 0


@pytest.mark.requirement("run-mode.mcp-mod-relayed")
def test_missing_server_is_an_error_of_its_tool_only(
    start: Start, config: Callable[..., None], symposium_spec: Callable[..., str]
) -> None:
    without = """sed -u 's/"http":true/"http":false/'"""
    gone: dict[str, Any] = {"http": {"name": "web", "url": "http://127.0.0.1:9/mcp", "headers": []}}
    config(shlex.join(["sh", "-c", f"{symposium_spec('eliza')} | {without}"]), web=gone, here=ECHO)
    it = started_editor(start)
    session = it.session()
    assert it.say(session, USE.format("web")).startswith("ERROR: ")
    assert it.say(session, USE.format("here")) == "OK: Echo: hi"
    assert it.end() == 0


def telling(*words: str) -> str:
    return shlex.join([sys.executable, str(AGENTS / "telling_agent.py"), *words])


def given(it: Editor, method: str) -> list[dict[str, Any]]:
    """Return the servers that the agent gets in a setup request with one server of the editor."""
    own: dict[str, Any] = {"name": "own", "command": "/x", "args": [], "env": []}
    params: dict[str, Any] = {"cwd": "/", "mcpServers": [own]}
    if method != "session/new":
        params["sessionId"] = "of session/new"
    answer = it.ask(method, params)
    servers: list[dict[str, Any]] = answer["result"]["_meta"]["given"]
    assert servers.pop(0) == own
    return servers


@pytest.mark.requirement("run-mode.mcp-mod-set-ups")
def test_every_setup_request_has_the_servers_in_the_forms_of_the_protocol(
    start: Start, config: Callable[..., None]
) -> None:
    local = {"local": {"command": sys.executable, "args": ["a"], "env": {"K": "v"}}}
    pair = {"name": "N", "value": "v"}
    http = {"http": {"name": "h", "url": "http://h/", "headers": [pair]}}
    sse = {"sse": {"name": "s", "url": "http://s/"}}
    config(telling("http", "sse"), l=local, h=http, s=sse)
    it = started_editor(start)
    for method in ("session/new", "session/load", "session/resume", "session/fork"):
        assert given(it, method) == [
            {
                "name": "l",
                "command": sys.executable,
                "args": ["a"],
                "env": [{"name": "K", "value": "v"}],
            },
            {"type": "http", "name": "h", "url": "http://h/", "headers": [pair]},
            {"type": "sse", "name": "s", "url": "http://s/", "headers": []},
        ], method
    assert it.end() == 0


@pytest.mark.requirement("run-mode.mcp-mod-relayed", "run-mode.mcp-mod-set-ups")
def test_agent_gets_only_forms_that_it_declares(start: Start, config: Callable[..., None]) -> None:
    pair = {"name": "N", "value": "secret"}
    http = {"http": {"name": "h", "url": "http://h/", "headers": [pair]}}
    config(telling(), h=http, s={"sse": {"name": "s", "url": "http://s/"}})
    it = started_editor(start)
    (program,) = given(it, "session/new")
    assert "type" not in program
    assert program["name"] == "h"
    assert "http://h/" not in json.dumps(program)
    assert "secret" not in json.dumps(program)
    assert it.end() == 0
    alone = started_editor(start, "--bridge", "off")
    assert given(alone, "session/new") == []
    assert alone.end() == 0
