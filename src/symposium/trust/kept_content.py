"""Copies of what was judged, by digest: what a change is later compared with."""

import hashlib
import os
import re
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class KeptContent:
    """A private directory with one file for each digest; losing it loses diffs, and no decision."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, digest: str) -> bytes | None:
        """The content; None if it is not kept."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            content = (self._directory / digest).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def put(self, digest: str, content: bytes) -> None:
        """Keep it.

        Raises:
            OSError: it cannot be written.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._directory / f".{digest}.{os.getpid()}"
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        beside.replace(self._directory / digest)

    def keep_only(self, digests: AbstractSet[str]) -> None:
        """Take away what no decision speaks of any more."""
        if not self._directory.is_dir():
            return
        for each in self._directory.iterdir():
            if each.name not in digests:
                each.unlink(missing_ok=True)
