"""Agent whose sessions are saved in a file, so that a restarted process can resume them.

`mortal_agent.py FILE [resume|load|none] [deaf]`: a prompt `who` is answered with the process and
its parent; `count` with the number of prompts of the session; `hang` is never answered, and a deaf
agent ignores its cancel too; `ask` requests a permission.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

STORE, ABLE = Path(sys.argv[1]), sys.argv[2]
ABILITIES: dict[str, dict[str, Any]] = {
    "resume": {"sessionCapabilities": {"resume": {}}},
    "load": {"loadSession": True},
    "none": {},
}
OPTIONS = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]


class CrashingAgent:
    def __init__(self) -> None:
        self.open: list[tuple[Any, str]] = []

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("method") == "session/cancel":
                self.cancelled()
            elif "method" in message:
                self.asked(message["method"], message["params"], message["id"])

    def asked(self, method: str, params: dict[str, Any], request_id: Any) -> None:
        session = params.get("sessionId", "")
        match method:
            case "initialize":
                able = ABILITIES[ABLE]
                self.answer(request_id, {"protocolVersion": 1, "agentCapabilities": able})
            case "session/new":
                sessions = kept()
                name = f"session-{len(sessions)}"
                keep({**sessions, name: []})
                self.answer(request_id, {"sessionId": name})
            case "session/load":
                for number, text in enumerate(kept()[session], 1):
                    self.say(session, text, number)
                self.answer(request_id, {})
            case "session/resume" if session in kept():
                self.answer(request_id, {})
            case "session/prompt":
                self.prompted(
                    session, " ".join(block["text"] for block in params["prompt"]), request_id
                )
            case _:
                error = {"code": -32601, "message": "Method not found"}
                write({"id": request_id, "error": error})

    def prompted(self, session: str, text: str, request_id: Any) -> None:
        sessions = kept()
        keep({**sessions, session: [*sessions[session], text]})
        match text:
            case "who":
                self.say(session, f"{os.getpid()} {os.getppid()}")
            case "count":
                self.say(session, str(len(sessions[session])))
            case "hang" | "ask":
                self.open.append((request_id, session))
                self.say(session, f"{os.getpid()} {os.getppid()}")
                if text == "ask":
                    params = {"sessionId": session, "toolCall": {"toolCallId": "t"}}
                    asked = {**params, "options": OPTIONS}
                    write({"id": "q", "method": "session/request_permission", "params": asked})
                return
            case _:
                self.say(session, text)
        self.answer(request_id, {"stopReason": "end_turn"})

    def cancelled(self) -> None:
        if "deaf" in sys.argv:
            return
        for request_id, _ in self.open:
            self.answer(request_id, {"stopReason": "cancelled"})
        self.open.clear()

    def say(self, session: str, text: str, number: int = 0) -> None:
        """Send it as the message of one prompt: the last, or the one with this number."""
        messages = {"messageId": f"{session}/{number or len(kept()[session])}"}
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", **messages, "content": content}
        write({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def answer(self, request_id: Any, result: Any) -> None:
        write({"id": request_id, "result": result})


def kept() -> dict[str, list[str]]:
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def keep(sessions: dict[str, list[str]]) -> None:
    STORE.write_text(json.dumps(sessions))


def write(members: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
CrashingAgent().run()
