"""Has each permission that a chain's agent asks for taken down, with who decided."""

import asyncio
import atexit
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final

from symposium.chain.blueprint import InProcess
from symposium.conductor.witness import WITNESS, Chooser, Entry, TakeDown, Witness, the_user
from symposium.config.paths import paths

SOON: Final = 0.02
"""Seconds until a decision is on the disk: what a power failure, or a kill, may cost."""

_log = logging.getLogger(__name__)


def witnessed(
    agent: str, secrets: Sequence[str], chooser: Chooser = the_user
) -> Callable[[], Sequence[InProcess]]:
    """Makes the mod that sees the questions of an agent.

    Args:
        agent: the name of the agent; empty for a chain without one.
        secrets: values that must not be written.
        chooser: tells who chose an answer.
    """
    take_down = _taking_down(secrets)
    return lambda: [InProcess(WITNESS, Witness(agent, take_down, chooser), is_hidden=True)]


def _taking_down(secrets: Sequence[str]) -> TakeDown:
    return _Record(secrets).take_down


class _Record:
    """Writes what was decided soon after, many at a time: an answer does not wait for a disk.

    Args:
        secrets: what must not be written.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._waiting: list[Callable[[], Entry]] = []
        self._write: Callable[[Sequence[Entry]], None] | None = None
        atexit.register(self.flush)

    def take_down(self, entry: Callable[[], Entry]) -> None:
        """Take an entry; it is written within `SOON`, or when this process ends."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(SOON, self.flush)
        self._waiting.append(entry)

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        write = self._write = self._write or self._open()
        try:
            write([{"host": os.getpid(), **made()} for made in waiting])
        except OSError as error:
            _log.warning("a permission is not on record: %s", error)

    def _open(self) -> Callable[[Sequence[Entry]], None]:
        from localio.redaction import Redactor, secret_values  # noqa: PLC0415 - the same
        from symposium.audit.audit_log import AuditLog  # noqa: PLC0415 - see IMPORTS_LATE

        redactor = Redactor((*self._secrets, *secret_values(os.environ)))
        log = AuditLog(paths().audit, redactor)
        return lambda entries: log.write(*entries)
