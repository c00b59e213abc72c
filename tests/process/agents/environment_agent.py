"""Agent that reports its environment and its prompt; standard library only.

It prints the SHA-256 of the variables named by its arguments, by their numbers: a member named like
a secret would be redacted.
"""

import json
import os
import sys
from hashlib import sha256
from typing import Any

NAMES = ("SYMPOSIUM_", "COMPOSE_")


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                answer(message, {"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                answer(message, {"sessionId": "one"})
            case "session/prompt":
                given = {name: os.environ[name] for name in os.environ if name.startswith(NAMES)}
                prompt = "".join(part["text"] for part in message["params"]["prompt"])
                wanted = enumerate(sys.argv[1:], 1)
                given |= {f"#{n}": hidden(name) for n, name in wanted if name in os.environ}
                say(json.dumps({"env": given, "prompt": prompt}))
                answer(message, {"stopReason": "end_turn"})
            case _:
                pass


def hidden(name: str) -> str:
    return sha256(os.environ[name].encode()).hexdigest()


def say(text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    put({"method": "session/update", "params": {"sessionId": "one", "update": update}})


def answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    put({"id": message["id"], "result": result})


def put(members: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


main()
