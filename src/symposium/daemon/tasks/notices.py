"""What is told to somebody who is not there: once for each item, in one call for all (users B-6).

Nothing is told unless the user has configured a command or a webhook, and nothing while a view is
connected that shows what waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from localio.files import write_whole
from symposium.bus.messages.tasks import InboxItem

PERIOD: Final = 300.0
"""Seconds between two calls at least."""

REMEMBERED: Final = 1000
"""Items that are known to have been told."""


@dataclass(frozen=True, slots=True)
class TaskNotice:
    """All that is new in one task.

    Attributes:
        task: its name.
        project: where it belongs.
        reasons: what waits, each with its kind.
        link: opens its worktree.
        command: what a person would type to see it.
    """

    task: str
    project: str
    reasons: tuple[str, ...]
    link: str
    command: str


class _Told(msgspec.Struct):
    last: float = 0.0
    ids: list[str] = msgspec.field(default_factory=list[str])


class Notices:
    """Says what is to be told now; told the time, it has no clock.

    Args:
        file: where it is kept what was told, and when: a new daemon knows it too.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._told = _read(file)

    def due(self, items: Sequence[InboxItem], now: float) -> list[InboxItem]:
        """The items to be told of in one call, which count as told from now on.

        Args:
            items: all that waits.
            now: seconds since 1970.

        Raises:
            OSError: that cannot be written down.
        """
        known = set(self._told.ids)
        new = [item for item in items if item.id not in known]
        if not new or 0 <= now - self._told.last < PERIOD:
            return []
        ids = [*self._told.ids, *(item.id for item in new)][-REMEMBERED:]
        self._told = _Told(now, ids)
        # Noted first: a call that fails halfway may have told them.
        self._write()
        return new

    def take_back(self, items: Sequence[InboxItem]) -> None:
        """These were told to nobody after all: they are due again with the next call.

        Raises:
            OSError: that cannot be written down.
        """
        untold = {item.id for item in items}
        self._told = _Told(self._told.last, [id_ for id_ in self._told.ids if id_ not in untold])
        self._write()

    def _write(self) -> None:
        write_whole(self._file, msgspec.json.encode(self._told).decode())


def _read(file: Path) -> _Told:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Told)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        # Told once more is better than never.
        return _Told()


def grouped(items: Sequence[InboxItem], places: dict[str, tuple[str, str]]) -> list[TaskNotice]:
    """One notice for each task, in the order of what waits.

    Args:
        items: what waits.
        places: project and worktree of each taskspace, by id.
    """
    notices: list[TaskNotice] = []
    for id_ in dict.fromkeys(item.taskspace for item in items):
        of_it = [item for item in items if item.taskspace == id_]
        project, worktree = places.get(id_, ("", ""))
        reasons = tuple(f"{item.kind}: {item.text}" for item in of_it)
        link = Path(worktree).as_uri() if worktree else ""
        notices.append(TaskNotice(of_it[0].name, project, reasons, link, "symposium inbox"))
    return notices


def payload(notices: Sequence[TaskNotice]) -> bytes:
    """The same for programs."""
    told: dict[str, Any] = {"v": 1, "tasks": [msgspec.to_builtins(each) for each in notices]}
    return msgspec.json.encode(told)
