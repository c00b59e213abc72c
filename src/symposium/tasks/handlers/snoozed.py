"""Snoozed items: they stay in the inbox, without notifications (users B-5)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError, json

from localio.files import write_whole

REMEMBERED: Final = 1000
"""Maximum number of remembered items."""


class SnoozedItems:
    """Store snoozed items across restarts of the daemon.

    Args:
        file: the file for them.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = _read(file)

    def at(self, item_id: str) -> str:
        """Time when the item was snoozed, ISO 8601 in UTC; empty if it was not."""
        return self._at.get(item_id, "")

    def add(self, item_id: str) -> None:
        """Snooze an item.

        Raises:
            OSError: the file cannot be written.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._at = dict([*self._at.items(), (item_id, now)][-REMEMBERED:])
        write_whole(self._file, json.encode(self._at).decode())


def _read(file: Path) -> dict[str, str]:
    try:
        return json.decode(file.read_bytes(), type=dict[str, str])
    except (OSError, DecodeError, ValidationError):
        # An extra notification is better than a missing one.
        return {}
