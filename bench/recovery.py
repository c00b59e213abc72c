"""Measure the recovery time of a session whose agent was killed in a turn (users A-4).

`python -m bench.recovery` prints a table with the targets. The base is the start of the same chain
up to its first answer, in the same run. A missed target is shown and does not change the exit code.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

AGENT: Final = Path("tests/process/agents/mortal_agent.py").absolute()
PROGRAM: Final = Path(sys.executable).with_name("symposium")

NOTICE_RATIO: Final = 0.35
"""Maximum time from the kill to the notice and the end of the turn, in starts."""

WORKS_RATIO: Final = 0.4
"""Maximum time from the kill to the answer of the next prompt, in starts."""

LIMIT: Final = 2.0
"""Maximum seconds until the session works again (users A-4)."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of one repetition."""

    start: float
    notice: float
    works: float


class Editor:
    """Talks to `symposium run`, one request at a time."""

    def __init__(self, home: Path) -> None:
        words = (str(PROGRAM), "run", "--no-registry")
        environment = {**os.environ, "SYMPOSIUM_HOME": str(home), "HOME": str(home)}
        self.process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.said = ""
        self._asked = 0

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """Write a request; return its id."""
        assert self.process.stdin is not None
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._asked

    def read(self) -> dict[str, Any]:
        """Read the next message; record its text."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        update = message.get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            self.said += update["content"]["text"]
        return message

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        return self.answer(self.begin(method, params))

    def answer(self, request: int) -> dict[str, Any]:
        """Wait for the answer to a request."""
        while (message := self.read()).get("id") != request:
            pass
        return message

    def prompt(self, session: str, text: str) -> int:
        """Start a turn; return its id."""
        self.said = ""
        prompt = [{"type": "text", "text": text}]
        return self.begin("session/prompt", {"sessionId": session, "prompt": prompt})

    def end(self) -> None:
        """Close the input and wait for the exit."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(home: Path) -> Taken:
    """Start, kill the agent in its turn, and continue the session."""
    agent = shlex.join([sys.executable, str(AGENT), str(home / "store"), "resume"])
    (home / "config.jsonc").write_text(json.dumps({"agent": agent}))
    begun = time.perf_counter()
    editor = Editor(home)
    editor.ask("initialize", {"protocolVersion": 1})
    session = editor.ask("session/new", {"cwd": "/", "mcpServers": []})["result"]["sessionId"]
    editor.answer(editor.prompt(session, "first"))
    start = time.perf_counter() - begun
    turn = editor.prompt(session, "hang")
    while not editor.said:
        editor.read()
    killed = time.perf_counter()
    os.kill(int(editor.said.split()[0]), signal.SIGKILL)
    editor.answer(turn)
    notice = time.perf_counter() - killed
    answer = editor.answer(editor.prompt(session, "count"))
    works = time.perf_counter() - killed
    editor.end()
    if answer.get("result", {}).get("stopReason") != "end_turn" or not editor.said.endswith("2"):
        raise SystemExit(f"the session did not recover: {answer}, {editor.said!r}")
    return Taken(start, notice, works)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.recovery", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--reps", type=int, help="repetitions (9, quick 3)")
    options, _ = parser.parse_known_args()
    reps = options.reps or (3 if options.quick else 9)
    found: list[Taken] = []
    for _ in range(reps):
        with tempfile.TemporaryDirectory(prefix="symposium-recovery-") as home:
            found.append(measure(Path(home)))
    for line in report(found):
        print(line)
    return 0


def report(found: list[Taken]) -> list[str]:
    """The table, with a verdict on each target."""
    start, works = median(each.start for each in found), median(each.works for each in found)
    rows = (
        ("notice, of a start", median(each.notice / each.start for each in found), NOTICE_RATIO),
        ("works again, of a start", median(each.works / each.start for each in found), WORKS_RATIO),
        ("works again, seconds", works, LIMIT),
    )
    return [
        f"agent killed in a turn: {len(found)} repetitions; a start takes {start:.2f} s",
        *(
            f"  {text:26} {value:6.2f}   at most {limit:g}: "
            + ("met" if value <= limit else "MISSED")
            for text, value, limit in rows
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
