"""An agent of a few lines that does a small piece of work: it asks, writes a file, and commits it.

    python examples/worker.py FILE TEXT

It speaks ACP over its standard input and output, as any agent does; a real one would ask a model.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

NAME: Final = {"name": "worker", "version": "1"}


class Worker:
    """One conversation."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._cwd = Path()
        self._last = 0

    def run(self) -> None:
        """Answer until the input ends."""
        while line := sys.stdin.readline():
            message = json.loads(line)
            if "method" in message and "id" in message:
                result = self._answer(message["method"], message["params"])
                self._write({"id": message["id"], "result": result})

    def _answer(self, method: str, params: Any) -> Any:
        match method:
            case "initialize":
                return {"protocolVersion": 1, "agentInfo": NAME, "agentCapabilities": {}}
            case "session/new":
                self._cwd = Path(params["cwd"])
                return {"sessionId": "the-only-one"}
            case "session/prompt":
                return self._work()
            case _:
                return {}

    def _work(self) -> Any:
        call = {"toolCallId": "write", "title": f"Write {self._file}", "kind": "edit"}
        self._tell({"sessionUpdate": "tool_call", **call, "status": "pending"})
        if not self._may(call):
            self._say(f"Then I leave {self._file} alone.")
            return {"stopReason": "end_turn"}
        (self._cwd / self._file).write_text(f"{self._text}\n", encoding="utf-8")
        self._git("add", self._file)
        self._git("commit", "--quiet", "--message", f"Add {self._file}")
        self._tell({"sessionUpdate": "tool_call_update", **call, "status": "completed"})
        self._say(f"{self._file} is written and committed.")
        return {"stopReason": "end_turn"}

    def _may(self, call: Any) -> bool:
        """Ask, and wait for the answer."""
        options = [
            {"optionId": "yes", "name": "Write it", "kind": "allow_once"},
            {"optionId": "no", "name": "Leave it", "kind": "reject_once"},
        ]
        params = {"sessionId": "the-only-one", "toolCall": call, "options": options}
        self._last += 1
        self._write({"id": self._last, "method": "session/request_permission", "params": params})
        while line := sys.stdin.readline():
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                return message["result"]["outcome"].get("optionId") == "yes"
        return False

    def _git(self, *words: str) -> None:
        who = ["-c", "user.name=Worker", "-c", "user.email=worker@example.org"]
        command = ["git", *who, *words]
        subprocess.run(command, cwd=self._cwd, check=True)  # noqa: S603 - words of ours

    def _say(self, text: str) -> None:
        content = {"type": "text", "text": text}
        self._tell({"sessionUpdate": "agent_message_chunk", "content": content})

    def _tell(self, update: Any) -> None:
        params = {"sessionId": "the-only-one", "update": update}
        self._write({"method": "session/update", "params": params})

    def _write(self, message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    Worker(*sys.argv[1:3]).run()
