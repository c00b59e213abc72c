"""Read recommendations from the network and from the workspace.

A recommended program inside the workspace requires trust, like the file that names it. Symposium
starts a private copy of the trusted content.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from localio.files import expand_home
from localio.http import FetchError
from localio.http_cache import HttpCache
from peerwire.jsonrpc.values import as_list, as_object
from symposium.config.component_source import ComponentSource
from symposium.config.paths import Paths
from symposium.config.user_config import ModEntry
from symposium.permissions.trusted_content import (
    TrustEffect,
    TrustError,
    TrustItem,
    canonical,
    read_item,
)
from symposium.planning.recommendations import (
    Listed,
    Recommendation,
    RecommendationError,
    effects_of,
    read_recommendations,
)

OFFICIAL: Final = "https://recommendations.symposium.dev/recommendations.toml"
VARIABLE: Final = "SYMPOSIUM_RECOMMENDATIONS"
"""Environment variable: a URL, a file, or `none` for only the user's and the workspace's own."""

NONE: Final = "none"
TIME: Final = 30.0
"""Timeout of a download in seconds (acp-host §4.11)."""

MAX_BYTES: Final = 1024 * 1024


def address_of(env: Mapping[str, str]) -> str:
    """Return the address of the recommendations: from the environment, else the official one."""
    return env.get(VARIABLE) or OFFICIAL


class RemoteRecommendations:
    """Recommendations at one address, with a copy in the cache."""

    def __init__(
        self, address: str, paths: Paths, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address.removeprefix("file://")
        file = paths.cache / "recommendations.json"
        self._cache = HttpCache(self._address, file, TIME, MAX_BYTES, _read, clock)

    def here(self) -> Listed:
        """Return the recommendations without using the network; empty if there is no copy yet.

        Raises:
            RecommendationError: the address is a file that is unreadable or invalid.
        """
        if self._address == NONE:
            return Listed()
        if not self._is_url:
            try:
                text = expand_home(self._address).read_bytes()[: MAX_BYTES + 1].decode()
            except (OSError, ValueError) as error:
                raise RecommendationError(f"{self._address}: {error}", "") from error
            return read_recommendations(text, "remote")
        copy = self._cache.copy()
        return Listed() if copy is None else _read(copy.body.encode())

    @property
    def is_stale(self) -> bool:
        """Whether a download is due."""
        copy = self._cache.copy() if self._is_url else None
        return self._is_url and (copy is None or not self._cache.is_fresh(copy))

    async def refresh(self) -> str:
        """Download the recommendations; return an error message, or an empty text."""
        if not self._is_url:
            return ""
        try:
            await self._cache.download()
        except (FetchError, RecommendationError) as error:
            return error.message
        except (OSError, ValueError) as error:
            return str(error)
        return ""

    @property
    def _is_url(self) -> bool:
        return "://" in self._address


def _read(body: bytes) -> Listed:
    return read_recommendations(body.decode(), "remote")


FILE: Final = ".symposium/recommendations.toml"
KIND: Final = "recommendations"
PROGRAM: Final = "program"

MAX_PROGRAM: Final = 16 * 1024 * 1024
"""Maximum bytes of a program in a workspace; a larger one is rejected."""


@dataclass(frozen=True, slots=True)
class StoredRecommendations:
    """Recommendations of a workspace, read once.

    Attributes:
        file: the recommendations file.
        listed: its entries.
        programs: files of the workspace that its commands name, with the word that names each.
        problems: messages about unused entries.
    """

    file: TrustItem | None = None
    listed: Listed = field(default_factory=Listed)
    programs: tuple[tuple[str, TrustItem], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[TrustItem, ...]:
        programs = {item.place: item for _, item in self.programs}
        return () if self.file is None else (self.file, *programs.values())


def read_stored(workspace: Path) -> StoredRecommendations:
    """Read the recommendations of a workspace; report unreadable entries as problems."""
    try:
        item = read_item(workspace, KIND, FILE)
        if item is None:
            return StoredRecommendations()
        listed = read_recommendations(item.content.decode(), "workspace")
    except (TrustError, RecommendationError) as error:
        return StoredRecommendations(problems=(f"{FILE}: {error.message}",))
    except UnicodeDecodeError:
        return StoredRecommendations(problems=(f"{FILE}: it is not UTF-8",))
    problems = list(listed.problems)
    programs: dict[str, TrustItem] = {}
    kept: list[Recommendation] = []
    for each in listed.recommendations:
        try:
            programs |= dict(_programs(item.workspace, each.mod))
        except TrustError as error:
            problems.append(f"{each.mod.name}: {error.message}")
        else:
            kept.append(each)
    allows = tuple(effect for each in kept for effect in effects_of(each.mod))
    return StoredRecommendations(
        replace(item, allows=allows), Listed(tuple(kept)), tuple(programs.items()), tuple(problems)
    )


def usable(
    stored: StoredRecommendations, trusted: Iterable[TrustItem], copies: Path
) -> list[Recommendation]:
    """Return the entries whose programs are all trusted, changed to start private copies.

    Args:
        stored: recommendations of a workspace.
        trusted: its trusted items.
        copies: directory of Symposium for the copies.

    Raises:
        OSError: a copy cannot be written.
    """
    allowed = {item.place for item in trusted}
    if stored.file is None or stored.file.place not in allowed:
        return []
    programs = dict(stored.programs)
    found: list[Recommendation] = []
    for each in stored.listed.recommendations:
        words = [word for word in _words(each.mod) if word in programs]
        if all(programs[word].place in allowed for word in words):
            paths = {word: _copied(programs[word], copies) for word in words}
            found.append(replace(each, mod=_with_paths(each.mod, paths)))
    return found


def _programs(workspace: Path, mod: ModEntry) -> Iterator[tuple[str, TrustItem]]:
    """Yield the words of a command that name files of the workspace, with their content."""
    if mod.source is None or mod.source.kind != "local":
        return
    for value in as_object(mod.source.value.get("env")).values():
        _check(workspace, str(value))
    for word in _words(mod):
        name = _within(workspace, word)
        item = None if name is None else read_item(workspace, PROGRAM, name, max_bytes=MAX_PROGRAM)
        if item is not None:
            yield word, replace(item, allows=(TrustEffect("command", f"a private copy of {name}"),))


def _words(mod: ModEntry) -> list[str]:
    """Return the words that may name a file: arguments, and a program with a slash."""
    if mod.source is None or mod.source.kind != "local":
        return []
    detail: dict[str, Any] = mod.source.value
    arguments = [str(each) for each in as_list(detail.get("args"))]
    command = str(detail["command"])
    return [command, *arguments] if "/" in command else arguments


def _within(workspace: Path, word: str) -> str | None:
    """Return the relative path of the workspace file that a word names; None if it names none."""
    _check(workspace, word)
    path = Path(os.path.normpath(workspace / word))
    is_file = path.is_relative_to(workspace) and os.path.lexists(path) and not path.is_dir()
    return str(path.relative_to(workspace)) if is_file else None


def _check(workspace: Path, word: str) -> None:
    """Reject an absolute path into the workspace, because it would not be copied.

    Raises:
        TrustError: the word contains or leads to the path of the workspace.
    """
    if "\0" in word:
        raise TrustError("a word of its command holds a NUL character", "")
    target = os.path.realpath(word) if word.startswith("/") else word
    if str(workspace) in word or target.startswith(str(workspace)):
        raise TrustError(f"{word!r} leads into the workspace by its whole path", "")


def _copied(item: TrustItem, copies: Path) -> str:
    place = copies / item.digest
    file = place / Path(item.name).name
    if not file.exists():
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = place / f".{os.getpid()}"
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o700)
        with os.fdopen(handle, "wb") as copy:
            copy.write(item.content)
        beside.chmod(0o500)
        beside.replace(file)
    return str(file)


def _with_paths(mod: ModEntry, paths: dict[str, str]) -> ModEntry:
    if not paths or mod.source is None:
        return mod
    detail: dict[str, Any] = dict(mod.source.value)
    detail["command"] = paths.get(detail["command"], detail["command"])
    detail["args"] = [paths.get(str(each), each) for each in as_list(detail.get("args"))]
    return structs.replace(mod, source=ComponentSource("local", detail))


def workspace_of(path: str | Path) -> Path:
    """Return the canonical workspace of a session's directory."""
    return canonical(Path(path))
