"""The status socket of a host, and the hosts that run.

The socket is in the user's private runtime directory. A client gets one line of JSON.
"""

import asyncio
import json
import logging
import os
import socket
import stat
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from localio.files import make_private_directory
from peerwire.jsonrpc.transport import OversizedLine
from symposium.config.paths import paths

HOST_TIMEOUT: Final = 1.0
"""Time limit for the answer of a host, in seconds."""

_MAX_BYTES: Final = 16 * 1024 * 1024


def hosts_folder() -> Path:
    """Return the directory with the socket of each host."""
    return paths().runtime / "hosts"


def running_hosts() -> Sequence[Mapping[str, Any]]:
    """Collect the report of every host, the oldest first; only the pid of a silent host."""
    folder = hosts_folder()
    if not _is_ours(folder):
        return []
    found = [_ask(path) for path in sorted(folder.glob("*.sock"), key=_number)]
    return [each for each in found if each is not None]


def _is_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _ask(path: Path) -> Mapping[str, Any] | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(HOST_TIMEOUT)
        try:
            sock.connect(str(path))
            parts: list[bytes] = []
            while (part := sock.recv(65536)) and sum(map(len, parts)) < _MAX_BYTES:
                parts.append(part)
            value: Any = json.loads(b"".join(parts))
        except (ConnectionRefusedError, FileNotFoundError):
            # No process listens on the socket, even if its pid was reused.
            with suppress(OSError):
                path.unlink()
            return None
        except (OSError, ValueError):
            return {"pid": _number(path), "kind": "silent", "chains": []}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0


PARENT: Final = "SYMPOSIUM_HOST"
"""Variable that tells a host that another host has started it."""

_BEGIN_AFTER: Final = 0.2
"""Delay after the start in seconds, so that the socket does not slow it down."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def serve_status(kind: str, report: Callable[[], Mapping[str, Any]]) -> AsyncGenerator[None]:
    """Serve the report while the block runs.

    Args:
        kind: the running command.
        report: makes the report.
    """
    parent = os.environ.get(PARENT)
    os.environ[PARENT] = str(os.getpid())
    about = {
        "pid": os.getpid(),
        "parent": int(parent) if parent and parent.isdecimal() else None,
        "kind": kind,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    listening: list[Callable[[], None]] = []

    async with asyncio.TaskGroup() as tasks:

        def begin() -> None:
            try:
                listening.append(_listen(lambda: {**about, **report()}, tasks))
            except OSError as error:
                _log.debug("cannot serve the status of this host: %s", error)

        timer = asyncio.get_running_loop().call_later(_BEGIN_AFTER, begin)
        try:
            yield
        finally:
            timer.cancel()
            for close in listening:
                close()


class _Deaf:
    """Receiver that ignores everything a client sends."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Ignore the lines."""

    def writing_paused(self) -> None:
        """Do nothing: the report is one line."""

    def writing_resumed(self) -> None:
        """Do nothing: the report is one line."""

    def ended(self, error: Exception | None) -> None:
        """Do nothing: the report was sent."""


def _listen(
    report: Callable[[], Mapping[str, Any]], tasks: asyncio.TaskGroup
) -> Callable[[], None]:
    from peerwire.transports.fd import FdTransport
    from peerwire.transports.unix import serve_unix

    folder = hosts_folder()
    make_private(folder)
    path = folder / f"{os.getpid()}.sock"
    path.unlink(missing_ok=True)

    def answer(transport: FdTransport, uid: int) -> None:
        transport.start(_Deaf())
        if uid == os.getuid():
            transport.send(json.dumps(report()).encode())
        tasks.create_task(transport.aclose())

    return serve_unix(path, answer).close


def make_private(folder: Path) -> None:
    """Make a private directory of this user, or check that it is one.

    Raises:
        PermissionError: it belongs to another user, is a link, or is open to others.
    """
    make_private_directory(folder)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} is not a private directory of this user")
