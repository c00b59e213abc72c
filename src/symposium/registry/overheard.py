"""Starts a program in a group of its own and listens to it, until it has said enough."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST: Final = 16 * 1024 * 1024
"""Bytes that are listened to; whoever says more is cut short."""

BURY_TIME: Final = 2.0
"""Seconds that a killed program is waited for."""


@dataclass(frozen=True, slots=True)
class Talker:
    """A program to listen to; it has no input. `stderr` is as `subprocess` has it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None = None
    stderr: int = asyncio.subprocess.DEVNULL


@dataclass(frozen=True, slots=True)
class Heard:
    """What it said; the code is None if it was cut short."""

    said: bytes
    code: int | None


class _Listening(asyncio.SubprocessProtocol):
    def __init__(self, is_enough: Callable[[bytes], bool]) -> None:
        self._is_enough = is_enough
        self.said = b""
        self.done = asyncio.Event()
        self.gone = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd
        self.said += data
        if len(self.said) > MOST or self._is_enough(self.said):
            self.done.set()

    def process_exited(self) -> None:
        self.gone.set()

    def connection_lost(self, exc: Exception | None) -> None:
        # It has exited, and all that it said has been heard.
        del exc
        self.done.set()


async def overhear(
    talker: Talker, *, seconds: float, is_enough: Callable[[bytes], bool] = lambda _: False
) -> Heard:
    """Listen to its end or until it is enough; then nothing of its group is left running.

    Raises:
        TimeoutError: it went on for longer.
        OSError: it could not be started.
    """
    transport, listening = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Listening(is_enough),
        *talker.argv,
        cwd=talker.cwd,
        env=dict(talker.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=talker.stderr,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            await listening.done.wait()
        code = transport.get_returncode()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signal.SIGKILL)
        try:
            with suppress(TimeoutError):  # only one stuck in the kernel needs any time
                async with asyncio.timeout(BURY_TIME):
                    await listening.gone.wait()
        finally:
            # Only now: it asks for the exit code itself, and who waits for it would miss it.
            transport.close()
    return Heard(listening.said, code)
