"""Reaches the daemon of this user, and nobody else's; starts it if there is none."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from peerwire.transports.fd import FdTransport
from peerwire.transports.unix import peer_uid
from symposium.bus.envelope import MAX_LINE
from symposium.bus.errors import BusUnreachableError
from symposium.bus.place import MeetingPlace, PlaceError, check_directory, meeting_place
from symposium.bus.starting import DaemonOptions, start_daemon

Dial: TypeAlias = Callable[[DaemonOptions], Awaitable[FdTransport]]

ATTEMPTS: Final = 3
"""Starts of a daemon before we give up: one may end, being idle, just as we come."""


async def dial(options: DaemonOptions) -> FdTransport:
    """Connect to the daemon, and start it first where nobody listens.

    Raises:
        BusUnreachableError: it does not start, or too many wait for it.
        PlaceError: the directory is not safe, or somebody else listens there.
    """
    place = meeting_place(options.socket)
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
    place = meeting_place(options.socket)
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
        is_stopped = was_there and meeting_place(options.socket).stopped.exists()
        transport = await (dial_running if is_stopped else dial)(options)
        was_there = True
        return transport

    return dial_again


def reach(place: MeetingPlace) -> FdTransport:
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


def check_peer(sock: socket.socket, place: MeetingPlace) -> None:
    """Refuse a daemon that runs as another user (users §7.4, E-3).

    Raises:
        PlaceError: it does.
    """
    uid = peer_uid(sock)
    if uid != os.getuid():
        text = f"whoever listens at {place.socket} is user {uid}, not you"
        raise PlaceError(text, "nothing was said to it; set $SYMPOSIUM_SOCKET to another place")
