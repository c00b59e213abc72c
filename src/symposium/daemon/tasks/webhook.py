"""One POST to an address of the user's, within a time; it is sent nowhere else."""

import asyncio
import http.client
import logging
import socket
import threading
import urllib.request
from base64 import b64encode
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

PATIENCE: Final = 20.0
"""Seconds that all of it may take."""

_FINE: Final = range(200, 300)
_log = logging.getLogger(__name__)


def is_webhook(address: str) -> bool:
    """Whether it can be posted to: an https URL, or an http one of this very machine."""
    try:
        url = urlsplit(address)
        is_here = url.hostname in {"localhost", "127.0.0.1", "::1"}
        return (
            bool(url.hostname)
            and url.port != 0
            and (url.scheme == "https" or (url.scheme == "http" and is_here))
            and url.geturl().isascii()
            and " " not in address
        )
    except ValueError:
        # Brackets that do not fit, or a port that is none.
        return False


async def post(address: str, text: bytes, patience: float = PATIENCE) -> bool:
    """Post it; False if it was certainly not taken, which is in the log with the reason.

    A redirect is not followed: what waits is told to that address and to no other. One that has
    got it all and does not answer may have taken it.
    """
    call = _Call(urlsplit(address), text, patience)
    try:
        async with asyncio.timeout(patience):
            await call.run()
    except TimeoutError:
        # Before the connection is cut: half an answer then looks like a whole one.
        may_have_it, trouble = call.may_be_taken, f"it gave no answer within {patience:g} s"
        call.give_up()
    else:
        may_have_it, trouble = call.may_be_taken, call.trouble
    if trouble:
        # Its path may be a secret; its host says which it is.
        _log.warning("the webhook at %s: %s", call.host, trouble)
    return may_have_it


class _Call:
    """One POST, in a thread that nobody waits for.

    Attributes:
        trouble: what went wrong, for people; empty if nothing.
    """

    def __init__(self, url: SplitResult, text: bytes, patience: float) -> None:
        self._url = url
        self._text = text
        self._connection = _connection(url, patience)
        self.host = url.hostname or ""
        self.trouble = ""
        self._is_sent = False
        self._is_given_up = False
        self._status = 0

    @property
    def may_be_taken(self) -> bool:
        """Whether the server has taken it, or has all of it and has not answered."""
        return self._is_sent and (not self._status or self._status in _FINE)

    async def run(self) -> None:
        """Do it; returns when it is over, however."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()

        def work() -> None:
            try:
                self._post()
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.trouble = f"{type(error).__name__}: {error}"
            finally:
                self._connection.close()
            with suppress(RuntimeError):  # the loop may be over before the server speaks
                loop.call_soon_threadsafe(over.set)

        # Not one of the loop's own threads: a daemon that ends would wait for them.
        threading.Thread(target=work, name=f"POST {self.host}", daemon=True).start()
        await over.wait()

    def give_up(self) -> None:
        """End the thread, however slowly the other end goes on."""
        self._is_given_up = True
        if (held := self._connection.sock) is not None:
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _post(self) -> None:
        url = self._url
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"Content-Type": "application/json", "User-Agent": "symposium"}
        if url.username is not None:
            headers["Authorization"] = _basic(url)
        self._connection.connect()
        if self._is_given_up:
            return
        self._connection.request("POST", path, self._text, headers)
        self._is_sent = True
        self._status = self._connection.getresponse().status
        if self._status not in _FINE:
            self.trouble = f"it answered {self._status}"


def _connection(url: SplitResult, patience: float) -> http.client.HTTPConnection:
    """A connection to the address, through the proxy that the environment names for it."""
    host = url.hostname or ""
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port, timeout=patience)
    named = urllib.request.getproxies().get("https", "")
    if not named or urllib.request.proxy_bypass(host):
        return http.client.HTTPSConnection(host, url.port, timeout=patience)
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    headers = {} if proxy.username is None else {"Proxy-Authorization": _basic(proxy)}
    through = http.client.HTTPSConnection(proxy.hostname or "", proxy.port, timeout=patience)
    through.set_tunnel(host, url.port, headers)
    return through


def _basic(url: SplitResult) -> str:
    said = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return f"Basic {b64encode(said.encode()).decode()}"
