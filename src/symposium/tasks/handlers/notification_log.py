"""Notifications while no client is connected: one for each item, one call for all (users B-6).

Symposium sends none unless the user has configured a command or a webhook, and none while a
connected client shows the inbox.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from localio.files import write_whole
from symposium.bus.messages.tasks import InboxItem

PERIOD: Final = 300.0
"""Minimum seconds between two calls."""

REMEMBERED: Final = 1000
"""Maximum number of remembered notifications."""


@dataclass(frozen=True, slots=True)
class TaskNotice:
    """The news of one task.

    Attributes:
        task: its name.
        project: its project directory.
        reasons: the items, each with its kind.
        link: opens its worktree.
        command: a command for the user that shows it.
    """

    task: str
    project: str
    reasons: tuple[str, ...]
    link: str
    command: str


class _NotifiedFile(msgspec.Struct):
    last: float = 0.0
    ids: list[str] = msgspec.field(default_factory=list[str])


class NotificationLog:
    """Decide which items to notify about now; time is passed in, it has no clock.

    Args:
        file: stores the notified items and their times across restarts of the daemon.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._notified = _read(file)

    def due(self, items: Sequence[InboxItem], now: float) -> list[InboxItem]:
        """The items for the next call; they count as notified from now on.

        Args:
            items: the whole inbox.
            now: seconds since 1970.

        Raises:
            OSError: the file cannot be written.
        """
        known = set(self._notified.ids)
        new = [item for item in items if item.id not in known]
        if not new or 0 <= now - self._notified.last < PERIOD:
            return []
        ids = [*self._notified.ids, *(item.id for item in new)][-REMEMBERED:]
        self._notified = _NotifiedFile(now, ids)
        # Recorded first: a call that fails halfway may have notified the user.
        self._write()
        return new

    def take_back(self, items: Sequence[InboxItem]) -> None:
        """Undo `due` after a failed call: the items are due again with the next one.

        Raises:
            OSError: the file cannot be written.
        """
        untold = {item.id for item in items}
        self._notified = _NotifiedFile(
            self._notified.last, [id_ for id_ in self._notified.ids if id_ not in untold]
        )
        self._write()

    def _write(self) -> None:
        write_whole(self._file, msgspec.json.encode(self._notified).decode())


def _read(file: Path) -> _NotifiedFile:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_NotifiedFile)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        # A second notification is better than none.
        return _NotifiedFile()


def grouped(items: Sequence[InboxItem], places: dict[str, tuple[str, str]]) -> list[TaskNotice]:
    """One notice for each task, in the order of the items.

    Args:
        items: the inbox items.
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
    """The JSON for webhooks and for stdin of the command."""
    body: dict[str, Any] = {"v": 1, "tasks": [msgspec.to_builtins(each) for each in notices]}
    return msgspec.json.encode(body)
