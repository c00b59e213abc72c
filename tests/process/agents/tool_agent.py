"""Agent that calls tools of its first MCP server, and prints their results.

A prompt contains a line `CALL [["tool", {…}], …]`; `$1` in an argument is replaced by the first id
in the results so far. Standard library only.
"""

import json
import os
import re
import subprocess
import sys
from typing import Any

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tool-agent", "version": "0"},
}
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Server:
    def __init__(self, declared: dict[str, Any], cwd: str) -> None:
        self.child = subprocess.Popen(
            [declared["command"], *declared["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=dict(os.environ) | {each["name"]: each["value"] for each in declared["env"]},
        )
        self.ids = 0
        self.ask("initialize", INITIALIZE)

    def ask(self, method: str, params: Any) -> Any:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()
        while True:
            answer = json.loads(self.child.stdout.readline())
            if answer.get("id") == self.ids:
                return answer.get("result", answer.get("error"))


class Agent:
    def __init__(self) -> None:
        self.session: dict[str, Any] = {}
        self.server: Server | None = None
        self.found: list[str] = []

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            match message.get("method"):
                case "initialize":
                    self.answer(message, {"protocolVersion": 1, "agentCapabilities": {}})
                case "session/new":
                    self.session = message["params"]
                    self.answer(message, {"sessionId": "one"})
                case "session/prompt":
                    text = "".join(part["text"] for part in message["params"]["prompt"])
                    self.act(text)
                    self.answer(message, {"stopReason": "end_turn"})
                case _:
                    pass

    def act(self, text: str) -> None:
        calls = re.search(r"^CALL (.*)$", text, re.MULTILINE)
        if calls is None:
            return
        if self.server is None:
            self.server = Server(self.session["mcpServers"][0], self.session["cwd"])
        for name, arguments in json.loads(calls[1]):
            if name == "read":
                self.say(json.dumps(self.server.ask("resources/read", arguments)) + "\n")
                continue
            filled = json.dumps(arguments).replace("$1", self.found[0] if self.found else "$1")
            params = {"name": name, "arguments": json.loads(filled)}
            output = json.dumps(self.server.ask("tools/call", params))
            self.found += [found[0] for found in ID.finditer(output)]
            self.say(f"{name}: {output}\n")

    def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        self.put({"method": "session/update", "params": {"sessionId": "one", "update": update}})

    def answer(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.put({"id": message["id"], "result": result})

    def put(self, members: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
        sys.stdout.flush()


Agent().run()
