"""The ACP side of the demo's agents: they have no model, only a script.

A real agent speaks the same protocol on its standard input and output, and asks a model.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

SESSION: Final = "the-only-one"


class ScriptedAgent:
    """One conversation; a subclass answers its prompts.

    Attributes:
        directory: the workspace of the session.
        servers: the MCP servers that the session was given, as programs to start.
    """

    def __init__(self, name: str) -> None:
        self.directory = Path()
        self.servers: list[Any] = []
        self._name = name
        self._last = 0

    def answer(self, prompt: str) -> None:
        """Do what the user asks."""
        raise NotImplementedError

    def run(self) -> None:
        """Answer until the input ends."""
        while line := sys.stdin.readline():
            message = json.loads(line)
            if "method" in message and "id" in message:
                result = self._result(message["method"], message["params"])
                self._write({"id": message["id"], "result": result})

    def _result(self, method: str, params: Any) -> Any:
        match method:
            case "initialize":
                info = {"name": self._name, "version": "1"}
                return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
            case "session/new":
                self.directory, self.servers = Path(params["cwd"]), params["mcpServers"]
                return {"sessionId": SESSION}
            case "session/prompt":
                self.answer("".join(block.get("text", "") for block in params["prompt"]))
                return {"stopReason": "end_turn"}
            case _:
                return {}

    def say(self, text: str) -> None:
        """Write to the user."""
        content = {"type": "text", "text": text}
        self.report({"sessionUpdate": "agent_message_chunk", "content": content})

    def report(self, update: Any) -> None:
        """Send an update of the session."""
        params = {"sessionId": SESSION, "update": update}
        self._write({"method": "session/update", "params": params})

    def is_allowed(self, call: Any) -> bool:
        """Request permission for a tool call and wait for the answer."""
        options = [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        params = {"sessionId": SESSION, "toolCall": call, "options": options}
        self._last += 1
        self._write({"id": self._last, "method": "session/request_permission", "params": params})
        while line := sys.stdin.readline():
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                return message["result"]["outcome"].get("optionId") == "yes"
        return False

    def call_tool(self, server: str, tool: str, arguments: Any) -> str:
        """Call a tool of one of the session's MCP servers; the text of its result."""
        program = next(each for each in self.servers if each["name"] == server)
        environment = {each["name"]: each["value"] for each in program.get("env", [])}
        requests: list[Any] = [
            {"id": 0, "method": "initialize", "params": _INITIALIZE},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        ]
        with subprocess.Popen(  # noqa: S603 - the program that the client names
            [program["command"], *program["args"]],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as started:
            assert started.stdin is not None
            assert started.stdout is not None
            answer: Any = None
            for request in requests:
                started.stdin.write(f"{json.dumps({'jsonrpc': '2.0', **request})}\n")
                started.stdin.flush()
                while "id" in request and (answer is None or answer.get("id") != request["id"]):
                    answer = json.loads(started.stdout.readline())
            started.stdin.close()
        return str(answer["result"]["content"][0]["text"])

    def _write(self, message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


_INITIALIZE: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "scripted-agent", "version": "1"},
}
