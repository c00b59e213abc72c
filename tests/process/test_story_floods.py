"""Agents that write too much, or invalid messages (users E-10)."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from tests.support.editor import Editor, Start, started_editor

FLOOD = """
import json, sys

def write(text):
    sys.stdout.write(text + "\\n")

CASES = {
    "permissions": lambda: [
        write(json.dumps({"jsonrpc": "2.0", "id": n, "method": "session/request_permission",
            "params": {"sessionId": "one", "toolCall": {"toolCallId": "t"}, "options": []}}))
        for n in range(10001, 20101)
    ],
    "line": lambda: write('{"jsonrpc":"2.0","method":"x","params":{"t":"' + "x" * 70000000 + '"}}'),
    "nested": lambda: write('{"jsonrpc":"2.0","method":"session/update","params":'
        + "[" * 100000 + "]" * 100000 + "}"),
    "utf8": lambda: (sys.stdout.flush(), sys.stdout.buffer.write(b'{"a":"\\xff\\xfe"}\\n')),
    "talk": lambda: [write("Loading model... %d%%" % n) for n in range(1000)],
}
for line in sys.stdin:
    message = json.loads(line)
    method, at = message.get("method"), message.get("id")
    if not method or "id" not in message:
        continue
    if method == "session/prompt":
        CASES[message["params"]["prompt"][0]["text"]]()
    result = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "one"}}
    answer = {"jsonrpc": "2.0", "id": at, "result": result.get(method, {"stopReason": "end_turn"})}
    write(json.dumps(answer))
    sys.stdout.flush()
"""

MAX_MEMORY = 400 * 1024 * 1024


def peak(it: Editor) -> int:
    """Return the peak memory of the host in bytes."""
    status = Path(f"/proc/{it.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


@pytest.mark.requirement("stories.e-10-flood")
@pytest.mark.parametrize("case", ["permissions", "line", "nested", "utf8", "talk"])
def test_flood_is_bounded_and_other_sessions_continue(
    start: Start, tmp_path: Path, case: str
) -> None:
    script = tmp_path / "flood.py"
    script.write_text(FLOOD)
    (tmp_path / "home").mkdir()
    config = tmp_path / "home" / "config.jsonc"
    config.write_text(json.dumps({"agent": "eliza"}))
    it = started_editor(start)
    calm = it.session()
    config.write_text(json.dumps({"agent": shlex.join([sys.executable, str(script)])}))
    wild = it.session()
    turn = it.prompt(wild, case)
    assert it.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert it.say(calm, "Hello").startswith("How do you do")
    assert peak(it) < MAX_MEMORY
    it.process.kill()
