"""Conversations with a session server: recorded at its socket, and replayed to a client."""

import json
import os
import socket
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

Line: TypeAlias = tuple[str, Any]
"""The author, `client` or `server`, and the message."""


@dataclass(slots=True)
class Recording:
    """Messages of each connection, in the order in which they passed."""

    talks: list[list[Line]] = field(default_factory=list[list[Line]])


@contextmanager
def recorded(path: Path) -> Generator[Recording]:
    """Put a relay in place of a server's socket, and record every message."""
    behind = path.with_suffix(".behind")
    path.rename(behind)
    found = Recording()
    listener = _listen(path)

    def relay() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(behind))
                talk: list[Line] = []
                found.talks.append(talk)
                for name, near, far in (("client", client, server), ("server", server, client)):
                    _run(_pass_lines, name, near, far, talk)

    _run(relay)
    try:
        yield found
    finally:
        listener.close()


def _pass_lines(name: str, near: socket.socket, far: socket.socket, talk: list[Line]) -> None:
    with suppress(OSError), near.makefile("rb") as lines:
        for line in lines:
            talk.append((name, json.loads(line)))
            far.sendall(line)
    with suppress(OSError):
        far.shutdown(socket.SHUT_WR)


@dataclass(slots=True)
class Played:
    """Old session server that replays a recording.

    Attributes:
        surprises: requests that no talk of the recording has.
    """

    talks: Sequence[Sequence[Line]]
    surprises: list[Any] = field(default_factory=list[Any])
    _used: set[int] = field(default_factory=set[int])

    def serve(self, client: socket.socket) -> None:
        """Answer one connection with the talk that begins with the same request."""
        talk: Sequence[Line] = ()
        at = 0
        with client, suppress(OSError), client.makefile("rb") as lines:
            for line in lines:
                asked = json.loads(line)
                if not at:
                    talk = self._talk(asked)
                at = self._answer(client, asked, talk, at)
                if talk and at == len(talk) and talk[-1][1].get("method") == "session/ended":
                    return

    def _talk(self, asked: Any) -> Sequence[Line]:
        for number, talk in enumerate(self.talks):
            if number not in self._used and _same(talk[0][1], asked):
                self._used.add(number)
                return talk
        return ()

    def _answer(self, client: socket.socket, asked: Any, talk: Sequence[Line], at: int) -> int:
        if at >= len(talk) or not _same(talk[at][1], asked):
            self.surprises.append(asked)
            client.shutdown(socket.SHUT_RDWR)
            return at
        at += 1
        while at < len(talk) and talk[at][0] == "server":
            client.sendall(json.dumps(talk[at][1]).encode() + b"\n")
            at += 1
        return at


def _same(old: Any, new: Any) -> bool:
    return (old["method"], old.get("params"), old.get("id")) == (
        new["method"],
        new.get("params"),
        new.get("id"),
    )


@contextmanager
def played(path: Path, lock: Path, talks: Sequence[Sequence[Line]]) -> Generator[Played]:
    """Hold the lock of a session and replay its server at this socket."""
    handle = os.open(lock, os.O_RDWR)
    flock(handle, LOCK_EX)
    path.unlink(missing_ok=True)
    listener = _listen(path)
    server = Played(talks)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                _run(server.serve, client)

    _run(accept)
    try:
        yield server
    finally:
        listener.close()
        os.close(handle)


class OldClient:
    """Writes the lines that a client of the old version wrote."""

    def __init__(self, path: Path, timeout: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("rb")
        self.notified: list[Any] = []

    def write(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def answer(self, request_id: Any) -> Any:
        """Read until the response to a request; store notifications before it."""
        while True:
            message = self.read()
            if message.get("id") == request_id and "method" not in message:
                return message

    def read(self) -> Any:
        """Read one message; None at the end."""
        line = self._lines.readline()
        message = json.loads(line) if line else None
        if message is not None and "method" in message:
            self.notified.append(message)
        return message

    def close(self) -> None:
        """Disconnect."""
        self._lines.close()
        self._socket.close()


def shape(value: Any, place: str = "") -> set[str]:
    """Return the members of a message, by path, with the type of each."""
    if isinstance(value, dict):
        found = {f"{place}: object"}
        for name, each in cast("dict[str, Any]", value).items():
            found |= shape(each, f"{place}.{name}")
        return found
    if isinstance(value, list):
        return {f"{place}: array"}.union(
            *(shape(each, f"{place}[]") for each in cast("list[Any]", value))
        )
    return {f"{place}: {any_kind(value) or kind_of(value)}"}


def any_value(value: Any) -> str:
    """Return the placeholder for a value that differs from run to run."""
    return f"@any {kind_of(value)}@"


def any_kind(value: Any) -> str:
    """Return the type of the values that a placeholder matches; empty for other texts."""
    is_any = isinstance(value, str) and value.startswith("@any ")
    return value[len("@any ") : -1] if is_any else ""


def kind_of(value: Any) -> str:
    """Return the type of a scalar as JSON names it."""
    return _KINDS[type(value)]


_KINDS: Final = {
    dict: "object",
    list: "array",
    float: "number",
    int: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
}


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()
    return listener


def _run(work: Any, *words: Any) -> None:
    threading.Thread(target=work, args=words, daemon=True).start()
