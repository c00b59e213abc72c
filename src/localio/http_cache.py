"""Cache the response of one address in a file, and ask again only for a changed one."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from localio.errors import ExplainedError
from localio.http import HttpRequest, fetch

CACHE_SECONDS: Final = 24 * 3600.0
"""Seconds for which a copy is used without asking the server for a newer one."""


class CachedCopy(msgspec.Struct, frozen=True):
    """A saved response. One file, so that its parts always match.

    Attributes:
        fetched: when the server confirmed it, in seconds since 1970.
    """

    address: str
    fetched: float
    etag: str | None
    body: str


@dataclass(frozen=True, slots=True)
class HttpCache:
    """The response of one address.

    Attributes:
        file: the file of the copy.
        seconds: limit for a download.
        max_bytes: limit for the size of a response.
        check: raises ValueError or an ExplainedError if a response is malformed.
    """

    address: str
    file: Path
    seconds: float
    max_bytes: int
    check: Callable[[bytes], object]
    clock: Callable[[], float] = time.time

    def copy(self) -> CachedCopy | None:
        """The copy, if it is valid and of this address."""
        try:
            copy = msgspec.json.decode(self.file.read_bytes(), type=CachedCopy)
            self.check(copy.body.encode())
        except (OSError, ValueError, ExplainedError):
            return None
        return copy if copy.address == self.address else None

    def is_fresh(self, copy: CachedCopy) -> bool:
        """Whether the copy is new enough to skip the network."""
        return 0 <= self.clock() - copy.fetched < CACHE_SECONDS

    async def download(self) -> CachedCopy:
        """Replace the copy by the current response.

        Raises:
            FetchError: the download failed.
            OSError: the copy cannot be written.
        """
        copy = self.copy()
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # In the same directory as the copy, so that it can be renamed to it.
        with tempfile.TemporaryDirectory(dir=self.file.parent) as directory:
            file = Path(directory) / "response"
            etag = copy.etag if copy else None
            got = await fetch(HttpRequest(self.address, self.seconds, self.max_bytes, etag), file)
            body = copy.body.encode() if got.is_unchanged and copy else file.read_bytes()
            self.check(body)
            new = CachedCopy(self.address, self.clock(), got.etag, body.decode(errors="replace"))
            file.write_bytes(msgspec.json.encode(new))
            file.replace(self.file)
        return new
