"""A port on this machine's own address, and the secrets that open it (acp-host §8.2)."""

import asyncio
import hmac
import logging
import secrets
import socket
from collections.abc import Callable
from typing import Final

ADDRESS: Final = "127.0.0.1"
RETRY: Final = 0.5
"""Seconds before connections are taken again when no descriptor was left for one."""

_log = logging.getLogger(__name__)


class Listener:
    """Takes connections on a free port until it is closed."""

    def __init__(self, on_connection: Callable[[socket.socket], None]) -> None:
        self._on_connection = on_connection
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._sock = socket.create_server((ADDRESS, 0))
        self._sock.settimeout(0)
        self.port: int = self._sock.getsockname()[1]
        self._watch()

    def close(self) -> None:
        """Take no more connections; those that were taken stay."""
        if self._sock.fileno() >= 0:
            if self._retry is not None:
                self._retry.cancel()
            self._loop.remove_reader(self._sock)
            self._sock.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _log.warning("no connection to the bridge can be taken for now: %s", error)
            self._loop.remove_reader(self._sock)
            self._retry = self._loop.call_later(RETRY, self._watch)
            return
        sock.settimeout(0)
        # Small answers, each awaited: held together for a full segment, they take 40 ms each.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._on_connection(sock)


class Connections:
    """The connections to one endpoint; those without the token cannot keep others out.

    Args:
        most: connections at a time.
        most_unproven: those of them that have not shown the token.
    """

    def __init__(self, most: int, most_unproven: int) -> None:
        self._most = most
        self._most_unproven = most_unproven
        self._serving: set[asyncio.Task[None]] = set()
        self._unproven: dict[asyncio.Task[None], None] = {}

    def has_room(self) -> bool:
        """Whether one more fits; the oldest that has not shown the token leaves for it."""
        is_full = len(self._serving) >= self._most
        if len(self._unproven) >= self._most_unproven or (is_full and self._unproven):
            oldest = next(iter(self._unproven))
            self.prove(oldest)
            self._serving.discard(oldest)
            oldest.cancel()
            return True
        return not is_full

    def add(self, task: asyncio.Task[None]) -> None:
        """Count a connection until its task ends."""
        self._serving.add(task)
        self._unproven[task] = None
        task.add_done_callback(self._serving.discard)
        task.add_done_callback(self.prove)

    def prove(self, task: asyncio.Task[None] | None = None) -> None:
        """Note that a connection, that of the current task by default, has shown the token."""
        task = task or asyncio.current_task()
        if task is not None:
            self._unproven.pop(task, None)

    def cancel(self) -> None:
        """End them all."""
        for task in self._serving:
            task.cancel()


def new_token() -> str:
    """A secret nobody guesses."""
    return secrets.token_urlsafe(32)


def is_same(token: str, given: bytes) -> bool:
    """Whether what was given is the token, in a time that tells nothing of where they differ."""
    return hmac.compare_digest(token.encode(), given)
