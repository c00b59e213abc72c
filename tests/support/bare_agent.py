"""Agent written without peerwire: `python -I bare_agent.py [STEP] [FAULT]`.

At STEP (initialize, new, prompt, permission, cancel) it sends `agent/waiting` and misbehaves as
FAULT says: hang, exit (with 0), close (its output, and keep running), print (text and continue),
twice (answer twice), odd (answer unknown ids).
"""

import json
import os
import sys
import time
from typing import Any

STEPS = {"initialize": "initialize", "session/new": "new", "session/prompt": "prompt"}
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "session/new": {"sessionId": "s"},
    "session/prompt": {"stopReason": "end_turn"},
}


def write(message: dict[str, Any]) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def misbehave(fault: str, name: Any, result: Any) -> None:
    """Perform the fault of this step."""
    write({"method": "agent/waiting", "params": {"sessionId": "s"}})
    match fault:
        case "exit":
            sys.stderr.write("leaving\n")
            sys.exit(0)
        case "close":
            os.close(1)
            time.sleep(60)
        case "print":
            os.write(1, b"Loading a model...\n")
            write({"id": name, "result": result})
        case "twice":
            write({"id": name, "result": result})
            write({"id": name, "result": "again"})
        case "odd":
            write({"id": "never asked", "result": 1})
            write({"id": name, "result": result})
        case _:
            pass


def main() -> None:
    """Serve until the end of the input or the timeout."""
    step, fault = [*sys.argv[1:], *("none", "hang")[len(sys.argv) - 1 :]]
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, name = message.get("method"), message.get("id")
        if method == "$/cancel_request" and step == "cancel":
            misbehave(fault, None, None)
        elif method == "session/prompt" and step == "permission":
            write({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s"}})
        elif method == "session/prompt" and step == "cancel":
            write({"method": "session/update", "params": {"sessionId": "s"}})
        elif method in STEPS and STEPS[method] == step:
            misbehave(fault, name, RESULTS[method])
        elif name is not None and method is not None:
            write({"id": name, "result": RESULTS.get(method, {})})


if __name__ == "__main__":
    main()
