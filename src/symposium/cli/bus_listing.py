"""How messages of the bus are shown, chosen and read back: lines for people, JSON for programs."""

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
    """Which messages are wanted; nothing named means all.

    Attributes:
        types: of these types.
        taskspace: from or about this taskspace.
        names: sent by a peer whose name, or connection, begins so.
    """

    types: frozenset[str] = frozenset()
    taskspace: str = ""
    names: tuple[str, ...] = ()

    def has(self, passed: Logged) -> bool:
        """Whether this one is."""
        if self.types and _type_of(passed) not in self.types:
            return False
        if self.taskspace and self.taskspace.lower() not in passed.line.lower():
            return False
        return not self.names or any(
            passed.by == name or passed.name.startswith(name) for name in self.names
        )


def as_text_line(passed: Logged) -> str:
    """One line for a person: when, who, what, and the beginning of the payload."""
    try:
        message = read_envelope(passed.line.encode())
        payload = bytes(message.payload).decode()
        words = f"{message.type}  {message.id[:8]}  {payload}"
    except EnvelopeError:
        words = passed.line
    return one_line(f"{clock_of(passed.at)}  {passed.name} ({passed.by})  {words}", width=_WIDTH)


def as_json_line(passed: Logged) -> str:
    """One JSON object on a line; `message` where it can be read, else `line`."""
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
    """The messages of a file as `tail --json` writes it.

    Raises:
        ExplainedError: a line is none; says which.
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
            text = f"{path}:{number} is no recorded message"
            raise SymposiumError(text, "record with: symposium bus tail --json") from error


def replayable(recorded: Iterable[Logged]) -> Iterator[tuple[Logged, Envelope | str]]:
    """Each message with its envelope, or with the reason why it cannot be sent again."""
    for passed in recorded:
        try:
            envelope = read_envelope(passed.line.encode())
        except EnvelopeError:
            yield passed, "it was not kept whole" if passed.line else "it is no message"
            continue
        if envelope.type in {"response", "progress", "hello", "cancel_request", "log"}:
            yield passed, f"a {envelope.type} belongs to a conversation that is over"
        elif REDACTED in passed.line:
            yield passed, "a secret was taken out of it"
        else:
            yield passed, envelope


def payload_from(text: str) -> Raw:
    """A payload as it is typed.

    Raises:
        ExplainedError: it is no JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SymposiumError(
            f"the payload is no JSON: {error}", 'as in {"message":"hi"}'
        ) from error
    if not isinstance(value, dict):
        raise SymposiumError("the payload is no JSON object", 'as in {"message":"hi"}')
    return Raw(msgspec.json.encode(value))


def _type_of(passed: Logged) -> str:
    try:
        return read_envelope(passed.line.encode()).type
    except EnvelopeError:
        return ""
