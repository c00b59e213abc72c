"""Connect to the user's daemon: address, start, and safety checks.

It rejects a socket directory that is a link or writable for other users: they could put their own
socket there and act as the daemon (users §7.4, E-3; architecture D9).
"""

import asyncio
import json
import os
import socket
import stat
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, cast

from localio.files import expand_home, make_private_directory, write_whole
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import peer_uid
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import MAX_LINE
from symposium.bus.errors import BusError, BusUnreachableError
from symposium.config.paths import paths

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PlaceError(BusError):
    """The directory of the socket is unsafe."""


@dataclass(frozen=True, slots=True)
class DaemonAddress:
    """Files shared by a daemon and its clients.

    Attributes:
        socket: listening socket of the daemon.
        log: log file of the daemon.
    """

    socket: Path
    log: Path

    @property
    def directory(self) -> Path:
        """Directory of the socket."""
        return self.socket.parent

    @property
    def start_lock(self) -> Path:
        """Lock file held while a daemon starts or stops."""
        return self.socket.with_name(self.socket.name + ".start")

    @property
    def life_lock(self) -> Path:
        """Lock file held while the daemon runs; contains its process id."""
        return self.socket.with_name(self.socket.name + ".lock")

    @property
    def stopped(self) -> Path:
        """File that exists from an explicit stop until the next explicit start."""
        return self.socket.with_name(self.socket.name + ".stopped")

    @property
    def options(self) -> Path:
        """Options of the last daemon, for an automatic restart."""
        return self.socket.with_name(self.socket.name + ".options")


def daemon_address(
    socket: Path | None = None, environment: Mapping[str, str] | None = None
) -> DaemonAddress:
    """Address of the daemon: `--socket`, `$SYMPOSIUM_SOCKET`, or the default path."""
    env = os.environ if environment is None else environment
    found = paths(env)
    named = socket or (Path(env["SYMPOSIUM_SOCKET"]) if env.get("SYMPOSIUM_SOCKET") else None)
    log = found.home / "log" / "daemon.log"
    if named is None:
        return DaemonAddress(found.runtime / "bus.sock", log)
    where = named.absolute()
    return DaemonAddress(where, log.with_name(f"daemon-{where.name}.log"))


def make_directory(place: DaemonAddress) -> None:
    """Create the socket's directory for this user only, or check the existing one.

    Raises:
        PlaceError: it is a link, belongs to another user, or is open to others.
    """
    directory = place.directory
    try:
        make_private_directory(directory)
    except OSError as error:
        text = f"could not create the directory of the socket: {directory}: {error.strerror}"
        raise PlaceError(text, "set $SYMPOSIUM_SOCKET to another path") from error
    check_directory(place)


def check_directory(place: DaemonAddress) -> None:
    """Reject a directory in which another user could put a socket.

    Raises:
        PlaceError: it is a link, belongs to another user, or is open to others.
        FileNotFoundError: it does not exist.
    """
    directory = place.directory
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "not a directory"
        raise PlaceError(f"{directory} is {what}", "remove it, or set $SYMPOSIUM_SOCKET")
    if found.st_uid != os.getuid():
        hint = "another user may be intercepting the socket; set $SYMPOSIUM_SOCKET to your own path"
        raise PlaceError(f"{directory} belongs to user {found.st_uid}, not to you", hint)
    if found.st_mode & _OTHERS:
        hint = f"chmod 700 {directory}"
        raise PlaceError(f"{directory} is open to other users", hint)


START_TIME: Final = 20.0
"""Seconds to wait for a started daemon; on a busy machine, the interpreter alone needs several."""

_STOP_TIMEOUT: Final = 2.0
_PLACES: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG", "SYMPOSIUM_SOCKET")


async def start_daemon(options: DaemonOptions) -> None:
    """Start a daemon and wait until one listens: this one, or one started at the same time.

    Raises:
        BusUnreachableError: it failed, or did not listen in time.
    """
    # Not in the current directory: modules of a workspace must not be imported.
    command = [sys.executable, "-P", "-m", "symposium", "daemon", "start", *_words(options)]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env=_from_anywhere(os.environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(START_TIME):
            _, said = await process.communicate()
    except TimeoutError as error:
        process.kill()
        # Its child processes may keep stderr open.
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_TIMEOUT):
                await process.communicate()
        text = f"the daemon did not listen within {START_TIME:g} s"
        raise BusUnreachableError(
            text, "symposium daemon start --foreground shows the reason"
        ) from error
    if process.returncode:
        words = said.decode(errors="replace").strip().removeprefix("symposium: ")
        text = f"the daemon did not start: {words}"
        raise BusUnreachableError(text, "symposium daemon start --foreground shows the reason")


def remember(place: DaemonAddress, options: DaemonOptions) -> None:
    """Save a daemon's options, for the restart after a crash.

    Raises:
        OSError: the file cannot be written.
    """
    write_whole(place.options, json.dumps(options.words()))


def _words(options: DaemonOptions) -> Sequence[str]:
    """Explicit options; otherwise those of the last daemon, unless it was stopped."""
    if options != DaemonOptions(socket=options.socket):
        return options.words()
    try:
        words: object = json.loads(daemon_address(options.socket).options.read_bytes())
    except (OSError, ValueError):
        return options.words()
    kept = cast("list[object]", words) if isinstance(words, list) else []
    return [each for each in kept if isinstance(each, str)] or options.words()


def _from_anywhere(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Environment with absolute paths, independent of the current directory."""
    named = {name: environment[name] for name in _PLACES if environment.get(name)}
    settled = {name: str(expand_home(place).absolute()) for name, place in named.items()}
    return {**environment, **settled}


Dial: TypeAlias = Callable[[DaemonOptions], Awaitable[FdTransport]]

ATTEMPTS: Final = 3
"""Starts of a daemon before an error; an idle one may exit right before the connection."""


async def dial(options: DaemonOptions) -> FdTransport:
    """Connect to the daemon; start it first if none listens.

    Raises:
        BusUnreachableError: it does not start, or its backlog is full.
        PlaceError: the directory is unsafe, or another user listens there.
    """
    place = daemon_address(options.socket)
    for _ in range(ATTEMPTS):
        try:
            return reach(place)
        except (FileNotFoundError, ConnectionRefusedError):
            await start_daemon(options)
        except BlockingIOError:
            # The backlog is full; the daemon accepts in turn.
            await asyncio.sleep(0.05)
    text = f"the daemon at {place.socket} exits right after its start"
    raise BusUnreachableError(text, f"see {place.log}")


async def dial_running(options: DaemonOptions) -> FdTransport:
    """Connect to a running daemon.

    Raises:
        BusUnreachableError: there is no daemon.
        PlaceError: the directory is unsafe, or another user listens there.
    """
    place = daemon_address(options.socket)
    try:
        return reach(place)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        text = f"no daemon listens at {place.socket}"
        raise BusUnreachableError(text, "symposium daemon start") from error


def returning() -> Dial:
    """A `dial` for a client that reconnects.

    It restarts a crashed daemon, but not one that the user stopped.
    """
    was_there = False

    async def dial_again(options: DaemonOptions) -> FdTransport:
        nonlocal was_there
        is_stopped = was_there and daemon_address(options.socket).stopped.exists()
        transport = await (dial_running if is_stopped else dial)(options)
        was_there = True
        return transport

    return dial_again


def reach(place: DaemonAddress) -> FdTransport:
    """Connect if a process of this user listens.

    Raises:
        OSError: nothing listens, or the backlog is full.
        PlaceError: the directory is unsafe, or another user listens there.
    """
    check_directory(place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(0)
        sock.connect(os.fspath(place.socket))
        check_peer(sock, place)
        return FdTransport((fd := sock.detach()), fd, limit=MAX_LINE)


def check_peer(sock: socket.socket, place: DaemonAddress) -> None:
    """Reject a daemon of another user (users §7.4, E-3).

    Raises:
        PlaceError: the process belongs to another user.
    """
    uid = peer_uid(sock)
    if uid != os.getuid():
        text = f"the process listening at {place.socket} belongs to user {uid}, not to you"
        raise PlaceError(text, "nothing was sent to it; set $SYMPOSIUM_SOCKET to another path")
