"""Makes a stranger's text safe for a terminal: what controls it is shown instead of obeyed."""

import re
import sys
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
    """The text on one line of at most `width` characters, indented as it was."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    line = indent + " ".join(plain_text(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def clipped(text: str, *, width: int) -> str:
    """One line of a text as it stands, its inner blanks too, of at most `width` characters."""
    line = plain_text(text.expandtabs(4)).replace("\n", " ")
    return line if len(line) <= width else f"{line[: width - 1]}…"


def pieces(text: str, *, width: int) -> list[str]:
    """One line of a text as it stands, in as many lines of at most `width` as it takes."""
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
