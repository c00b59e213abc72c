"""Where the index comes from: the network, a copy of it, or the snapshot that we bring along.

What is there is given at once and says how old it is; the network is asked at most once a day.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from localio.http import INDEX_TIME, fetch
from localio.http_values import FetchError, Wish
from symposium.registry.entries import MAX_INDEX, Index, RegistryFormatError, parse_index

OFFICIAL: Final = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
VARIABLE: Final = "SYMPOSIUM_REGISTRY"
"""The environment's say on where the index is: a URL or a file."""

FRESH: Final = 24 * 3600.0
"""Seconds for which a copy is used without asking whether it is still right."""

SNAPSHOT: Final = Path(__file__).with_name("snapshot.json")

_CACHE_NAME: Final = "registry.json"


@dataclass(frozen=True, slots=True)
class Loaded:
    """An index, and how far to trust it.

    Attributes:
        origin: where it comes from.
        as_of: when it was right, in seconds since 1970.
        is_fresh: whether the network need not be asked.
        trouble: why it is not newer; empty if nothing is wrong.
    """

    index: Index
    origin: Literal["network", "cache", "snapshot", "file"]
    as_of: float
    is_fresh: bool
    trouble: str = ""

    def describe(self) -> str:
        """One line for people: which copy, how old, and why no other."""
        return self._which() + (f"; {self.trouble}" if self.trouble else "")

    def in_short(self) -> str:
        """The same without the reason, for where it matters less; empty where it is up to date."""
        if self.trouble:
            return f"{self._which()}; not renewed: `symposium agents update` says why"
        is_new = self.origin == "network" or (self.origin == "cache" and self.is_fresh)
        return "" if is_new else self._which()

    def _which(self) -> str:
        now = time.time()
        day = datetime.fromtimestamp(self.as_of, UTC).date().isoformat()
        age = max(0, int((now - self.as_of) // 86400))
        old = "today" if age == 0 else "1 day old" if age == 1 else f"{age} days old"
        names = {"network": "just fetched", "cache": "copy", "file": "file"}
        what = names.get(self.origin, "bundled snapshot")
        return f"registry: {what} of {day} ({old})"


class _Copy(msgspec.Struct, frozen=True):
    """What is kept of an answer, in one file so that its parts cannot disagree."""

    address: str
    fetched: float
    etag: str | None
    body: str


def registry_address(env: Mapping[str, str], option: str | None = None) -> str:
    """Where the index is: an option, else the environment, else the official address."""
    return option or env.get(VARIABLE) or OFFICIAL


class RegistryIndex:
    """The index at one address, with its copy in one directory."""

    def __init__(
        self, address: str, cache: Path, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address.removeprefix("file://")
        self._cache = cache / _CACHE_NAME
        self._clock = clock

    def here(self) -> Loaded:
        """What can be had without the network: a file, the copy, else the snapshot.

        Raises:
            RegistryFormatError: the address is a file, and not an index.
            OSError: the address is a file that cannot be read.
        """
        if not _is_url(self._address):
            path = Path(self._address).expanduser()
            index = parse_index(path.read_bytes()[: MAX_INDEX + 1])
            return Loaded(index, "file", path.stat().st_mtime, is_fresh=True)
        if (copy := self._copy()) is not None:
            age = self._clock() - copy.fetched
            index = parse_index(copy.body.encode())
            return Loaded(index, "cache", copy.fetched, is_fresh=0 <= age < FRESH)
        return snapshot()

    async def current(self) -> Loaded:
        """A fresh index if it can be had; else the newest there is, with the reason.

        Raises:
            RegistryFormatError: the address is a file, and not an index.
            OSError: the address is a file that cannot be read.
        """
        found = self.here()
        return found if found.is_fresh else await self.refresh()

    async def refresh(self) -> Loaded:
        """Ask the network, whatever is here; what is here if it does not answer."""
        if not _is_url(self._address):
            return self.here()
        copy = self._copy()
        try:
            return await self._ask(copy)
        except (FetchError, RegistryFormatError, OSError) as error:
            reason = error.message if isinstance(error, FetchError | RegistryFormatError) else error
            return replace(self.here(), trouble=f"it could not be renewed: {reason}")

    async def _ask(self, copy: _Copy | None) -> Loaded:
        self._cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Beside the copy, so that it can be renamed over it.
        with tempfile.TemporaryDirectory(dir=self._cache.parent) as place:
            file = Path(place) / "index"
            etag = copy.etag if copy else None
            got = await fetch(Wish(self._address, INDEX_TIME, MAX_INDEX, etag), file)
            if got.is_unchanged and copy is not None:
                body = copy.body
            else:
                body = file.read_bytes().decode(errors="replace")
            index = parse_index(body.encode())
            now = self._clock()
            file.write_bytes(msgspec.json.encode(_Copy(self._address, now, got.etag, body)))
            file.replace(self._cache)
        return Loaded(index, "network", now, is_fresh=True)

    def _copy(self) -> _Copy | None:
        """The copy, if it is one of this address; a damaged one counts as none."""
        try:
            copy = msgspec.json.decode(self._cache.read_bytes(), type=_Copy)
            parse_index(copy.body.encode())
        except (OSError, msgspec.DecodeError, UnicodeError, RegistryFormatError):
            return None
        return copy if copy.address == self._address else None


def snapshot() -> Loaded:
    """The index that we bring along, with its date."""
    index = parse_index(SNAPSHOT.read_bytes())
    as_of = datetime.fromisoformat(index.stamp).replace(tzinfo=UTC).timestamp()
    return Loaded(index, "snapshot", as_of, is_fresh=False)


def _is_url(address: str) -> bool:
    return "://" in address
