"""Where log records go: to stderr, which is for talk."""

import logging
from typing import Final

FORM: Final = "symposium %(levelname)s %(name)s: %(message)s"


_log = logging.getLogger(__name__)


def set_up_logs(level: str) -> None:
    """Log to stderr, from this level on."""
    root = logging.getLogger()
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    root.addHandler(stderr)
    root.setLevel(level.upper())


def hush() -> None:
    """Log nothing: for a command that says itself what is wrong."""
    logging.getLogger().addHandler(logging.NullHandler())


def log_stderr(component: str, line: bytes) -> None:
    """Log a line that a component has written to its stderr."""
    _log.info("%s! %s", component, line.decode(errors="replace"))
