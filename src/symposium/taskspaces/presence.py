"""Who is at a taskspace now: editors, terminals, views. Kept in memory: it ends with the daemon.

Instead of window ids (bus-mcp-taskspaces §3.8): each registers, renews, and is gone when its
connection is, or when it has not renewed for a while.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from symposium.taskspaces.model import canonical_id

RENEWAL: Final = 90.0
"""Seconds after which one that said nothing is gone."""


class PresenceKind(StrEnum):
    """What is there."""

    EDITOR = "editor"
    TERMINAL = "terminal"
    WEB = "web"
    ACP = "acp"


@dataclass(frozen=True, slots=True)
class Present:
    """One that is there.

    Attributes:
        key: names it: a connection of the bus, as a rule.
        window_title: the marked title of an editor of the seed; empty for others.
        focus_uri: what brings it to the front.
    """

    key: str
    taskspace: str
    kind: PresenceKind
    seen_at: float
    pid: int | None = None
    window_title: str = ""
    focus_uri: str = ""


class Presence:
    """Those that are there."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._present: dict[tuple[str, str], Present] = {}

    def register(
        self,
        key: str,
        taskspace: str,
        kind: PresenceKind = PresenceKind.EDITOR,
        *,
        pid: int | None = None,
        window_title: str = "",
        focus_uri: str = "",
    ) -> Present:
        """Note one; the same key again renews it.

        Raises:
            RefusedNameError: the id is none.
        """
        id_ = canonical_id(taskspace)
        there = Present(key, id_, kind, self._now(), pid, window_title, focus_uri)
        self._present[key, id_] = there
        return there

    def renew(self, key: str) -> None:
        """Note that one is still there, at all its taskspaces."""
        for place, there in self._present.items():
            if place[0] == key:
                self._present[place] = replace(there, seen_at=self._now())

    def gone(self, key: str) -> list[str]:
        """Note that one is gone; the taskspaces that it was at."""
        left = [place for place in self._present if place[0] == key]
        for place in left:
            del self._present[place]
        return [taskspace for _, taskspace in left]

    def at(self, taskspace: str) -> list[Present]:
        """Those that are at a taskspace: what a roll call gives."""
        id_ = canonical_id(taskspace)
        return [each for each in self._live() if each.taskspace == id_]

    def is_watched(self, taskspace: str) -> bool:
        """Whether anybody would see what its agent says now."""
        return bool(self.at(taskspace))

    def _live(self) -> list[Present]:
        oldest = self._now() - RENEWAL
        self._present = {
            place: each for place, each in self._present.items() if each.seen_at >= oldest
        }
        return list(self._present.values())
