"""Where recommendations of others come from: the network, a copy of it, or a file that is named."""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from localio.errors import ExplainedError
from localio.http import fetch
from localio.http_values import FetchError, Wish
from symposium.config.paths import Paths
from symposium.recommendations.recommendation import (
    Listed,
    RecommendationError,
    read_recommendations,
)

OFFICIAL: Final = "https://recommendations.symposium.dev/recommendations.toml"
VARIABLE: Final = "SYMPOSIUM_RECOMMENDATIONS"
"""The environment's say: a URL, a file, or `none` for what the user and the workspace say only."""

NONE: Final = "none"
FRESH: Final = 24 * 3600.0
"""Seconds for which a copy is used without asking whether it is still right."""

TIME: Final = 30.0
"""Seconds to answer in (acp-host §4.11)."""

MOST_BYTES: Final = 1024 * 1024


class _Copy(msgspec.Struct, frozen=True):
    """What is kept of an answer, in one file so that its parts cannot disagree."""

    address: str
    fetched: float
    etag: str | None
    body: str


def address_of(env: Mapping[str, str]) -> str:
    """Where they are: the environment's say, else the official address."""
    return env.get(VARIABLE) or OFFICIAL


class RemoteRecommendations:
    """The file at one address, with its copy in the cache."""

    def __init__(
        self, address: str, paths: Paths, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address.removeprefix("file://")
        self._cache = paths.cache / "recommendations.json"
        self._clock = clock

    def here(self) -> Listed:
        """What is known without the network; nothing where there is no copy yet.

        Raises:
            RecommendationError: the address is a file, and none of recommendations.
        """
        if self._address == NONE:
            return Listed()
        if not self._is_url:
            try:
                text = Path(self._address).expanduser().read_bytes()[: MOST_BYTES + 1].decode()
            except (OSError, ValueError) as error:
                raise RecommendationError(f"{self._address}: {error}", "") from error
            return read_recommendations(text, "remote")
        copy = self._copy()
        return Listed() if copy is None else read_recommendations(copy.body, "remote")

    @property
    def is_stale(self) -> bool:
        """Whether the network is to be asked."""
        copy = self._copy() if self._is_url else None
        return self._is_url and (copy is None or not 0 <= self._clock() - copy.fetched < FRESH)

    async def refresh(self) -> str:
        """Ask the network, whatever is here; why it stays as it was, or nothing."""
        if not self._is_url:
            return ""
        try:
            await self._ask(self._copy())
        except (FetchError, RecommendationError) as error:
            return error.message
        except (OSError, ValueError) as error:
            return str(error)
        return ""

    @property
    def _is_url(self) -> bool:
        return "://" in self._address

    async def _ask(self, copy: _Copy | None) -> None:
        self._cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Beside the copy, so that it can be renamed over it.
        with tempfile.TemporaryDirectory(dir=self._cache.parent) as place:
            file = Path(place) / "recommendations"
            etag = copy.etag if copy else None
            got = await fetch(Wish(self._address, TIME, MOST_BYTES, etag), file)
            body = copy.body if got.is_unchanged and copy is not None else file.read_text("utf-8")
            read_recommendations(body, "remote")
            new = _Copy(self._address, self._clock(), got.etag, body)
            file.write_bytes(msgspec.json.encode(new))
            file.replace(self._cache)

    def _copy(self) -> _Copy | None:
        """The copy, if it is one of this address; a damaged one counts as none."""
        try:
            copy = msgspec.json.decode(self._cache.read_bytes(), type=_Copy)
            read_recommendations(copy.body, "remote")
        except (OSError, ValueError, ExplainedError):
            return None
        return copy if copy.address == self._address else None
