"""Agent that streams a number of updates a second for some seconds; standard library only."""

import json
import sys
import time
from typing import Any


def main(rate: int, seconds: float) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                answer(message, {"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                answer(message, {"sessionId": "one"})
            case "session/prompt":
                begun = time.monotonic()
                for number in range(round(rate * seconds)):
                    say(f"line {number} {'x' * 100}\n")
                    time.sleep(max(0.0, begun + number / rate - time.monotonic()))
                say("over")
                answer(message, {"stopReason": "end_turn"})
            case _:
                pass


def say(text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    put({"method": "session/update", "params": {"sessionId": "one", "update": update}})


def answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    put({"id": message["id"], "result": result})


def put(members: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


main(int(sys.argv[1]), float(sys.argv[2]))
