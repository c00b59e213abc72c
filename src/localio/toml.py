"""Parse TOML that others wrote: no text takes long, or ends the program."""

import tomllib
from collections.abc import Iterator
from typing import Any, Final

MAX_KEY_DOTS: Final = 200
"""Maximum number of dots in a key. The time for a key grows with the square of its parts."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises:
        ValueError: it is not valid, is nested too deeply, or has a key of too many parts.
    """
    if any(key.count(".") > MAX_KEY_DOTS for key in _possible_keys(text)):
        raise ValueError(f"a key with more than {MAX_KEY_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("values are nested too deeply") from error


def _possible_keys(text: str) -> Iterator[str]:
    """The text before each `=`, and the lines that may name a table."""
    for line in text.splitlines():
        for before in line.split("=")[:-1]:
            yield before[max(before.rfind(","), before.rfind("{")) + 1 :]
        if line.lstrip().startswith("["):
            yield line
