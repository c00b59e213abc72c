"""Copy lines between stdin and stdout and the bus, until one side ends."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from peerwire.jsonrpc.transport import Overlong, Transport
from peerwire.transports.fd import stdio_transport
from peerwire.transports.unix import connect_unix
from symposium.bus.connect import DaemonOptions, dial
from symposium.bus.envelope import MAX_LINE
from symposium.bus.errors import BusUnreachableError
from symposium.cli.ending import ExitCode


async def run_bridge(socket: Path | None, compat: Path | None, prefix: str) -> int:
    """Copy lines until one side ends; the exit code says which (bus §1.6; §7, row 7).

    Raises:
        BusError: the daemon cannot be reached.
    """
    bus = await _reach(DaemonOptions(socket=socket, compat_socket=compat))
    front = stdio_transport(limit=MAX_LINE)
    over: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()
    if compat is not None:
        bus.send(f"#identify:{prefix}(pid:{os.getpid()},cwd:{_short(Path.cwd())})".encode())
    bus.start(_Carrier(front, over, ExitCode.RUNTIME))
    front.start(_Carrier(bus, over, ExitCode.OK))
    try:
        return await over
    finally:
        for each in (front, bus):
            await each.aclose(grace=1.0)


async def _reach(options: DaemonOptions) -> Transport:
    bus = await dial(options)
    if options.compat_socket is None:
        return bus
    bus.close()
    try:
        return connect_unix(options.compat_socket, limit=MAX_LINE)
    except OSError as error:
        text = f"the daemon does not listen at {options.compat_socket}: {error.strerror}"
        hint = f"symposium daemon stop; symposium daemon start {' '.join(options.words())}"
        raise BusUnreachableError(text, hint) from error


class _Carrier:
    """Copy lines from one side to the other, no faster than the other reads."""

    def __init__(self, other: Transport, over: asyncio.Future[ExitCode], code: ExitCode) -> None:
        self._other = other
        self._over = over
        self._code = code

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        for line in lines:
            if not isinstance(line, Overlong):
                self._other.send(line)

    def writing_paused(self) -> None:
        self._other.pause_reading()

    def writing_resumed(self) -> None:
        self._other.resume_reading()

    def ended(self, error: Exception | None) -> None:
        if not self._over.done():
            is_reader_gone = isinstance(error, BrokenPipeError) and self._code is ExitCode.OK
            self._over.set_result(ExitCode.READER_GONE if is_reader_gone else self._code)


def _short(directory: Path) -> str:
    """Shorten a directory as the reference does, to its last two parts (§1.3)."""
    parts = directory.parts[1:]
    return str(directory) if len(parts) <= 2 else f"…/{'/'.join(parts[-2:])}"  # noqa: PLR2004 - as above
