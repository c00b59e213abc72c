"""Session server for a program on a pseudo-terminal."""

import asyncio
import fcntl
import os
import signal
import struct
import termios
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from localio.processes import look_up, usual_path
from localio.redaction import Redactor, secret_values
from localio.text import plain_text
from peerwire.errors import invalid_params
from peerwire.jsonrpc.handlers import Request, RequestHandler
from symposium.sessions.client import ATTACH, INPUT, OUTPUT, RESIZE
from symposium.sessions.server import OnState, Viewer
from symposium.sessions.session import (
    AS_ASKED,
    TERMINAL_LOG,
    ServerSessionState,
    SessionSpec,
    Status,
    secrets_of,
)

MAX_SCROLLBACK: Final = 1024 * 1024
"""Bytes of output to keep."""


class Scrollback:
    """The bounded end of a byte stream.

    Args:
        limit: bytes to keep.
    """

    def __init__(self, limit: int = MAX_SCROLLBACK) -> None:
        self._limit = limit
        self._pieces: deque[bytes] = deque()
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Append output; drop the oldest beyond the limit."""
        self._pieces.append(piece)
        self._size += len(piece)
        while self._size - len(self._pieces[0]) > self._limit:
            self._size -= len(self._pieces.popleft())

    def end(self) -> bytes:
        """Return the last bytes; if some were dropped, start at the beginning of a line."""
        whole = b"".join(self._pieces)
        if len(whole) <= self._limit:
            return whole
        kept = whole[-self._limit :]
        return kept[kept.find(b"\n") + 1 :]


def processes_of_session(leader: int) -> list[int]:
    """Processes of a terminal session except its leader; empty without /proc."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        # A program's name may contain spaces and parentheses: the fields follow the last `)`.
        fields = stat.rpartition(")")[2].split()
        if int(fields[3]) == leader and int(entry.name) != leader:
            found.append(int(entry.name))
    return found


GRACE: Final = 3.0
"""Seconds between hanging up and killing a program."""

PENDING: Final = 1024 * 1024
"""Bytes of input that may wait for a program that does not read."""

NOT_FOUND: Final = 127
"""Exit code for a missing program (POSIX, `Exit Status`)."""

_READ: Final = 64 * 1024
_SIZE: Final = (24, 80)


class TerminalSessionServer:
    """Create it before the event loop runs: forking requires a process without threads.

    Args:
        spec: the program.
        directory: for the end of its output after it exits.
    """

    def __init__(self, spec: SessionSpec, directory: Path) -> None:
        self._spec = spec
        self._kept = directory / TERMINAL_LOG
        self._scrollback = Scrollback()
        self._viewers: set[Viewer] = set()
        self._pending = bytearray()
        self._is_stopping = False
        self._pid, self._master = os.forkpty()
        if self._pid == 0:
            _exec_program(spec)
        os.set_blocking(self._master, False)
        self._resize(*_SIZE)

    async def run(self, on_state: OnState) -> ServerSessionState:
        """Run the program until it exits; return the final state."""
        on_state(ServerSessionState(Status.RUNNING, os.getpid()))
        loop = asyncio.get_running_loop()
        loop.add_reader(self._master, self._readable)
        _, status = await asyncio.to_thread(os.waitpid, self._pid, 0)
        self._readable()
        loop.remove_reader(self._master)
        loop.remove_writer(self._master)
        for pid in processes_of_session(self._pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self._master)
        self._kept.write_bytes(self._redacted(self._scrollback.end()))
        code = os.waitstatus_to_exitcode(status)
        reason = AS_ASKED if self._is_stopping else _exit_reason(self._spec, code)
        return ServerSessionState(Status.EXITED, os.getpid(), exit_code=code, reason=reason)

    def _redacted(self, shown: bytes) -> bytes:
        known = (*secrets_of(self._spec), *secret_values(os.environ))
        return Redactor(known).raw(shown)

    def stop(self) -> None:
        """Hang up, like a closed terminal; kill the program if it does not exit."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._signal(signal.SIGHUP)
        self._signal(signal.SIGCONT)
        asyncio.get_running_loop().call_later(GRACE, self._signal, signal.SIGKILL)

    def describe(self) -> Mapping[str, Any]:
        """Return the process id and the number of viewers."""
        return {"pid": self._pid, "viewers": len(self._viewers)}

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """Handlers for one viewer; `attach` returns the scrollback."""

        def attach(request: Request) -> Mapping[str, Any]:
            self._resize_to(request.params)
            self._viewers.add(viewer)
            return {"scrollback": b64encode(self._scrollback.end()).decode()}

        return {ATTACH: attach}

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """Handlers of keyboard input and window size."""
        del viewer
        return {INPUT: self._typed, RESIZE: self._resize_to}

    def left(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)

    def _readable(self) -> None:
        while True:
            try:
                piece = os.read(self._master, _READ)
            except BlockingIOError:
                return
            except OSError:
                # Linux returns EIO once no process has the terminal open.
                piece = b""
            if not piece:
                with suppress(OSError, ValueError):
                    asyncio.get_running_loop().remove_reader(self._master)
                return
            self._scrollback.add(piece)
            shown = {"data": b64encode(piece).decode()}
            for viewer in tuple(self._viewers):
                viewer.notify(OUTPUT, shown)
            if len(piece) < _READ:
                return

    def _typed(self, params: Any) -> None:
        try:
            data = b64decode(params["data"], validate=True)
        except (TypeError, KeyError, ValueError):
            return
        if len(self._pending) + len(data) <= PENDING:
            self._pending += data
            self._writable()

    def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._pending:
                del self._pending[: os.write(self._master, self._pending)]
        except BlockingIOError:
            loop.add_writer(self._master, self._writable)
        except OSError:
            self._pending.clear()
            loop.remove_writer(self._master)
        else:
            loop.remove_writer(self._master)

    def _resize_to(self, params: Any) -> None:
        match params:
            case {"rows": int(rows), "columns": int(columns)} if rows > 0 and columns > 0:
                self._resize(min(rows, 1000), min(columns, 1000))
            case {}:
                return
            case _:
                raise invalid_params("rows and columns must be positive integers", params)

    def _resize(self, rows: int, columns: int) -> None:
        with suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


def _environment(spec: SessionSpec) -> dict[str, str]:
    """Environment of the program; PATH gets the usual directories if it does not contain it."""
    found = {**os.environ, "TERM": "xterm-256color", **spec.env}
    if look_up(spec.command[0], found.get("PATH", os.defpath).split(os.pathsep)) is None:
        found["PATH"] = usual_path(found)
    return found


def _exit_reason(spec: SessionSpec, code: int) -> str:
    places = _environment(spec).get("PATH", os.defpath).split(os.pathsep)
    if code == NOT_FOUND and look_up(spec.command[0], places) is None:
        name = plain_text(spec.command[0])
        return f"`{name}` is not installed, or not on the PATH of the session"
    return f"the program exited with code {code}"


def _exec_program(spec: SessionSpec) -> None:
    """Run the program in the child process, or print why not; never returns."""
    try:
        os.chdir(spec.cwd)
        words = list(spec.command)
        os.execvpe(words[0], words, _environment(spec))  # noqa: S606 - what was asked for
    except OSError as error:
        os.write(2, f"{spec.command[0]}: {error.strerror}\r\n".encode())
    finally:
        os._exit(NOT_FOUND)
