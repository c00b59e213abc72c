"""The client of a measured chain: blocking pipes, read as fast as they fill."""

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

TIMEOUT: Final = 20.0
"""Seconds without a byte after which a chain counts as stuck."""

LEAVE: Final = 0.5
"""Seconds until a chain that does not exit is killed."""

PIPE: Final = 64 * 1024
"""Capacity of a pipe in bytes: the maximum of one read."""

HIDDEN: Final = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Variables that would slow down each start (recompilation) or each line (unbuffered writes)."""


class ChainEndedError(Exception):
    """A measured program ended, or answered with an error."""


class Editor:
    """One started command and the session in it.

    Attributes:
        pid: process id of the command.
        output: descriptor of the command's output.
        side: file with the figures of the load agent.
        start_seconds: time from the spawn to the answer of `initialize`.
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
        """Create the session for prompts.

        Raises:
            ChainEndedError: the answer is an error or missing.
        """
        answer = self.call("session/new", {"cwd": tempfile.gettempdir(), "mcpServers": []})
        self._session = answer["sessionId"]

    def call(
        self, method: str, params: dict[str, Any], on_request: Callable[[bytes], None] | None = None
    ) -> dict[str, Any]:
        """Send a request and wait for its result; pass requests of the agent to `on_request`.

        Raises:
            ChainEndedError: the answer is an error or missing.
        """
        self._send(method, params)
        while True:
            line = self.line()
            # Short tests: the benchmark measures the chain, not this decoder.
            if b'"method"' in line[:200]:
                if on_request is not None and b'"id"' in line:
                    on_request(line)
                continue
            answer = json.loads(line)
            if "error" in answer:
                raise ChainEndedError(f"{method}: {answer['error']}")
            return answer["result"]

    def prompt(self, order: dict[str, Any], on_request: Callable[[bytes], None]) -> None:
        """Start a load and wait for the end of the turn."""
        self.call("session/prompt", self._order(order), on_request)

    def begin_prompt(self, order: dict[str, Any]) -> None:
        """Start a load; the caller reads the output."""
        self._send("session/prompt", self._order(order))

    def agent_notes(self) -> dict[str, Any]:
        """Figures of the load agent; empty before its first load."""
        text = self.side.read_text(encoding="utf-8")
        return json.loads(text) if text else {}

    def write(self, line: bytes) -> None:
        """Write bytes unchanged."""
        rest = memoryview(line)
        while rest:
            rest = rest[self._input.write(rest) :]

    def line(self) -> bytes:
        """The next line, without its newline.

        Raises:
            ChainEndedError: the stream ended.
            TimeoutError: no output in time.
        """
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            self._buffer += self.read(TIMEOUT)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def read(self, timeout: float, *, most: int = PIPE) -> bytes:
        """Read available output, after waiting for at least one byte.

        Raises:
            ChainEndedError: the stream ended.
            TimeoutError: no output in time.
        """
        if not select.select([self.output], [], [], timeout)[0]:
            raise TimeoutError(f"no output for {timeout:g} s")
        if not (chunk := os.read(self.output, most)):
            raise ChainEndedError(f"the program exited with {self._process.poll()}")
        return chunk

    def close(self, leave: float = LEAVE) -> None:
        """End the command and all its children."""
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
