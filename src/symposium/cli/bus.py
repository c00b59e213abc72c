"""The bus: lists, a bridge to standard streams, options."""

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import click
import msgspec
from msgspec import Raw

from localio.redaction import REDACTED
from localio.text import clock_of, one_line
from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.transports.fd import stdio_transport
from peerwire.transports.unix import connect_unix
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import dial, dial_running
from symposium.bus.envelope import MAX_LINE, Envelope, EnvelopeError, Sender, read_envelope
from symposium.bus.errors import BusUnreachableError
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import Logged
from symposium.bus.protocol import Role
from symposium.cli.exit_codes import ExitCode
from symposium.errors import SymposiumError

_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class BusChoice:
    """Filter for messages; an empty field matches all.

    Attributes:
        types: message types.
        taskspace: the id of a task that a message is from or about.
        names: beginnings of the sender's name, or its connection.
    """

    types: frozenset[str] = frozenset()
    taskspace: str = ""
    names: tuple[str, ...] = ()

    def has(self, passed: Logged) -> bool:
        """Whether a message matches."""
        if self.types and _type_of(passed) not in self.types:
            return False
        if self.taskspace and self.taskspace.lower() not in passed.line.lower():
            return False
        return not self.names or any(
            passed.by == name or passed.name.startswith(name) for name in self.names
        )


def as_text_line(passed: Logged) -> str:
    """Format time, sender, type, and the beginning of the payload on one line."""
    try:
        message = read_envelope(passed.line.encode())
        payload = bytes(message.payload).decode()
        words = f"{message.type} {message.id[:8]} {payload}"
    except EnvelopeError:
        words = passed.line
    return one_line(f"{clock_of(passed.at)} {passed.name} ({passed.by}) {words}", width=_WIDTH)


def as_json_line(passed: Logged) -> str:
    """Format one JSON object: with `message` if the line is valid, else with `line`."""
    members: dict[str, Any] = {
        "at": passed.at,
        "by": passed.by,
        "name": passed.name,
        "size": passed.size,
    }
    try:
        members["message"] = json.loads(passed.line)
    except ValueError:
        members["line"] = passed.line
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def read_recorded(path: Path) -> Iterator[Logged]:
    """Read the messages of a file written by `tail --json`.

    Raises:
        ExplainedError: a line is no recorded message; names the line.
        OSError: the file cannot be read.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = cast("dict[str, Any]", json.loads(line))
            text = entry["line"] if "line" in entry else json.dumps(entry["message"])
            yield Logged(
                at=float(entry["at"]),
                by=str(entry["by"]),
                name=str(entry["name"]),
                size=int(entry["size"]),
                line=str(text),
            )
        except (ValueError, KeyError, TypeError) as error:
            text = f"{path}:{number} is not a recorded message"
            raise SymposiumError(text, "record messages with: symposium bus tail --json") from error


def replayable(recorded: Iterable[Logged]) -> Iterator[tuple[Logged, Envelope | str]]:
    """Return each message with its envelope, or with the reason not to send it again."""
    for passed in recorded:
        try:
            envelope = read_envelope(passed.line.encode())
        except EnvelopeError:
            yield passed, "it was recorded incompletely" if passed.line else "it is not a message"
            continue
        if envelope.type in {"response", "progress", "hello", "cancel_request", "log"}:
            yield passed, f"a {envelope.type} belongs to a past exchange"
        elif REDACTED in passed.line:
            yield passed, "a secret was removed from it"
        else:
            yield passed, envelope


def payload_from(text: str) -> Raw:
    """Parse a typed payload.

    Raises:
        ExplainedError: it is not a JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SymposiumError(
            f"the payload is not valid JSON: {error}", 'example: {"message":"hi"}'
        ) from error
    if not isinstance(value, dict):
        raise SymposiumError("the payload is not a JSON object", 'example: {"message":"hi"}')
    return Raw(msgspec.json.encode(value))


def _type_of(passed: Logged) -> str:
    try:
        return read_envelope(passed.line.encode()).type
    except EnvelopeError:
        return ""


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
        hint = (
            "restart it: `symposium daemon stop`, then "
            f"`symposium daemon start {' '.join(options.words())}`"
        )
        raise BusUnreachableError(text, hint) from error


class _Carrier:
    """Copy lines from one side to the other, no faster than the other reads."""

    def __init__(self, other: Transport, over: asyncio.Future[ExitCode], code: ExitCode) -> None:
        self._other = other
        self._over = over
        self._code = code

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            if not isinstance(line, OversizedLine):
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
    return str(directory) if len(parts) <= 2 else f"…/{'/'.join(parts[-2:])}"  # noqa: PLR2004 - the two parts above


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SOCKET = click.option(
    "--socket",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Socket of the daemon. Default: $SYMPOSIUM_SOCKET, else the standard location.",
)


def running_bus(
    socket: Path | None, answers: HandlerTable | None = None, *, role: Role = Role.CLI
) -> BusClient:
    """Make a client of the running daemon; does not start one."""
    settings = ClientSettings(DaemonOptions(socket=socket), dial_running)
    return BusClient(_identity(role, None), answers, settings)


def client_for(
    socket: Path | None, sender: Sender | None = None, answers: HandlerTable | None = None
) -> BusClient:
    """Make a client of the daemon; starts one if none is running."""
    settings = ClientSettings(DaemonOptions(socket=socket))
    return BusClient(_identity(Role.CLI, sender), answers, settings)


def _identity(role: Role, sender: Sender | None) -> Identity:
    return Identity(role, f"symposium(pid:{os.getpid()})", sender or Sender(str(Path.cwd())))
