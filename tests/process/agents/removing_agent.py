"""Agent that creates a file, asks to remove it, and removes it when allowed.

It announces no tool calls. Standard library only.
"""

import json
import sys
from pathlib import Path
from typing import Any

OPTIONS = [
    {"optionId": "y", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "n", "name": "Reject once", "kind": "reject_once"},
]
CALL = {
    "toolCallId": "c",
    "title": "Remove it",
    "kind": "execute",
    "rawInput": {"command": "rm made.txt"},
}


def put(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def main() -> None:
    made, prompt = Path(), None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case None:
                if message["result"]["outcome"].get("optionId") == "y":
                    made.unlink()
                put(id=prompt, result={"stopReason": "end_turn"})
            case "initialize":
                put(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                made = Path(message["params"]["cwd"]) / "made.txt"
                put(id=message["id"], result={"sessionId": "one"})
            case "session/prompt":
                prompt = message["id"]
                made.write_text("precious\n", encoding="utf-8")
                params = {"sessionId": "one", "toolCall": CALL, "options": OPTIONS}
                put(id=7, method="session/request_permission", params=params)
            case _:
                pass


main()
