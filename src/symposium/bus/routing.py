"""Which window a message is for (bus §1.9): the rules alone, on values that are already canonical.

The reference leaves the choice to each window, which compares strings; here one is chosen, once, by
whole components of canonical paths.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Parts: TypeAlias = tuple[str, ...]
"""A canonical absolute path as its components; empty for the root and for what is no path."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sender stands.

    Attributes:
        directory: its working directory; None if it has said none.
        taskspace: the uuid of its taskspace.
        shell_pid: the shell of the terminal it runs under; 0 counts as none.
    """

    directory: Parts | None
    taskspace: str | None = None
    shell_pid: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of a window.

    Attributes:
        connection: whose window.
        folders: its open folders; the root is a folder too.
        terminals: the process ids of the shells in its terminals.
        taskspace: the uuid of the taskspace it shows.
        focused: when its user last looked at it; larger is later.
    """

    connection: str
    folders: tuple[Parts, ...] = ()
    terminals: frozenset[int] = frozenset()
    taskspace: str | None = None
    focused: float = 0.0


def window_for(place: Place, windows: Iterable[Window]) -> Window | None:
    """The one window that a message from this place is for; None if none is.

    A window that shows the sender's taskspace goes before all others; then the window that owns its
    terminal; then the one whose folder holds its directory, the innermost folder first. Among
    equals the window looked at last, then the first. A terminal that nobody owns any more leaves
    the directory to decide.
    """
    known = list(windows)
    of_taskspace = [each for each in known if is_same_taskspace(each.taskspace, place.taskspace)]
    if of_taskspace:
        return (
            _owner(place, of_taskspace)
            or _latest(_innermost(place, of_taskspace))
            or _latest(of_taskspace)
        )
    # A window that shows another taskspace is that one's: no stranger's walkthrough opens there.
    free = [each for each in known if place.taskspace is None or each.taskspace is None]
    return _owner(place, free) or _latest(_innermost(place, free))


def is_same_taskspace(one: str | None, other: str | None) -> bool:
    """Whether both name the same taskspace: uuids have no case (bus §1.9)."""
    return bool(one and other) and str(one).lower() == str(other).lower()


def depth(directory: Parts | None, folders: Iterable[Parts]) -> int:
    """Components of the longest folder that is, or holds, the directory; -1 if none does."""
    if directory is None:
        return -1
    return max((len(each) for each in folders if directory[: len(each)] == each), default=-1)


def _owner(place: Place, windows: list[Window]) -> Window | None:
    if not place.shell_pid:
        return None
    return _latest([each for each in windows if place.shell_pid in each.terminals])


def _innermost(place: Place, windows: list[Window]) -> list[Window]:
    depths = [depth(place.directory, each.folders) for each in windows]
    best = max(depths, default=-1)
    if best < 0:
        return []
    return [each for each, found in zip(windows, depths, strict=True) if found == best]


def _latest(windows: list[Window]) -> Window | None:
    return max(windows, key=_focus, default=None)


def _focus(window: Window) -> float:
    return window.focused
