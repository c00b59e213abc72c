"""The client's side of a measured chain: blocking pipes, read as fast as they fill."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from bench.processes import tree

PATIENCE: Final = 20.0
"""Seconds without a byte after which a chain counts as stuck."""

LEAVE: Final = 0.5
"""Seconds that a chain gets to end by itself; what does not is killed."""

PIPE: Final = 64 * 1024
"""Bytes that a pipe holds: the most one read can give."""

HIDDEN: Final = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Settings of some shells that would make each start compile anew, or each line two writes."""


class ChainEndedError(Exception):
    """A measured program ended, or answered with an error."""


class Editor:
    """One started command and the session in it.

    Attributes:
        pid: of the command.
        output: the descriptor of what the command writes.
        side: the file in which the load agent leaves its figures.
        start_seconds: from before the spawn until the answer of `initialize`.
    """

    def __init__(
        self, command: Sequence[str], stderr: IO[bytes] | int = subprocess.DEVNULL
    ) -> None:
        handle, name = tempfile.mkstemp(prefix="bench-")
        os.close(handle)
        self.side = Path(name)
        self._buffer = bytearray()
        self._last_id = 0
        environment = {key: value for key, value in os.environ.items() if key not in HIDDEN}
        begun = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self.pid, self._input, self.output = self._process.pid, stdin, stdout.fileno()
        try:
            self._greet()
        except (ChainEndedError, OSError):
            self.close()
            raise
        self.start_seconds = time.monotonic() - begun

    def open_session(self) -> None:
        """Make the session that prompts go to.

        Raises:
            ChainEndedError: the answer is an error, or there is none.
        """
        answer = self.call("session/new", {"cwd": tempfile.gettempdir(), "mcpServers": []})
        self._session = answer["sessionId"]

    def call(
        self, method: str, params: dict[str, Any], on_request: Callable[[bytes], None] | None = None
    ) -> dict[str, Any]:
        """Ask and wait for the result; what the agent asks meanwhile goes to `on_request`.

        Raises:
            ChainEndedError: the answer is an error, or there is none.
        """
        self._send(method, params)
        while True:
            line = self.line()
            # Short tests: a benchmark should measure the chain rather than this side's decoder.
            if b'"method"' in line[:200]:
                if on_request is not None and b'"id"' in line:
                    on_request(line)
                continue
            answer = json.loads(line)
            if "error" in answer:
                raise ChainEndedError(f"{method}: {answer['error']}")
            return answer["result"]

    def prompt(self, order: dict[str, Any], on_request: Callable[[bytes], None]) -> None:
        """Let the agent bear a load, and wait until it says that it has."""
        self.call("session/prompt", self._order(order), on_request)

    def begin_prompt(self, order: dict[str, Any]) -> None:
        """Let the agent bear a load; the caller reads what comes."""
        self._send("session/prompt", self._order(order))

    def agent_notes(self) -> dict[str, Any]:
        """What the agent has left beside the conversation; empty before its first load."""
        text = self.side.read_text(encoding="utf-8")
        return json.loads(text) if text else {}

    def write(self, line: bytes) -> None:
        """Write bytes as they are."""
        rest = memoryview(line)
        while rest:
            rest = rest[self._input.write(rest) :]

    def line(self) -> bytes:
        """The next line, without its newline.

        Raises:
            ChainEndedError: the stream ended.
            TimeoutError: nothing came.
        """
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            self._buffer += self.read(PATIENCE)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def read(self, patience: float, *, most: int = PIPE) -> bytes:
        """What is there, waiting for at least one byte.

        Raises:
            ChainEndedError: the stream ended.
            TimeoutError: nothing came.
        """
        if not select.select([self.output], [], [], patience)[0]:
            raise TimeoutError(f"nothing was written for {patience:g} s")
        if not (chunk := os.read(self.output, most)):
            raise ChainEndedError(f"the program ended with {self._process.poll()}")
        return chunk

    def close(self, leave: float = LEAVE) -> None:
        """End the command and everything it started."""
        self._input.close()
        started = list(tree(self.pid))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(leave)
        for pid in started[1:] if self._process.poll() is not None else started:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self.side.unlink(missing_ok=True)

    def _greet(self) -> None:
        files = {"readTextFile": True, "writeTextFile": True}
        params = {"protocolVersion": 1, "clientCapabilities": {"fs": files, "terminal": False}}
        self.call("initialize", {**params, "clientInfo": {"name": "bench", "version": "1"}})

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps({**order, "side": str(self.side)})
        return {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}

    def _send(self, method: str, params: dict[str, Any]) -> None:
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
