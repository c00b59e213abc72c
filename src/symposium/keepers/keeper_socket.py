"""A keeper's socket: connections of the same user, each with a bound on what waits for it."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request, RequestHandler
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import UnixListener, serve_unix
from symposium.agent_sessions.keeper_client import DESCRIBE, ENDED, STOP
from symposium.keepers.keeper import Keeper

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

    def __init__(self, path: Path, keeper: Keeper, tasks: asyncio.TaskGroup) -> None:
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
