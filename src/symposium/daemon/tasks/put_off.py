"""What a person has said "not now" to: it waits on, and nobody is told of it (users B-5)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError, json

from localio.files import write_whole

REMEMBERED: Final = 1000
"""Items that are known to have been put off."""


class PutOff:
    """Keeps it over a new daemon.

    Args:
        file: where it is kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = _read(file)

    def at(self, item_id: str) -> str:
        """Since when, ISO 8601, UTC; empty for what was not put off."""
        return self._at.get(item_id, "")

    def add(self, item_id: str) -> None:
        """It can wait.

        Raises:
            OSError: that cannot be written down.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._at = dict([*self._at.items(), (item_id, now)][-REMEMBERED:])
        write_whole(self._file, json.encode(self._at).decode())


def _read(file: Path) -> dict[str, str]:
    try:
        return json.decode(file.read_bytes(), type=dict[str, str])
    except (OSError, DecodeError, ValidationError):
        # Told once more is better than never.
        return {}
