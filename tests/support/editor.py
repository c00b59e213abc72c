"""Editor that talks to `symposium run` as a program."""

import json
import subprocess
from collections.abc import Callable
from typing import Any, TypeAlias

Start: TypeAlias = Callable[..., subprocess.Popen[str]]


class Editor:
    """One blocking editor connection, which stores messages until a test reads them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.answers: dict[Any, Any] = {}
        self.said: dict[str, str] = {}
        self.asked_of_us: list[dict[str, Any]] = []
        self.updates: list[dict[str, Any]] = []
        self._asked = 0

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """Write a request; return its id."""
        self._asked += 1
        self.write({"id": self._asked, "method": method, "params": params})
        return self._asked

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def until(self, done: Callable[[], bool]) -> None:
        """Read until the condition holds."""
        assert self.process.stdout is not None
        while not done():
            message = json.loads(self.process.stdout.readline())
            if "method" not in message:
                self.answers[message["id"]] = message
            elif message["method"] == "session/update":
                self._updated(message["params"])
            elif "id" in message:
                self.asked_of_us.append(message)

    def answer(self, request_id: int) -> Any:
        """Return the response to a request."""
        self.until(lambda: request_id in self.answers)
        return self.answers.pop(request_id)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and wait for the response."""
        return self.answer(self.begin(method, params))

    def session(self) -> str:
        """Create a session."""
        answer = self.ask("session/new", {"cwd": "/", "mcpServers": []})
        assert "result" in answer, answer
        return answer["result"]["sessionId"]

    def notices(self, session: str) -> str:
        """Text of a session outside of turns."""
        self.until(lambda: session in self.said)
        return self.said.pop(session)

    def prompt(self, session: str, text: str) -> int:
        """Start a turn; return its id."""
        prompt = [{"type": "text", "text": text}]
        return self.begin("session/prompt", {"sessionId": session, "prompt": prompt})

    def say(self, session: str, text: str) -> str:
        """Text of one turn."""
        self.said.pop(session, None)
        answer = self.answer(self.prompt(session, text))
        assert answer["result"]["stopReason"] == "end_turn", answer
        return self.said.pop(session, "")

    def end(self) -> int:
        """Close its input; return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(45)

    def _updated(self, params: dict[str, Any]) -> None:
        update, session = params["update"], params["sessionId"]
        self.updates.append(update)
        if update["sessionUpdate"] == "agent_message_chunk":
            self.said[session] = self.said.get(session, "") + update["content"]["text"]


def started_editor(start: Start, *words: str) -> Editor:
    """Start `symposium run` with these words, and initialize it."""
    made = Editor(start("run", "--no-registry", *words))
    assert "result" in made.ask("initialize", {"protocolVersion": 1})
    return made
