"""A session server: socket and prompt queue."""

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
    """Somebody who is connected to the keeper."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell them; one who does not read is cut off."""
        ...


class SessionServer(Protocol):
    """Holds one agent."""

    async def run(self, on_state: OnState) -> ServerSessionState:
        """Start the agent, and hold it until it has ended; how it stands then."""
        ...

    def stop(self) -> None:
        """End the agent, gently first; `run` returns when it has ended."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What there is to be said of it now."""
        ...

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """What this viewer can ask, by method."""
        ...

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """What this viewer can tell, by method."""
        ...

    def left(self, viewer: Viewer) -> None:
        """This viewer has gone."""
        ...


BACKLOG: Final = 8 * 1024 * 1024
"""Bytes that may wait for a viewer; one that does not read is cut off then."""

FAREWELL: Final = 2.0
"""Seconds in which viewers may read the last words."""


class KeeperSocket:
    """Lets viewers come to a keeper.

    Args:
        path: of the socket; what is there is of a keeper that has gone, since we hold the lock.
        keeper: whom they come to.
        tasks: the group that the connections run in.
    """

    def __init__(self, path: Path, keeper: SessionServer, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._path = path
        self._keeper = keeper
        self._listener: UnixListener | None = None
        self._viewers: dict[_Viewer, asyncio.Task[None]] = {}

    def open(self) -> None:
        """Listen.

        Raises:
            OSError: that is not possible.
        """
        with suppress(FileNotFoundError):
            self._path.unlink()
        self._listener = serve_unix(self._path, self._come)

    async def close(self) -> None:
        """Say that it is over, and let everybody go."""
        if self._listener is not None:
            self._listener.close()
        viewers = dict(self._viewers)
        for viewer in viewers:
            viewer.notify(ENDED, {})
            viewer.connection.close()
        if viewers:
            await asyncio.wait(viewers.values(), timeout=FAREWELL)

    def _come(self, transport: FdTransport, uid: int) -> None:
        if uid != os.getuid():
            transport.close()
            return
        viewer = _Viewer(transport)
        keeper = self._keeper

        def stop(_: Request) -> Mapping[str, Any]:
            keeper.stop()
            return {}

        def describe(_: Request) -> Mapping[str, Any]:
            return keeper.describe()

        requests: Mapping[str, RequestHandler] = {
            DESCRIBE: describe,
            STOP: stop,
            **keeper.requests(viewer),
        }
        handlers = Handlers(requests=requests, notifications=keeper.notifications(viewer))
        viewer.connection = Connection(transport, handlers)
        self._viewers[viewer] = self._tasks.create_task(self._serve(viewer))

    async def _serve(self, viewer: "_Viewer") -> None:
        try:
            await viewer.connection.run()
        finally:
            self._keeper.left(viewer)
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

LONGEST: Final = 1024 * 1024
"""Characters of one."""


class _Kept(Struct):
    waiting: list[str]
    said: str | None = None


class PromptQueue:
    """A queue that a killed keeper loses nothing of, and says nothing of twice.

    Args:
        directory: of the session.

    Attributes:
        interrupted: the prompt that was being answered when an earlier keeper was killed; it is
            for a person to say again.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "prompts.json"
        self._kept = self._read()
        self.interrupted = self._kept.said
        if self.interrupted is not None:
            self._kept.said = None
            self._write()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._kept.waiting)

    def add(self, text: str) -> int:
        """Put one at the end; how many wait. On return it is on the disk.

        Raises:
            SessionError: there are too many, or it is too long.
            OSError: it cannot be written.
        """
        if len(self._kept.waiting) >= MAX_PROMPTS:
            raise SessionError(f"{MAX_PROMPTS} prompts wait already", "wait, or cancel the turn")
        if len(text) > LONGEST:
            raise SessionError(f"a prompt of {len(text)} characters; at most {LONGEST}", "")
        self._kept.waiting.append(text)
        try:
            self._write()
        except OSError:
            # What is not on the disk was not promised, and must not be said later.
            self._kept.waiting.pop()
            raise
        return len(self._kept.waiting)

    def take(self) -> str | None:
        """The next one, which is being said from now on; None if none waits."""
        if not self._kept.waiting:
            return None
        self._kept.said = self._kept.waiting.pop(0)
        self._write()
        return self._kept.said

    def done(self) -> None:
        """What was taken last has been answered."""
        self._kept.said = None
        self._write()

    def put_back(self) -> None:
        """What was taken last has not been heard: it is the next one again."""
        if self._kept.said is not None:
            self._kept.waiting.insert(0, self._kept.said)
        self.done()

    def interrupt(self) -> str | None:
        """The agent has died while it answered; the prompt, which is not said again by itself."""
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
                f"{self._file} could not be read: {error}", "it was put aside"
            ) from error

    def _write(self) -> None:
        write_whole(self._file, json.encode(self._kept).decode())
