"""Reach the daemon of this user: its address, a connection, and its start.

A directory that another user could write to, or a link that could lead anywhere, is refused: who
can put a socket there can play the daemon (users §7.4, E-3; architecture D9).
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

from localio.files import make_private_directory, write_whole
from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import peer_uid
from symposium.bus.envelope import MAX_LINE
from symposium.bus.errors import BusError, BusUnreachableError
from symposium.config.paths import paths

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PlaceError(BusError):
    """The directory of the socket is not safe."""


@dataclass(frozen=True, slots=True)
class DaemonAddress:
    """The files by which a daemon and its clients find each other.

    Attributes:
        socket: where the daemon listens.
        log: what it writes down.
    """

    socket: Path
    log: Path

    @property
    def directory(self) -> Path:
        """Where the socket stands."""
        return self.socket.parent

    @property
    def start_lock(self) -> Path:
        """Held while a daemon starts, or stops: one at a time."""
        return self.socket.with_name(self.socket.name + ".start")

    @property
    def life_lock(self) -> Path:
        """Held by the daemon as long as it lives; says which process that is."""
        return self.socket.with_name(self.socket.name + ".lock")

    @property
    def stopped(self) -> Path:
        """Here from when a person stops the daemon until somebody wants one again."""
        return self.socket.with_name(self.socket.name + ".stopped")

    @property
    def options(self) -> Path:
        """How the last daemon was started, for whoever starts the next unasked."""
        return self.socket.with_name(self.socket.name + ".options")


def daemon_address(
    socket: Path | None = None, environment: Mapping[str, str] | None = None
) -> DaemonAddress:
    """Where this environment's daemon is: `--socket`, `$SYMPOSIUM_SOCKET`, or the usual place."""
    env = os.environ if environment is None else environment
    found = paths(env)
    named = socket or (Path(env["SYMPOSIUM_SOCKET"]) if env.get("SYMPOSIUM_SOCKET") else None)
    log = found.home / "log" / "daemon.log"
    if named is None:
        return DaemonAddress(found.runtime / "bus.sock", log)
    where = named.absolute()
    return DaemonAddress(where, log.with_name(f"daemon-{where.name}.log"))


def make_directory(place: DaemonAddress) -> None:
    """Make the socket's directory, for this user alone, or check the one that is there.

    Raises:
        PlaceError: it is a link, another user's, or open to others.
    """
    directory = place.directory
    try:
        make_private_directory(directory)
    except OSError as error:
        text = f"the directory of the socket cannot be made: {directory}: {error.strerror}"
        raise PlaceError(text, "name another place in $SYMPOSIUM_SOCKET") from error
    check_directory(place)


def check_directory(place: DaemonAddress) -> None:
    """Refuse a directory in which somebody else could put a socket.

    Raises:
        PlaceError: it is a link, another user's, or open to others.
        FileNotFoundError: there is none.
    """
    directory = place.directory
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "no directory"
        raise PlaceError(f"{directory} is {what}", "remove it, or set $SYMPOSIUM_SOCKET")
    if found.st_uid != os.getuid():
        hint = "somebody may want to listen in; set $SYMPOSIUM_SOCKET to a place of your own"
        raise PlaceError(f"{directory} belongs to user {found.st_uid}, not to you", hint)
    if found.st_mode & _OTHERS:
        hint = f"chmod 700 {directory}"
        raise PlaceError(f"{directory} is open to other users", hint)


IDLE_TIMEOUT: Final = 30.0
"""Seconds without anybody connected after which the daemon ends (bus §1.1)."""

START_TIME: Final = 20.0
"""Seconds a daemon may take to listen; a busy machine needs several for the interpreter alone."""

_FAREWELL: Final = 2.0
_PLACES: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG", "SYMPOSIUM_SOCKET")


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What a daemon can be told; whoever starts one passes all of it (bus §7, row 9).

    Attributes:
        socket: where it listens; None for the usual place.
        compat_socket: where peers of version 1 may come; None for nowhere.
        idle_timeout: seconds without a client after which it ends; 0 for never.
        history: messages that are remembered; 0 for none.
        log_level: how much it writes down.
    """

    socket: Path | None = None
    compat_socket: Path | None = None
    idle_timeout: float = IDLE_TIMEOUT
    history: int = 1024
    log_level: str = "info"

    def words(self) -> Sequence[str]:
        """The same as options of `symposium daemon start`."""
        words = ["--idle-timeout", str(self.idle_timeout), "--history", str(self.history)]
        words += ["--log", self.log_level]
        if self.socket is not None:
            words += ["--socket", str(self.socket.absolute())]
        if self.compat_socket is not None:
            words += ["--compat-socket", str(self.compat_socket.absolute())]
        return words


async def start_daemon(options: DaemonOptions) -> None:
    """Start a daemon, and return when one listens: that one, or another that was quicker.

    Raises:
        BusUnreachableError: it says that it cannot, or says nothing in time.
    """
    # Not from where we are, nor there: what lies in a workspace is not to be imported.
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
        # What it has started may hold its stderr for as long as it likes.
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await process.communicate()
        text = f"the daemon did not listen within {START_TIME:g} s"
        raise BusUnreachableError(text, "symposium daemon start --foreground says more") from error
    if process.returncode:
        words = said.decode(errors="replace").strip().removeprefix("symposium: ")
        text = f"the daemon did not start: {words}"
        raise BusUnreachableError(text, "symposium daemon start --foreground says more")


def remember(place: DaemonAddress, options: DaemonOptions) -> None:
    """Keep how a daemon was started: after a crash the next one is to be like it.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(place.options, json.dumps(options.words()))


def _words(options: DaemonOptions) -> Sequence[str]:
    """What it is asked for; else what the last one was, that nobody has stopped."""
    if options != DaemonOptions(socket=options.socket):
        return options.words()
    try:
        words: object = json.loads(daemon_address(options.socket).options.read_bytes())
    except (OSError, ValueError):
        return options.words()
    kept = cast("list[object]", words) if isinstance(words, list) else []
    return [each for each in kept if isinstance(each, str)] or options.words()


def _from_anywhere(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The same, with our places as they are named from where we are."""
    named = {name: environment[name] for name in _PLACES if environment.get(name)}
    settled = {name: str(Path(place).expanduser().absolute()) for name, place in named.items()}
    return {**environment, **settled}


Dial: TypeAlias = Callable[[DaemonOptions], Awaitable[FdTransport]]

ATTEMPTS: Final = 3
"""Starts of a daemon before we give up: one may end, being idle, just as we come."""


async def dial(options: DaemonOptions) -> FdTransport:
    """Connect to the daemon, and start it first where nobody listens.

    Raises:
        BusUnreachableError: it does not start, or too many wait for it.
        PlaceError: the directory is not safe, or somebody else listens there.
    """
    place = daemon_address(options.socket)
    for _ in range(ATTEMPTS):
        try:
            return reach(place)
        except (FileNotFoundError, ConnectionRefusedError):
            await start_daemon(options)
        except BlockingIOError:
            # Too many wait to be taken; it takes them in turn.
            await asyncio.sleep(0.05)
    text = f"the daemon at {place.socket} ends as soon as it is started"
    raise BusUnreachableError(text, f"look into {place.log}")


async def dial_running(options: DaemonOptions) -> FdTransport:
    """Connect to the daemon if there is one.

    Raises:
        BusUnreachableError: there is none.
        PlaceError: the directory is not safe, or somebody else listens there.
    """
    place = daemon_address(options.socket)
    try:
        return reach(place)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        text = f"no daemon listens at {place.socket}"
        raise BusUnreachableError(text, "symposium daemon start") from error


def returning() -> Dial:
    """A new `dial` for who comes back: later on, a daemon that a person has stopped stays stopped.

    One that has died is started again.
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
    """Connect to whoever listens, if that is a process of this user.

    Raises:
        OSError: nobody listens, or too many wait there.
        PlaceError: the directory is not safe, or somebody else listens there.
    """
    check_directory(place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(0)
        sock.connect(os.fspath(place.socket))
        check_peer(sock, place)
        return FdTransport((fd := sock.detach()), fd, limit=MAX_LINE)


def check_peer(sock: socket.socket, place: DaemonAddress) -> None:
    """Refuse a daemon that runs as another user (users §7.4, E-3).

    Raises:
        PlaceError: it does.
    """
    uid = peer_uid(sock)
    if uid != os.getuid():
        text = f"whoever listens at {place.socket} is user {uid}, not you"
        raise PlaceError(text, "nothing was said to it; set $SYMPOSIUM_SOCKET to another place")
