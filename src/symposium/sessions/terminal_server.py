"""Serves a program on a pseudo-terminal."""

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

LONGEST: Final = 1024 * 1024
"""Bytes that are kept."""


class Scrollback:
    """A bounded end of a stream of bytes.

    Args:
        longest: bytes that are kept.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: deque[bytes] = deque()
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Append what was shown."""
        self._pieces.append(piece)
        self._size += len(piece)
        while self._size - len(self._pieces[0]) > self._longest:
            self._size -= len(self._pieces.popleft())

    def end(self) -> bytes:
        """The last bytes, from a line's beginning where something was left out."""
        whole = b"".join(self._pieces)
        if len(whole) <= self._longest:
            return whole
        kept = whole[-self._longest :]
        return kept[kept.find(b"\n") + 1 :]


def processes_of_session(leader: int) -> list[int]:
    """The processes of a terminal session, its leader left out; none where /proc is not there."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        # The name of a program may hold blanks and brackets: fields begin behind its last one.
        fields = stat.rpartition(")")[2].split()
        if int(fields[3]) == leader and int(entry.name) != leader:
            found.append(int(entry.name))
    return found


GRACE: Final = 3.0
"""Seconds between asking a program to end and ending it."""

PENDING: Final = 1024 * 1024
"""Bytes of input that may wait for a program that does not read."""

NOT_FOUND: Final = 127
"""Exit code of a program that is not there (POSIX, `Exit Status`)."""

_READ: Final = 64 * 1024
_SIZE: Final = (24, 80)


class TerminalSessionServer:
    """Made before the event loop runs: the program is forked off a process without threads.

    Args:
        spec: what to run.
        directory: where the end of what it showed is kept once it has ended.
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
            _become(spec)
        os.set_blocking(self._master, False)
        self._resize(*_SIZE)

    async def run(self, on_state: OnState) -> ServerSessionState:
        """Hold it until it has ended; how it stands then."""
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
        reason = AS_ASKED if self._is_stopping else _why_it_ended(self._spec, code)
        return ServerSessionState(Status.EXITED, os.getpid(), exit_code=code, reason=reason)

    def _redacted(self, shown: bytes) -> bytes:
        known = (*secrets_of(self._spec), *secret_values(os.environ))
        return Redactor(known).raw(shown)

    def stop(self) -> None:
        """Hang up, as a closed terminal does; what does not go is ended."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._signal(signal.SIGHUP)
        self._signal(signal.SIGCONT)
        asyncio.get_running_loop().call_later(GRACE, self._signal, signal.SIGKILL)

    def describe(self) -> Mapping[str, Any]:
        """The program's process, and how many look at it."""
        return {"pid": self._pid, "viewers": len(self._viewers)}

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """To attach."""

        def attach(request: Request) -> Mapping[str, Any]:
            self._resize_to(request.params)
            self._viewers.add(viewer)
            return {"scrollback": b64encode(self._scrollback.end()).decode()}

        return {ATTACH: attach}

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """What is typed, and the window's size."""
        del viewer
        return {INPUT: self._typed, RESIZE: self._resize_to}

    def left(self, viewer: Viewer) -> None:
        """Show it no longer."""
        self._viewers.discard(viewer)

    def _readable(self) -> None:
        while True:
            try:
                piece = os.read(self._master, _READ)
            except BlockingIOError:
                return
            except OSError:
                # Linux says so when nobody holds the other end any more.
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
                raise invalid_params("rows and columns are wanted", params)

    def _resize(self, rows: int, columns: int) -> None:
        with suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


def _environment(spec: SessionSpec) -> dict[str, str]:
    """What the program finds; PATH leads to the usual places, too, where ours leads to nothing."""
    found = {**os.environ, "TERM": "xterm-256color", **spec.env}
    if look_up(spec.command[0], found.get("PATH", os.defpath).split(os.pathsep)) is None:
        found["PATH"] = usual_path(found)
    return found


def _why_it_ended(spec: SessionSpec, code: int) -> str:
    places = _environment(spec).get("PATH", os.defpath).split(os.pathsep)
    if code == NOT_FOUND and look_up(spec.command[0], places) is None:
        name = plain_text(spec.command[0])
        return f"`{name}` is not installed, or not on the PATH that it was started with"
    return f"the program ended with {code}"


def _become(spec: SessionSpec) -> None:
    """In the child: be the program, or say why not; never returns."""
    try:
        os.chdir(spec.cwd)
        words = list(spec.command)
        os.execvpe(words[0], words, _environment(spec))  # noqa: S606 - what was asked for
    except OSError as error:
        os.write(2, f"{spec.command[0]}: {error.strerror}\r\n".encode())
    finally:
        os._exit(NOT_FOUND)
