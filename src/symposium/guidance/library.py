"""The guidance for one directory, kept in memory until something on the disk changes."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from symposium.guidance.places import BUILT_IN, IN_PROJECT, Places, places_for
from symposium.guidance.reading import read_shelf
from symposium.guidance.shelf import Shelf
from symposium.trust.decision_file import FILE
from symposium.trust.store import TrustStore

LOOK_EVERY: Final = 1.0
"""Seconds between two looks; each costs a dozen calls of `stat`."""

_Print: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from before.

    Attributes:
        ids: of texts that have come, gone, or say something else.
        is_list: whether a list of all would differ too.
    """

    ids: frozenset[str]
    is_list: bool


async def _pause() -> None:
    await asyncio.sleep(LOOK_EVERY)


class GuidanceLibrary:
    """Guidance of four layers: project (as far as it is trusted), team, user, built-in."""

    def __init__(self, places: Places, trust: TrustStore | None = None) -> None:
        self._places = places
        self._trust = trust or TrustStore(places.home)
        self._print: _Print | None = None
        self._shelf = Shelf({})

    @property
    def project(self) -> Path:
        """The root of the checkout that the guidance is for."""
        return self._places.project

    def shelf(self) -> Shelf:
        """What holds now; the same object as before if nothing on the disk has changed."""
        seen = self._look()
        if seen != self._print:
            self._shelf, self._print = read_shelf(self._places, self._trust), seen
        return self._shelf

    async def changes(
        self, pause: Callable[[], Awaitable[None]] = _pause
    ) -> AsyncGenerator[Change]:
        """Each change from now on, for as long as somebody asks for the next.

        Args:
            pause: waits until the next look is due.
        """
        before = self.shelf()
        while True:
            await pause()
            now = self.shelf()
            if now is before:
                continue
            ids = now.changed_since(before)
            if ids:
                yield Change(ids, now.lists_other_than(before))
            before = now

    def _look(self) -> _Print:
        project = self._places.project / IN_PROJECT
        directories = (BUILT_IN, self._places.user, self._places.team, project)
        files = [_of_file(self._places.home / FILE)]
        return (*files, *(_state_of_directory(directory) for directory in directories))


def library_for(directory: Path, environment: Mapping[str, str] | None = None) -> GuidanceLibrary:
    """The guidance for whoever works in a directory."""
    return GuidanceLibrary(places_for(directory, environment))


def _state_of_directory(directory: Path) -> tuple[object, ...]:
    try:
        with os.scandir(directory) as entries:
            return tuple(sorted((each.name, *_of_file(Path(each.path))) for each in entries))
    except OSError:
        return ()


def _of_file(path: Path) -> tuple[int, ...]:
    try:
        seen = path.stat()
    except OSError:
        return ()
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_mode
