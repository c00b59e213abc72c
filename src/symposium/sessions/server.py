"""Base of a session server: its socket and its prompt queue."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from msgspec import DecodeError, Struct, ValidationError, json

from localio.files import write_whole
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request, RequestHandler
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import UnixListener, serve_unix
from symposium.sessions.client import DESCRIBE, ENDED, STOP
from symposium.sessions.session import ServerSessionState, SessionError

OnState: TypeAlias = Callable[[ServerSessionState], None]


class Viewer(Protocol):
    """A client that is connected to the session server."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; a client that does not read is disconnected."""
        ...


class SessionServer(Protocol):
    """Process that runs the agent of one session."""

    async def run(self, on_state: OnState) -> ServerSessionState:
        """Run the agent until it exits; return the final state."""
        ...

    def stop(self) -> None:
        """Stop the agent, gracefully first; `run` then returns."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Describe the current state."""
        ...

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """Request handlers for this viewer, by method."""
        ...

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """Notification handlers for this viewer, by method."""
        ...

    def left(self, viewer: Viewer) -> None:
        """Handle that a viewer disconnected."""
        ...


BACKLOG: Final = 8 * 1024 * 1024
"""Bytes that may wait for a viewer before it is disconnected."""

CLOSE_TIMEOUT: Final = 2.0
"""Timeout in seconds for viewers to read the last messages."""


class SessionSocket:
    """Accept viewers of a session server.

    Args:
        path: of the socket; an existing file is a leftover, since this process has the lock.
        server: the session server.
        tasks: the group that the connections run in.
    """

    def __init__(self, path: Path, server: SessionServer, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._path = path
        self._server = server
        self._listener: UnixListener | None = None
        self._viewers: dict[_Viewer, asyncio.Task[None]] = {}

    def open(self) -> None:
        """Listen.

        Raises:
            OSError: the socket cannot be created.
        """
        with suppress(FileNotFoundError):
            self._path.unlink()
        self._listener = serve_unix(self._path, self._accept)

    async def close(self) -> None:
        """Notify all viewers of the end, and disconnect them."""
        if self._listener is not None:
            self._listener.close()
        viewers = dict(self._viewers)
        for viewer in viewers:
            viewer.notify(ENDED, {})
            viewer.connection.close()
        if viewers:
            await asyncio.wait(viewers.values(), timeout=CLOSE_TIMEOUT)

    def _accept(self, transport: FdTransport, uid: int) -> None:
        if uid != os.getuid():
            transport.close()
            return
        viewer = _Viewer(transport)
        server = self._server

        def stop(_: Request) -> Mapping[str, Any]:
            server.stop()
            return {}

        def describe(_: Request) -> Mapping[str, Any]:
            return server.describe()

        requests: Mapping[str, RequestHandler] = {
            DESCRIBE: describe,
            STOP: stop,
            **server.requests(viewer),
        }
        handlers = Handlers(requests=requests, notifications=server.notifications(viewer))
        viewer.connection = Connection(transport, handlers)
        self._viewers[viewer] = self._tasks.create_task(self._serve(viewer))

    async def _serve(self, viewer: "_Viewer") -> None:
        try:
            await viewer.connection.run()
        finally:
            self._server.left(viewer)
            self._viewers.pop(viewer, None)


class _Viewer:
    def __init__(self, transport: FdTransport) -> None:
        self._transport = transport
        self.connection: Connection

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self._transport.backlog > BACKLOG:
            self.connection.close()
            return
        self.connection.notify(method, dict(params))


MAX_PROMPTS: Final = 100
"""Prompts that may wait."""

MAX_PROMPT_LENGTH: Final = 1024 * 1024
"""Longest prompt in characters."""


class _Kept(Struct):
    waiting: list[str]
    said: str | None = None


class PromptQueue:
    """A queue that survives a kill; no prompt is lost or sent twice.

    Args:
        directory: of the session.

    Attributes:
        interrupted: prompt whose turn was interrupted when an earlier server was killed; only
            the user sends it again.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "prompts.json"
        self._kept = self._read()
        self.interrupted = self._kept.said
        if self.interrupted is not None:
            self._kept.said = None
            self._write()

    def __len__(self) -> int:
        """Number of waiting prompts."""
        return len(self._kept.waiting)

    def add(self, text: str) -> int:
        """Append a prompt durably; return the number of waiting prompts.

        Raises:
            SessionError: there are too many, or it is too long.
            OSError: it cannot be written.
        """
        if len(self._kept.waiting) >= MAX_PROMPTS:
            raise SessionError(f"{MAX_PROMPTS} prompts are waiting", "wait, or cancel the turn")
        if len(text) > MAX_PROMPT_LENGTH:
            message = f"the prompt has {len(text)} characters; the limit is {MAX_PROMPT_LENGTH}"
            raise SessionError(message, "")
        self._kept.waiting.append(text)
        try:
            self._write()
        except OSError:
            # An unsaved prompt was not accepted, so it must not be sent later.
            self._kept.waiting.pop()
            raise
        return len(self._kept.waiting)

    def take(self) -> str | None:
        """Remove and return the next prompt, whose turn starts now; None if none waits."""
        if not self._kept.waiting:
            return None
        self._kept.said = self._kept.waiting.pop(0)
        self._write()
        return self._kept.said

    def done(self) -> None:
        """Record that the turn of the last prompt has ended."""
        self._kept.said = None
        self._write()

    def requeue(self) -> None:
        """Put the last prompt back: the agent did not process it."""
        if self._kept.said is not None:
            self._kept.waiting.insert(0, self._kept.said)
        self.done()

    def interrupt(self) -> str | None:
        """Return the prompt during which the agent exited; it is not sent again."""
        self.interrupted = self._kept.said
        if self.interrupted is not None:
            self.done()
        return self.interrupted

    def _read(self) -> _Kept:
        try:
            return json.decode(self._file.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept([])
        except (DecodeError, ValidationError) as error:
            self._file.replace(self._file.with_suffix(".damaged"))
            raise SessionError(
                f"cannot read {self._file}: {error}", "it was renamed to `prompts.damaged`"
            ) from error

    def _write(self) -> None:
        write_whole(self._file, json.encode(self._kept).decode())
