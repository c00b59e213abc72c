"""Start and protocol of each bus: Symposium, a NATS server, and Redis pub/sub."""

import json
import shutil
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

SIZE: Final = 1024
"""Bytes of a published message."""

STAMP: Final = 20
"""Digits of the timestamp in nanoseconds in each message."""

Make: TypeAlias = Callable[[int], bytes]
"""Makes the bytes that publish one message with a timestamp."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Messages of one kind.

    Attributes:
        make: makes the bytes to publish a message.
        length: bytes at each receiver.
        offset: position of the timestamp in them.
    """

    make: Make
    length: int
    offset: int


class Speaker(Protocol):
    """One bus."""

    @property
    def name(self) -> str:
        """Name in the tables."""
        ...

    @property
    def program(self) -> str:
        """The required program."""
        ...

    def command(self, folder: Path, port: int) -> Sequence[str]:
        """Command line of the server."""
        ...

    def connect(self, folder: Path, port: int, number: int) -> socket.socket:
        """Connect one more client; number 0 publishes and receives nothing."""
        ...

    def to_all(self) -> Frame:
        """Messages for every client but the publisher."""
        ...

    def to_one(self, number: int) -> Frame:
        """Messages for one client."""
        ...


class Symposium:
    """The daemon of Symposium: announcements to subscribers or to a named connection."""

    name = "symposium"
    program = sys.executable

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def command(self, folder: Path, port: int) -> Sequence[str]:
        """Command line of the server."""
        del port
        words = ["daemon", "start", "--foreground", "--socket", str(folder / "run" / "s")]
        return [sys.executable, "-m", "symposium", *words]

    def connect(self, folder: Path, port: int, number: int) -> socket.socket:
        """Send hello and store the name in the welcome."""
        del port
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(folder / "run" / "s"))
        subscriptions = ["polo"] if number else []
        hello: dict[str, object] = {
            "protocol": 2,
            "role": "cli",
            "name": f"bench{number}",
            "subscribes": subscriptions,
        }
        sock.sendall(_line("hello", f"h{number}", hello))
        welcome = json.loads(_until(sock, b"\n"))
        self._names[number] = welcome["payload"]["data"]["connection"]
        return sock

    def to_all(self) -> Frame:
        """Messages without a recipient, for every subscriber."""
        return self._frame({})

    def to_one(self, number: int) -> Frame:
        """Messages for one named connection."""
        return self._frame({"to": {"connection": self._names[number]}})

    def _frame(self, more: dict[str, object]) -> Frame:
        mark = "N" * STAMP
        bare = _line("polo", mark, {"pad": ""}, more)
        line = _line("polo", mark, {"pad": "x" * (SIZE - len(bare))}, more)
        before, _, after = line.partition(mark.encode())
        added = len(f'"from":"{self._names[0]}",')
        return Frame(_filled(before, after), len(line) + added, len(before) + added)


class Nats:
    """A NATS server over TCP: one subject for all, and one for each client."""

    name = "nats"
    program = "nats-server"

    def command(self, folder: Path, port: int) -> Sequence[str]:
        """Command line of the server."""
        return [self.program, "-a", "127.0.0.1", "-p", str(port), "-l", str(folder / "log")]

    def connect(self, folder: Path, port: int, number: int) -> socket.socket:
        """Subscribe to both subjects and wait for the confirmation."""
        del folder
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _until(sock, b"\r\n")
        subscriptions = b"SUB all 1\r\nSUB c%d 2\r\n" % number if number else b""
        sock.sendall(
            b'CONNECT {"verbose":false,"pedantic":false}\r\n' + subscriptions + b"PING\r\n"
        )
        _until(sock, b"PONG\r\n")
        return sock

    def to_all(self) -> Frame:
        """Messages to the subject of all clients."""
        return self._frame(b"all", 1)

    def to_one(self, number: int) -> Frame:
        """Messages to the subject of one client."""
        return self._frame(b"c%d" % number, 2)

    def _frame(self, subject: bytes, subscription: int) -> Frame:
        body = b"x" * (SIZE - STAMP) + b"\r\n"
        head = b"MSG %b %d %d\r\n" % (subject, subscription, SIZE)
        make = _filled(b"PUB %b %d\r\n" % (subject, SIZE), body)
        return Frame(make, len(head) + STAMP + len(body), len(head))


class Redis:
    """Redis pub/sub over a Unix socket: one channel for all, and one for each client."""

    name = "redis"
    program = "redis-server"

    def command(self, folder: Path, port: int) -> Sequence[str]:
        """Command line of the server; slow readers are not disconnected."""
        del port
        words = ["--port", "0", "--unixsocket", str(folder / "s"), "--save", ""]
        words += ["--appendonly", "no", "--loglevel", "warning", "--dir", str(folder)]
        return [self.program, *words, "--client-output-buffer-limit", "pubsub 0 0 0"]

    def connect(self, folder: Path, port: int, number: int) -> socket.socket:
        """Subscribe to both channels; a subscriber cannot publish."""
        del port
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(folder / "s"))
        if number:
            own = b"c%d" % number
            sock.sendall(b"*3\r\n$9\r\nSUBSCRIBE\r\n$3\r\nall\r\n$%d\r\n%b\r\n" % (len(own), own))
            _until(sock, b":2\r\n")
        return sock

    def to_all(self) -> Frame:
        """Messages to the channel of all clients."""
        return self._frame(b"all")

    def to_one(self, number: int) -> Frame:
        """Messages to the channel of one client."""
        return self._frame(b"c%d" % number)

    def _frame(self, channel: bytes) -> Frame:
        body = b"x" * (SIZE - STAMP) + b"\r\n"
        named = b"$%d\r\n%b\r\n$%d\r\n" % (len(channel), channel, SIZE)
        head = b"*3\r\n$7\r\nmessage\r\n" + named
        make = _filled(b"*3\r\n$7\r\nPUBLISH\r\n" + named, body)
        return Frame(make, len(head) + STAMP + len(body), len(head))


def speakers() -> tuple[list[Speaker], dict[str, str]]:
    """Buses on this machine, and the reasons why others are not measured."""
    known: list[Speaker] = [Symposium(), Nats(), Redis()]
    here = [each for each in known if shutil.which(each.program)]
    absent = {each.name: f"{each.program} is not installed" for each in known if each not in here}
    return here, absent


def _line(
    type_: str, name: str, payload: dict[str, object], more: dict[str, object] | None = None
) -> bytes:
    sender = {"workingDirectory": "/work"}
    message = {"type": type_, "id": name, **(more or {}), "sender": sender, "payload": payload}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _filled(before: bytes, after: bytes) -> Make:
    def make(now: int) -> bytes:
        return b"%b%020d%b" % (before, now, after)

    return make


def _until(sock: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        part = sock.recv(4096)
        if not part:
            raise ConnectionError("the bus closed the connection")
        data += part
    return data
