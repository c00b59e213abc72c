"""Passes what we log on to the bus, where `symposium bus tail` shows it (bus-mcp §2.1)."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from symposium.bus.messages.broker import Log

Level: TypeAlias = Literal["error", "warn", "info", "debug"]

LONGEST: Final = 4000
"""Characters of one message."""

_OWN: Final = "symposium.bus"
"""The bus itself logs under this; passing that on would never end."""


@contextmanager
def logged_to(announce: Callable[[Log], None], *, level: int = logging.INFO) -> Generator[None]:
    """Pass on what is logged meanwhile, from a level on; the bus hides secrets as it records."""
    passing = _Passing(announce, level)
    root = logging.getLogger()
    root.addHandler(passing)
    try:
        yield
    finally:
        root.removeHandler(passing)


class _Passing(logging.Handler):
    def __init__(self, announce: Callable[[Log], None], level: int) -> None:
        super().__init__(level)
        self._announce = announce

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        if not record.name.startswith(_OWN):
            text = f"{record.name}: {record.getMessage()}"[:LONGEST]
            self._announce(Log(level=_level(record.levelno), message=text))


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    return "info" if number >= logging.INFO else "debug"
