"""Text for people: safe for terminals, near matches, and local times."""

import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

_CONTROLS: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""All but tab and line feed; also what turns the direction of text, which can hide what is said.

Compiled on first use: most starts show no text.
"""

_PICTURES: Final = 0x2400


def plain_text(text: str) -> str:
    """The text with each control character as a visible sign: the escape as `␛`."""
    return re.sub(_CONTROLS, _visible, text.replace("\r\n", "\n"))


def one_line(text: str, *, width: int) -> str:
    """The text on one line of at most `width` characters, with its indentation."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    line = indent + " ".join(plain_text(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def clipped(text: str, *, width: int) -> str:
    """One line of a text, inner blanks included, cut to at most `width` characters."""
    line = plain_text(text.expandtabs(4)).replace("\n", " ")
    return line if len(line) <= width else f"{line[: width - 1]}…"


def pieces(text: str, *, width: int) -> list[str]:
    """One line of a text, folded to lines of at most `width` characters."""
    line = clipped(text, width=sys.maxsize)
    return [line[at : at + width] for at in range(0, len(line), width)]


def exact(text: str) -> str:
    """The text on one line, unshortened, with a visible sign for all that has none of its own.

    For what is decided on: what joins words, hides between them or turns them is seen, too.
    """
    shown = plain_text(text).replace("\n", "␊").replace("\t", "␉")
    return "".join(each if each.isprintable() else f"<U+{ord(each):04X}>" for each in shown)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls, which Unicode has pictures of
        return chr(_PICTURES + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"  # noqa: PLR2004 - DEL has one too


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The most alike first, at most three; letter case does not count."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    by_fold = {each.casefold(): each for each in known}
    return [by_fold[fold] for fold in get_close_matches(name.casefold(), by_fold, n=3)]


_WIDTH = 32


def minute_of(moment: str | float) -> str:
    """Day, hour and minute.

    Args:
        moment: ISO 8601, in UTC where it names no zone, or seconds since 1970. What is no moment
            is shown unchanged.
    """
    return _shown(moment, "%Y-%m-%d %H:%M")


def second_of(moment: str | float) -> str:
    """Day, hour, minute and second of a moment as `minute_of` takes it."""
    return _shown(moment, "%Y-%m-%d %H:%M:%S")


def day_of(moment: str | float) -> str:
    """The day of a moment as `minute_of` takes it."""
    return _shown(moment, "%Y-%m-%d")


def clock_of(moment: str | float) -> str:
    """The time of day, to the microsecond, of a moment as `minute_of` takes it."""
    return _shown(moment, "%H:%M:%S.%f")


def iso_of(seconds: float) -> str:
    """Seconds since 1970 as programs read them: ISO 8601 in UTC, and it says so."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _shown(moment: str | float, form: str) -> str:
    try:
        return _read(moment).astimezone().strftime(form)
    except (ValueError, OverflowError, OSError):
        # A file of an earlier version, or of another program: no reason to show nothing.
        return one_line(str(moment), width=_WIDTH)


def _read(moment: str | float) -> datetime:
    if not isinstance(moment, str):
        return datetime.fromtimestamp(moment, UTC)
    found = datetime.fromisoformat(moment)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
