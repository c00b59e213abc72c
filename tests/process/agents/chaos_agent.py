"""Agent that never asks: it announces a tool call, and runs it at once.

Each line of a prompt is a tool call: a shell command in its directory. Standard library only.
"""

import json
import subprocess
import sys
from typing import Any


def put(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(messages: dict[str, Any]) -> None:
    put({"method": "session/update", "params": {"sessionId": "one", "update": messages}})


def run(text: str, cwd: str) -> None:
    # Symposium adds the first words, which describe the task.
    for number, command in enumerate(text.splitlines()):
        if not command.startswith("$ "):
            continue
        call = {"toolCallId": f"call-{number}", "title": command, "kind": "execute"}
        update({"sessionUpdate": "tool_call", **call, "status": "in_progress"})
        subprocess.run(["/bin/sh", "-c", command[2:]], cwd=cwd, capture_output=True, check=False)
        update({"sessionUpdate": "tool_call_update", **call, "status": "completed"})


cwd = "."
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            put({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
        case "session/new":
            cwd = message["params"]["cwd"]
            put({"id": message["id"], "result": {"sessionId": "one"}})
        case "session/prompt":
            run(message["params"]["prompt"][0]["text"], cwd)
            put({"id": message["id"], "result": {"stopReason": "end_turn"}})
        case _:
            pass
