"""Gets a file over HTTP within limits: time, size, and no way around TLS."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from localio.http_values import FetchError, HttpRequest, HttpResult
from peerwire.errors import ErrorBoundary

INDEX_TIME: Final = 10.0
"""Seconds for an index (acp-host §4.10)."""

ARCHIVE_TIME: Final = 900.0
"""Seconds for an archive; some have two hundred megabytes."""

MAX_ARCHIVE: Final = 1024 * 1024 * 1024


async def fetch(wish: HttpRequest, to: Path) -> HttpResult:
    """Get a file; the event loop is not blocked.

    Raises:
        FetchError: it was refused, did not come in time, is too large, or cannot be written.
    """
    try:
        async with asyncio.timeout(wish.seconds):
            return await _in_a_thread(wish, to)
    except TimeoutError as error:
        raise FetchError(
            f"{wish.url} did not come within {wish.seconds:g} s", "is the network up?"
        ) from error
    finally:
        wish.stop.set()


async def _in_a_thread(wish: HttpRequest, to: Path) -> HttpResult:
    """Not one of the loop's own threads: a program that ends would wait for them."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    outcome: list[HttpResult | Exception] = []

    def work() -> None:
        # urllib, ssl and http.client take longer to import than a chain takes to start.
        from localio.http_get import http_get  # noqa: PLC0415 - as said above

        with ErrorBoundary() as caught:
            outcome.append(http_get(wish, to))
        if caught.error is not None:
            outcome.append(caught.error)
            caught.error = None  # its frames hold a socket, and would hold each other
        with suppress(RuntimeError):  # the loop may be over before the server speaks
            loop.call_soon_threadsafe(over.set)

    threading.Thread(target=work, name=f"GET {wish.url}", daemon=True).start()
    await over.wait()
    found = outcome.pop()
    if isinstance(found, HttpResult):
        return found
    try:
        raise found
    finally:
        del found
