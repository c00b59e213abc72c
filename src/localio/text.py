"""Text for the user: safe for terminals, near matches, and local times."""

import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

_CONTROLS: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, and those that change the text direction.

Compiled on first use, because most starts show no text.
"""

_PICTURES: Final = 0x2400


def plain_text(text: str) -> str:
    """Replace control characters by visible symbols, for example escape by `␛`."""
    return re.sub(_CONTROLS, _visible, text.replace("\r\n", "\n"))


def one_line(text: str, *, width: int) -> str:
    """Join a text to one line of at most `width` characters; keep its indentation."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    line = indent + " ".join(plain_text(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def clipped(text: str, *, width: int) -> str:
    """Truncate a line to at most `width` characters; keep its inner spaces."""
    line = plain_text(text.expandtabs(4)).replace("\n", " ")
    return line if len(line) <= width else f"{line[: width - 1]}…"


def pieces(text: str, *, width: int) -> list[str]:
    """Wrap a line to lines of at most `width` characters."""
    line = clipped(text, width=sys.maxsize)
    return [line[at : at + width] for at in range(0, len(line), width)]


def exact(text: str) -> str:
    """Show a text on one line, complete, with all invisible characters escaped.

    For permission requests: characters that join, hide, or reverse words become visible.
    """
    shown = plain_text(text).replace("\n", "␊").replace("\t", "␉")
    return "".join(each if each.isprintable() else f"<U+{ord(each):04X}>" for each in shown)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls, which Unicode has pictures of
        return chr(_PICTURES + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"  # noqa: PLR2004 - DEL has one too


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three similar names, the most similar first; case is ignored."""
    from difflib import get_close_matches

    by_fold = {each.casefold(): each for each in known}
    return [by_fold[fold] for fold in get_close_matches(name.casefold(), by_fold, n=3)]


_WIDTH = 32


def minute_of(moment: str | float) -> str:
    """Day, hour, and minute of a moment in local time.

    Args:
        moment: ISO 8601 (default time zone: UTC), or seconds since 1970. Other values are
            returned unchanged.
    """
    return _shown(moment, "%Y-%m-%d %H:%M")


def second_of(moment: str | float) -> str:
    """Day, hour, minute, and second of a moment; see `minute_of`."""
    return _shown(moment, "%Y-%m-%d %H:%M:%S")


def day_of(moment: str | float) -> str:
    """Local date of a moment, as `2026-11-24`; see `minute_of`."""
    return _shown(moment, "%Y-%m-%d")


def clock_of(moment: str | float) -> str:
    """Time of day with microseconds of a moment; see `minute_of`."""
    return _shown(moment, "%H:%M:%S.%f")


def iso_of(seconds: float) -> str:
    """Seconds since 1970 in ISO 8601, with the time zone UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _shown(moment: str | float, form: str) -> str:
    try:
        return _read(moment).astimezone().strftime(form)
    except (ValueError, OverflowError, OSError):
        # Show an unknown format of an earlier version or another program unchanged.
        return one_line(str(moment), width=_WIDTH)


def _read(moment: str | float) -> datetime:
    if not isinstance(moment, str):
        return datetime.fromtimestamp(moment, UTC)
    found = datetime.fromisoformat(moment)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
