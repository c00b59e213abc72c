"""An ACP agent that only produces load: blocking, quick to start, controlled by the prompt.

It uses only the standard library and starts with `-I -S`. A prompt's first text block is this
JSON:

    {"load": "stream", "count": 20000, "size": 80, "rate": 0, "side": PATH}
    {"load": "ask", "count": 200, "side": PATH}      permission requests, one at a time
    {"load": "read", "count": 3, "side": PATH}       files, as long as the client's answers

Every update carries `@NUMBER.NANOSECONDS@` of the monotonic clock. The file `side` gets the agent's
process id when a load begins and its own figures before the prompt is answered.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

CHUNK: Final = 1 << 20
"""Bytes of one read: the answers to `read` are megabytes long."""

FILLER: Final = 'lorem ipsum dolor "sit" amet\n'
"""Text with characters that JSON escapes, like the output of tools."""

_clock = time.monotonic_ns


def write(line: bytes) -> None:
    """Write a whole line, also if the pipe takes only part of it at once."""
    written = os.write(1, line)
    while written < len(line):
        written += os.write(1, line[written:])


def say(message: dict[str, Any]) -> None:
    """Write one JSON-RPC message."""
    write(json.dumps({"jsonrpc": "2.0"} | message, separators=(",", ":")).encode() + b"\n")


def note(path: str, figures: dict[str, Any]) -> None:
    """Write the process id and figures to the file that the client reads."""
    side = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(side, json.dumps({"pid": os.getpid(), **figures}).encode())
    os.close(side)


def lines() -> Iterator[bytes]:
    """Read lines of the client; join a long one once, not at each read."""
    parts: list[bytes] = []
    while chunk := os.read(0, CHUNK):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*parts, line))
            parts.clear()
        if rest:
            parts.append(rest)


def frame(session: str, size: int) -> tuple[bytes, bytes]:
    """Bytes before and after the timestamp in an update with a text of `size` bytes."""
    stamp = len(f"@0000.{_clock()}@")
    text = (FILLER * (size // len(FILLER) + 1))[: max(0, size - stamp)]
    content = {"type": "text", "text": "\0" + text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": session, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    before, after = json.dumps(message, separators=(",", ":")).split("\\u0000")
    return before.encode(), after.encode() + b"\n"


class LoadAgent:
    """One connection; each prompt is complete before the next line is read."""

    def __init__(self) -> None:
        self._lines = lines()
        self._asked = 0

    def run(self) -> None:
        """Serve until the client ends."""
        for line in self._lines:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self._serve(message)

    def _serve(self, message: dict[str, Any]) -> None:
        result: dict[str, Any]
        match message["method"]:
            case "initialize":
                version = message["params"].get("protocolVersion", 1)
                result = {"protocolVersion": version, "agentCapabilities": {}, "authMethods": []}
            case "session/new":
                result = {"sessionId": f"load-{os.getpid()}"}
            case "session/prompt":
                self._prompt(message["params"])
                result = {"stopReason": "end_turn"}
            case unknown:
                error = {"code": -32601, "message": f"no {unknown}"}
                say({"id": message["id"], "error": error})
                return
        say({"id": message["id"], "result": result})

    def _prompt(self, params: dict[str, Any]) -> None:
        order = json.loads(params["prompt"][0]["text"])
        note(order["side"], {})
        loads = {"stream": self._stream, "ask": self._ask, "read": self._read}
        note(order["side"], loads[order["load"]](order, params["sessionId"]))

    def _stream(self, order: dict[str, Any], session: str) -> dict[str, Any]:
        before, after = frame(session, order["size"])
        if order["rate"]:
            step, due = int(1e9 / order["rate"]), _clock()
            for number in range(order["count"]):
                time.sleep(max(0, due - _clock()) / 1e9)
                write(b"%b@%d.%d@%b" % (before, number, _clock(), after))
                due += step
        else:
            for number in range(order["count"]):
                write(b"%b@%d.%d@%b" % (before, number, _clock(), after))
        return {}

    def _ask(self, order: dict[str, Any], session: str) -> dict[str, Any]:
        call = {"toolCallId": "call-1", "title": "ls", "kind": "execute", "status": "pending"}
        options = [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
        ]
        params = {"sessionId": session, "toolCall": call, "options": options}
        times = [
            self._round_trip("session/request_permission", params)[0] for _ in range(order["count"])
        ]
        return {"round_trips": times}

    def _read(self, order: dict[str, Any], session: str) -> dict[str, Any]:
        params = {"sessionId": session, "path": "/big.txt"}
        trips = [self._round_trip("fs/read_text_file", params) for _ in range(order["count"])]
        return {"round_trips": [trip[0] for trip in trips], "bytes": trips[-1][1]}

    def _round_trip(self, method: str, params: dict[str, Any]) -> tuple[int, int]:
        """Nanoseconds until the answer, and its length; the answer is not decoded."""
        self._asked += 1
        begun = _clock()
        say({"id": self._asked, "method": method, "params": params})
        for line in self._lines:
            if b'"method"' not in line[:200]:
                return _clock() - begun, len(line)
        sys.exit("the client exited without an answer")


if __name__ == "__main__":
    LoadAgent().run()
