"""Where log records go: stderr, and a file where a directory was given."""

import logging
import os
import time
from typing import Final

FORM: Final = "symposium %(levelname)s %(name)s: %(message)s"
FILE_FORM: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


_log = logging.getLogger(__name__)


def set_up_logs(level: str, directory: str | None = None) -> None:
    """Log to stderr from this level on, and everything to a new file in the directory."""
    root = logging.getLogger()
    stderr = logging.StreamHandler()
    stderr.setLevel(level.upper())
    stderr.setFormatter(logging.Formatter(FORM))
    root.addHandler(stderr)
    root.setLevel(level.upper())
    if directory is not None:
        file = logging.FileHandler(_new_file(directory), encoding="utf-8")
        file.setFormatter(logging.Formatter(FILE_FORM))
        root.addHandler(file)
        root.setLevel(logging.DEBUG)


def hush() -> None:
    """Log nothing: for a command that says itself what is wrong."""
    logging.getLogger().addHandler(logging.NullHandler())


def log_stderr(component: str, line: bytes) -> None:
    """Log a line that a component has written to its stderr."""
    _log.info("%s! %s", component, line.decode(errors="replace"))


def _new_file(directory: str) -> str:
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - pathlib takes milliseconds to import
    # Two starts in one second must not share a file.
    return f"{directory}/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
