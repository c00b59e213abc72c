"""Gets a file over HTTP within limits: time, size, and no way around TLS."""

import asyncio
from pathlib import Path
from typing import Final

from symposium.registry.wish import FetchError, Got, Wish

INDEX_TIME: Final = 10.0
"""Seconds for an index (acp-host §4.10)."""

ARCHIVE_TIME: Final = 900.0
"""Seconds for an archive; some have two hundred megabytes."""

MAX_ARCHIVE: Final = 1024 * 1024 * 1024


async def fetch(wish: Wish, to: Path) -> Got:
    """Get a file; the event loop goes on meanwhile.

    Raises:
        FetchError: it was refused, did not come in time, is too large, or cannot be written.
    """
    # urllib, ssl and http.client take longer to import than a chain takes to start.
    from symposium.registry.http_get import http_get  # noqa: PLC0415 - as said above

    try:
        async with asyncio.timeout(wish.seconds):
            return await asyncio.to_thread(http_get, wish, to)
    except TimeoutError as error:
        raise FetchError(
            f"{wish.url} did not come within {wish.seconds:g} s", "is the network up?"
        ) from error
    finally:
        wish.stop.set()
