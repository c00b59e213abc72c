"""The envelope of every event of `--json` (users §8.4)."""

from datetime import UTC, datetime
from typing import Any, Final

from peerwire.jsonrpc.values import encode_value

VERSION: Final = 1
"""Version of the envelope; a new member does not change it."""


def event_line(kind: str, data: Any, *, seq: int = 1, session: str | None = None) -> str:
    """Format an event as a line.

    Args:
        kind: its type.
        data: its data.
        seq: its number, from 1, without gaps.
        session: the id of its session, if any.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    envelope = {"v": VERSION, "seq": seq, "ts": now, "type": kind}
    envelope |= {"session": session, "taskspace": None, "data": data}
    return encode_value(envelope).decode() + "\n"
