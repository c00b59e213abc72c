"""Download a file done HTTPS, with limits on time and size."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from localio.http_values import FetchError, HttpRequest, HttpResult
from peerwire.errors import ErrorBoundary

INDEX_TIME: Final = 10.0
"""Limit in seconds for an index (acp-host §4.10)."""

ARCHIVE_TIME: Final = 900.0
"""Limit in seconds for an archive; some have two hundred megabytes."""

MAX_ARCHIVE: Final = 1024 * 1024 * 1024


async def fetch(request: HttpRequest, to: Path) -> HttpResult:
    """Download a file without blocking the event loop.

    Raises:
        FetchError: the download failed, timed out, is too large, or cannot be written.
    """
    try:
        async with asyncio.timeout(request.seconds):
            return await _in_a_thread(request, to)
    except TimeoutError as error:
        raise FetchError(
            f"{request.url} timed out after {request.seconds:g} s", "check your network connection"
        ) from error
    finally:
        request.stop.set()


async def _in_a_thread(request: HttpRequest, to: Path) -> HttpResult:
    """Use a separate thread: the loop would wait for its own threads at exit."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    outcome: list[HttpResult | Exception] = []

    def work() -> None:
        # Importing urllib, ssl and http.client takes longer than starting a chain.
        from localio.http_get import http_get  # noqa: PLC0415 - as said above

        with ErrorBoundary() as caught:
            outcome.append(http_get(request, to))
        if caught.error is not None:
            outcome.append(caught.error)
            caught.error = None  # break the reference cycle: its frames hold a socket
        with suppress(RuntimeError):  # the loop may have closed before the server responded
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=work, name=f"GET {request.url}", daemon=True).start()
    await done.wait()
    found = outcome.pop()
    if isinstance(found, HttpResult):
        return found
    try:
        raise found
    finally:
        del found
