"""The envelope that every event of `--json` comes in (users §8.4)."""

from datetime import UTC, datetime
from typing import Any, Final

from peerwire.jsonrpc.values import encode_value

VERSION: Final = 1
"""Of the envelope; members may be added to it without a new one."""


def event_line(kind: str, data: Any, *, seq: int = 1, session: str | None = None) -> str:
    """An event as a line.

    Args:
        kind: its type.
        data: what happened.
        seq: its number, from 1, without holes.
        session: where it happened, if that was in one.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    envelope = {"v": VERSION, "seq": seq, "ts": now, "type": kind}
    envelope |= {"session": session, "taskspace": None, "data": data}
    return encode_value(envelope).decode() + "\n"
