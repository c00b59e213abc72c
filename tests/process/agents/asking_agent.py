"""Agent that requests permission for each command of a list, runs none, and records the answers.

Its arguments: a JSON file with the commands, and the file for the answers. Standard library only.
"""

import json
import sys
from pathlib import Path
from typing import Any

OPTIONS = [
    {"optionId": "y", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "n", "name": "Reject once", "kind": "reject_once"},
]
LAST = "ls"
"""Commands that no rule forbids."""


class AskingAgent:
    def __init__(self, commands: list[str], answers: Path) -> None:
        self.commands = [*commands, LAST]
        self.file = answers
        self.answers: dict[int, Any] = {}
        self.prompt: Any = None

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            match message.get("method"):
                case None:
                    self.answered(message)
                case "initialize":
                    put(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
                case "session/new":
                    put(id=message["id"], result={"sessionId": "one"})
                case "session/prompt":
                    self.prompt = message["id"]
                    for number, command in enumerate(self.commands):
                        self.ask(number, command)
                case _:
                    if "id" in message:
                        put(id=message["id"], result={})

    def ask(self, number: int, command: str) -> None:
        """Agents differ: a script, a list of words, or a call that was shown before."""
        call: dict[str, Any] = {"toolCallId": f"c{number}"}
        shown = {**call, "kind": "execute", "rawInput": {"command": command}}
        match number % 3:
            case 0:
                call = shown
            case 1:
                call = {**call, "rawInput": {"command": ["bash", "-lc", command]}}
            case _:
                update = {"sessionUpdate": "tool_call", "title": "Run", **shown}
                put(method="session/update", params={"sessionId": "one", "update": update})
        params = {"sessionId": "one", "toolCall": call, "options": OPTIONS}
        put(id=number, method="session/request_permission", params=params)

    def answered(self, message: dict[str, Any]) -> None:
        self.answers[message["id"]] = message.get("result") or message.get("error")
        if len(self.answers) == len(self.commands):
            messages = [self.answers[number] for number in range(len(self.commands))]
            self.file.write_text(json.dumps(messages), encoding="utf-8")
            put(id=self.prompt, result={"stopReason": "end_turn"})


def put(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


AskingAgent(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])).run()
