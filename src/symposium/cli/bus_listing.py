"""Format, select, and read back recorded messages of the bus."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Raw

from localio.redaction import REDACTED
from localio.text import clock_of, one_line
from symposium.bus.envelope import Envelope, EnvelopeError, read_envelope
from symposium.bus.messages.broker import Logged
from symposium.errors import SymposiumError

_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Choice:
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
        words = f"{message.type}  {message.id[:8]}  {payload}"
    except EnvelopeError:
        words = passed.line
    return one_line(f"{clock_of(passed.at)}  {passed.name} ({passed.by})  {words}", width=_WIDTH)


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
