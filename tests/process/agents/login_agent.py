"""Agent that refuses `session/new` or `session/prompt` until a file exists; standard library.

Its arguments are the refused method and the path of the file, which `authenticate` writes. A key in
its environment is accepted instead.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

WAYS = [
    {"id": "browser", "name": "Sign in", "description": "With your account"},
    {"id": "key", "name": "A key", "type": "env_var", "vars": [{"name": "AGENT_KEY"}]},
]


def main() -> None:
    refused, file = sys.argv[1], Path(sys.argv[2])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        is_known = file.exists() or "AGENT_KEY" in os.environ
        if message["method"] == refused and not is_known:
            error = {"code": -32000, "message": "Authentication required\x1b[2K"}
            put({"id": message["id"], "error": error})
            continue
        put({"id": message["id"], "result": answer(message, file)})


def answer(message: dict[str, Any], file: Path) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": WAYS}
        case "authenticate":
            file.write_text(message["params"]["methodId"])
            return {}
        case "session/prompt":
            text = message["params"]["prompt"][0]["text"]
            chunk = {"sessionUpdate": "agent_message_chunk", "content": content(f"heard: {text}")}
            put({"method": "session/update", "params": {"sessionId": "one", "update": chunk}})
            return {"stopReason": "end_turn"}
        case _:
            return {"sessionId": "one"}


def content(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def put(members: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


main()
