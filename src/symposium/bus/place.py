"""Where the daemon of this user is met: the directory, made and checked, and the files in it.

A directory that another user could write to, or a link that could lead anywhere, is refused: who
can put a socket there can play the daemon (users §7.4, E-3; architecture D9).
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.files import make_private_directory
from symposium.bus.errors import BusError
from symposium.config.paths import paths

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class PlaceError(BusError):
    """The directory of the socket is not safe."""


@dataclass(frozen=True, slots=True)
class MeetingPlace:
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


def meeting_place(
    socket: Path | None = None, environment: Mapping[str, str] | None = None
) -> MeetingPlace:
    """Where this environment's daemon is: `--socket`, `$SYMPOSIUM_SOCKET`, or the usual place."""
    env = os.environ if environment is None else environment
    found = paths(env)
    named = socket or (Path(env["SYMPOSIUM_SOCKET"]) if env.get("SYMPOSIUM_SOCKET") else None)
    log = found.home / "log" / "daemon.log"
    if named is None:
        return MeetingPlace(found.runtime / "bus.sock", log)
    where = named.absolute()
    return MeetingPlace(where, log.with_name(f"daemon-{where.name}.log"))


def make_directory(place: MeetingPlace) -> None:
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


def check_directory(place: MeetingPlace) -> None:
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
