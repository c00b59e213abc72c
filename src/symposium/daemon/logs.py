"""What the daemon writes down: one JSON object a line, in a file that does not grow for ever."""

import json
import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from localio.redaction import Redactor, secret_values

MOST_BYTES: Final = 2 * 1024 * 1024
"""Bytes of the file before it is put aside."""

KEPT: Final = 3
"""Files that are kept beside it."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON, without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, process; the trace where there is one."""
        entry: dict[str, object] = {
            "ts": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redactor.text(record.getMessage()),
            "pid": record.process,
        }
        if record.exc_info:
            entry["trace"] = self._redactor.text(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)


class PrivateFile(RotatingFileHandler):
    """A file that nobody else may read, also when a new one is begun."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding=self.encoding, errors="replace")


def log_to(path: Path, level: str) -> None:
    """Write what is logged from now on into this file, which only its owner may read.

    Raises:
        OSError: it cannot be written.
    """
    root = logging.getLogger()
    root.addHandler(log_file(path))
    root.setLevel(level.upper())


def log_file(path: Path, *, most_bytes: int = MOST_BYTES) -> logging.Handler:
    """The file, opened; put aside when it has so many bytes.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = PrivateFile(path, maxBytes=most_bytes, backupCount=KEPT, encoding="utf-8")
    file.setFormatter(JsonLines(Redactor(secret_values(os.environ))))
    return file
