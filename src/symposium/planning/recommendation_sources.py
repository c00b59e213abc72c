"""Remote and stored recommendations.

A program that lies in the workspace is content, too: it is judged with the file that names it, and
what is started is a private copy of what was judged.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from localio.http import FetchError
from localio.http_cache import HttpCache
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
    list_of,
    read_recommendations,
    table_of,
)

OFFICIAL: Final = "https://recommendations.symposium.dev/recommendations.toml"
VARIABLE: Final = "SYMPOSIUM_RECOMMENDATIONS"
"""The environment's say: a URL, a file, or `none` for what the user and the workspace say only."""

NONE: Final = "none"
TIME: Final = 30.0
"""Seconds to answer in (acp-host §4.11)."""

MAX_BYTES: Final = 1024 * 1024


def address_of(env: Mapping[str, str]) -> str:
    """Address of the recommendations: from the environment, else the official one."""
    return env.get(VARIABLE) or OFFICIAL


class RemoteRecommendations:
    """The file at one address, with its copy in the cache."""

    def __init__(
        self, address: str, paths: Paths, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._address = address.removeprefix("file://")
        file = paths.cache / "recommendations.json"
        self._cache = HttpCache(self._address, file, TIME, MAX_BYTES, _read, clock)

    def here(self) -> Listed:
        """Recommendations known without the network; empty if there is no copy yet.

        Raises:
            RecommendationError: the address is a file, and none of recommendations.
        """
        if self._address == NONE:
            return Listed()
        if not self._is_url:
            try:
                text = Path(self._address).expanduser().read_bytes()[: MAX_BYTES + 1].decode()
            except (OSError, ValueError) as error:
                raise RecommendationError(f"{self._address}: {error}", "") from error
            return read_recommendations(text, "remote")
        copy = self._cache.copy()
        return Listed() if copy is None else _read(copy.body.encode())

    @property
    def is_stale(self) -> bool:
        """Whether the network is to be asked."""
        copy = self._cache.copy() if self._is_url else None
        return self._is_url and (copy is None or not self._cache.is_fresh(copy))

    async def refresh(self) -> str:
        """Download the recommendations; the reason if that failed, else an empty text."""
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
"""Bytes of a program that is stored in a workspace; what is larger is not used."""


@dataclass(frozen=True, slots=True)
class StoredRecommendations:
    """Recommendations of a workspace, read once.

    Attributes:
        file: the file of recommendations.
        listed: what it says.
        programs: the files of the workspace that it would start, by the word that names each.
        problems: what of it is not used, and why.
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
    """Read what a workspace recommends; what cannot be judged is a problem, and not used."""
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
    """Entries that may be offered: every program is trusted, and started from a copy.

    Args:
        stored: what was read.
        trusted: those of its items that are.
        copies: where the copies are made; a directory of Symposium.

    Raises:
        OSError: a copy cannot be made.
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
    """The words of a command that name files of the workspace, each with its content."""
    if mod.source is None or mod.source.kind != "local":
        return
    for value in table_of(mod.source.value.get("env")).values():
        _check(workspace, str(value))
    for word in _words(mod):
        name = _within(workspace, word)
        item = None if name is None else read_item(workspace, PROGRAM, name, max_bytes=MAX_PROGRAM)
        if item is not None:
            yield word, replace(item, allows=(TrustEffect("command", f"a private copy of {name}"),))


def _words(mod: ModEntry) -> list[str]:
    """The words that may name a file: a program without a slash is looked for in PATH."""
    if mod.source is None or mod.source.kind != "local":
        return []
    detail: dict[str, Any] = mod.source.value
    arguments = [str(each) for each in list_of(detail.get("args"))]
    command = str(detail["command"])
    return [command, *arguments] if "/" in command else arguments


def _within(workspace: Path, word: str) -> str | None:
    """The file in the workspace that a word leads to; None if it names none."""
    _check(workspace, word)
    path = Path(os.path.normpath(workspace / word))
    is_file = path.is_relative_to(workspace) and os.path.lexists(path) and not path.is_dir()
    return str(path.relative_to(workspace)) if is_file else None


def _check(workspace: Path, word: str) -> None:
    """Refuse what leads into the workspace by its own path: there would be no copy of it.

    Raises:
        TrustError: it does.
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
    detail["args"] = [paths.get(str(each), each) for each in list_of(detail.get("args"))]
    return structs.replace(mod, source=ComponentSource("local", detail))


def workspace_of(path: str | Path) -> Path:
    """The canonical workspace of a session's directory."""
    return canonical(Path(path))
