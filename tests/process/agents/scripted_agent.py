"""Agent that follows its command line step by step; standard library only.

Each word is `STEP=BEHAVIOUR`, where STEP is `initialize`, `new`, `prompt`, `other` or `any`.
"""

import json
import os
import sys
import time
from typing import Any

STEPS = {"initialize": "initialize", "session/new": "new", "session/prompt": "prompt"}
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "new": {"sessionId": "one"},
    "prompt": {"stopReason": "end_turn"},
}


class ScriptedAgent:
    def __init__(self, words: list[str]) -> None:
        self.behaviours = [tuple(word.split("=", 1)) for word in words]
        self.beside = {
            "text": self.text,
            "exit": self.exit,
            "kill": self.kill,
            "close": self.close,
            "twice": self.twice,
            "unknown-id": self.unknown_id,
            "update": self.some_update,
            "say": self.some_text,
            "cwd": self.tell_cwd,
            "flood": self.flood,
            "stderr": self.tell_stderr,
        }
        self.instead = {
            "silent": self.silent,
            "error": self.error,
            "result": self.result,
            "both": self.both,
            "stop": self.stop,
            "ask": self.ask,
            "wait": self.wait,
        }
        self.cwd = ""
        self.prompt: Any = None

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self.answered(message)
            elif message["method"] == "session/cancel":
                self.cancelled()
            elif "id" in message:
                self.cwd = message["params"].get("cwd", self.cwd)
                self.asked(message["id"], STEPS.get(message["method"], "other"))

    def asked(self, request_id: Any, step: str) -> None:
        result = RESULTS.get(step, {})
        if step == "prompt":
            self.prompt = request_id
        for at, behaviour in self.behaviours:
            if at in {step, "any"} and not self.did(behaviour, request_id):
                return
        if step == "prompt":
            self.say("Answered.")
        self.answer(request_id, result)
        for at, behaviour in self.behaviours:
            if at == f"after-{step}":
                self.did(behaviour, request_id)

    def did(self, behaviour: str, request_id: Any) -> bool:
        """Perform a behavior; return whether the usual answer follows."""
        name, _, value = behaviour.partition(":")
        if name in self.beside:
            self.beside[name](value, request_id)
            return True
        self.instead[name](value, request_id)
        return False

    def text(self, value: str, _: Any) -> None:
        put(value or "Starting up...")

    def exit(self, value: str, _: Any) -> None:
        os.write(2, b"giving up\n")
        os._exit(int(value))

    def kill(self, *_: Any) -> None:
        os.kill(os.getpid(), 9)

    def close(self, *_: Any) -> None:
        os.close(1)
        time.sleep(60)

    def twice(self, _: str, request_id: Any) -> None:
        result = RESULTS["initialize"] | RESULTS["new"] | RESULTS["prompt"]
        self.answer(request_id, result)

    def unknown_id(self, *_: Any) -> None:
        self.answer(4711, {})
        self.answer("nobody", {})

    def some_update(self, value: str, _: Any) -> None:
        self.update(json.loads(value))

    def some_text(self, value: str, _: Any) -> None:
        self.say(json.loads(f'"{value}"'))

    def tell_cwd(self, *_: Any) -> None:
        self.say(self.cwd)

    def flood(self, value: str, _: Any) -> None:
        for number in range(int(value)):
            self.say(f"line {number}\n")

    def tell_stderr(self, value: str, _: Any) -> None:
        os.write(2, f"{value}\n".encode())

    def silent(self, *_: Any) -> None:
        pass

    def wait(self, *_: Any) -> None:
        self.say("Waiting.")

    def error(self, value: str, request_id: Any) -> None:
        code, _, text = value.partition(":")
        self.write({"id": request_id, "error": {"code": int(code), "message": text}})

    def result(self, value: str, request_id: Any) -> None:
        self.answer(request_id, json.loads(value))

    def both(self, _: str, request_id: Any) -> None:
        self.write({"id": request_id, "result": {}, "error": {"code": 1, "message": "both"}})

    def stop(self, value: str, request_id: Any) -> None:
        self.answer(request_id, {"stopReason": value})

    def ask(self, kind: str, _: Any) -> None:
        options = [
            {"optionId": "y", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "n", "name": "Reject once", "kind": "reject_once"},
        ]
        call = {"toolCallId": "t1", "title": "do it", "kind": kind}
        if kind.startswith("{"):
            call = {"toolCallId": "t1", **json.loads(kind)}
        params = {"sessionId": "one", "toolCall": call, "options": options}
        self.write({"id": 9, "method": "session/request_permission", "params": params})

    def answered(self, message: dict[str, Any]) -> None:
        if message.get("id") == 9:
            self.say(json.dumps(message.get("result", {}).get("outcome")))
            self.answer(self.prompt, {"stopReason": "end_turn"})

    def cancelled(self) -> None:
        if "ignore-cancel" not in sys.argv:
            self.answer(self.prompt, {"stopReason": "cancelled"})

    def say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": content})

    def update(self, update: Any) -> None:
        params = {"sessionId": "one", "update": update}
        self.write({"method": "session/update", "params": params})

    def answer(self, request_id: Any, result: Any) -> None:
        self.write({"id": request_id, "result": result})

    def write(self, members: dict[str, Any]) -> None:
        put(json.dumps({"jsonrpc": "2.0", **members}))


def put(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


ScriptedAgent([word for word in sys.argv[1:] if "=" in word]).run()
