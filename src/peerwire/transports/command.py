"""Parse a command from shell words or from one of two JSON forms."""

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, TypeGuard, cast, get_args

import msgspec
from msgspec import Struct, field

from peerwire.errors import PeerwireError

Dialect: TypeAlias = Literal["auto", "sacp", "rust-sdk", "rfd", "pacp"]
"""Era of the wire names of a component (acp-host §1.2, R2); `auto` detects it."""

DIALECTS: Final[tuple[Dialect, ...]] = get_args(Dialect)

_KEYS: Final = ("command", "args", "env", "name", "type", "cwd", "dialect")
_REMOTE_TYPES: Final = ("http", "sse", "acp")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_OFFSET: Final = re.compile(r"\s*\(byte (\d+)\)$")


class CommandError(PeerwireError, ValueError):
    """The text is not a command; the message has the problem, its place, and the fix."""


class Command(Struct, frozen=True):
    """A program to start, without a shell.

    Attributes:
        argv: the program and its arguments; never empty.
        env: variables that extend the environment of this process.
        name: name for display; None if not given.
        cwd: working directory; None for that of this process.
        dialect: era of its wire names.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    name: str | None = None
    cwd: str | None = None
    dialect: Dialect = "auto"


def parse_command(spec: str) -> Command:
    """Parse shell words with leading `NAME=value`, or a JSON object (acp-host §1.9, R6).

    Raises:
        CommandError: the text has neither form.
    """
    if "\0" in spec:
        raise CommandError(
            f"{_shown(without_values(spec))} holds a NUL character, "
            "which no program can be given; remove it"
        )
    if spec.lstrip().startswith("{"):
        return _from_json(spec)
    return _from_words(spec)


def command_json(command: Command) -> str:
    """Return JSON text that `parse_command` parses to this command, without empty members."""
    members: dict[str, Any] = {
        "name": command.name,
        "command": command.argv[0],
        "args": command.argv[1:],
        "env": dict(command.env),
        "cwd": command.cwd,
        "dialect": None if command.dialect == "auto" else command.dialect,
    }
    return msgspec.json.encode(
        {key: value for key, value in members.items() if value or key == "command"}
    ).decode()


def shown(argv: tuple[str, ...]) -> str:
    """Format a command line for display: quoted for a shell, at most 200 characters."""
    return _cut(" ".join(shlex.quote(word) for word in argv[:100]), 200)


def without_values(spec: str) -> str:
    """Return a command as the user wrote it, without the values of its variables."""
    if spec.lstrip().startswith("{"):
        return _members_without_values(spec)
    try:
        words = shlex.split(spec)
    except ValueError:
        found = _ASSIGNMENT.search(spec)
        return spec if found is None else f"{spec[: found.end()]}…"
    own = next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    names = [f"{word.partition('=')[0]}=…" for word in words[:own]]
    return " ".join([*names, *filter(None, [shlex.join(words[own:])])]) if names else spec


def _members_without_values(spec: str) -> str:
    try:
        members: Any = msgspec.json.decode(spec)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return spec if "env" not in spec else "{…}"
    match members:
        case {"env": {**env}}:
            members["env"] = dict.fromkeys(cast("dict[str, Any]", env), "…")
        case {"env": [*pairs]}:
            members["env"] = [
                {**cast("dict[str, Any]", pair), "value": "…"} if isinstance(pair, dict) else "…"
                for pair in pairs
            ]
        case _:
            return spec
    return msgspec.json.encode(members).decode()


def _from_words(spec: str) -> Command:
    try:
        words = shlex.split(spec)
    except ValueError as error:
        problem = (
            "a backslash at its end" if "escaped" in str(error) else "a quote that is not closed"
        )
        raise CommandError(
            f"{_shown(without_values(spec))} has {problem}; "
            "close the quote, or put a backslash before it"
        ) from error
    if not words:
        raise CommandError("Arguments cannot be empty: write a program and its arguments")
    env: dict[str, str] = {}
    for at, word in enumerate(words):
        if not _ASSIGNMENT.match(word):
            return _with_program(Command(tuple(words[at:]), env), spec)
        name, _, value = word.partition("=")
        env[name] = value
    raise CommandError(
        "No command found (only environment variables provided): "
        f"write a program after {_shown(without_values(words[-1]))}"
    )


def _with_program(command: Command, spec: str) -> Command:
    if not command.argv[0]:
        raise CommandError(
            f"{_shown(without_values(spec))} has an empty word where the program should stand; "
            "write its name there"
        )
    return command


def _from_json(spec: str) -> Command:
    try:
        members = msgspec.json.decode(spec)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise CommandError(_malformed(spec, error)) from error
    _check_type(members.get("type", "stdio"))
    for key in members:
        if key not in _KEYS and key != "_meta":
            raise CommandError(
                f"unknown key {_shown(key)} in the JSON command; known are {', '.join(_KEYS)}"
            )
    program = _text(members, "command")
    if not program:
        raise CommandError('the JSON command has no "command"; add the program to start, as text')
    dialect = members.get("dialect", "auto")
    if dialect not in DIALECTS:
        raise CommandError(
            f'"dialect" in the JSON command is {_shown(dialect)}; '
            f"it must be one of {', '.join(DIALECTS)}"
        )
    return Command(
        argv=(program, *_args(members.get("args"))),
        env=_env(members.get("env")),
        name=_text(members, "name"),
        cwd=_text(members, "cwd"),
        dialect=dialect,
    )


def _malformed(spec: str, error: Exception) -> str:
    found = _OFFSET.search(str(error))
    before = (
        spec.encode(errors="replace")[: int(found[1])].decode(errors="replace") if found else spec
    )
    reason = _OFFSET.sub("", str(error)).removeprefix("JSON is malformed: ")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    place = f"column {column}" if "\n" not in spec else f"line {line}, column {column}"
    return (
        f"the JSON command is malformed near {place}: {reason}; "
        "fix it, or quote the word if it was not meant as JSON"
    )


def _check_type(kind: Any) -> None:
    if kind == "stdio":
        return
    if kind in _REMOTE_TYPES:
        raise CommandError(
            f'"type" in the JSON command is {_shown(kind)}, a server reached by its address; '
            'a component is a program on this machine: give "command" and "args" instead'
        )
    raise CommandError(
        f'"type" in the JSON command is {_shown(kind)}; it must be "stdio" or left out'
    )


def _text(members: Mapping[str, Any], key: str) -> str | None:
    value = members.get(key)
    if value is None or _is_text(value):
        return value
    raise _wrong(f'"{key}"', value, "text without NUL")


def _args(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong('"args"', value, 'a list of texts, as in ["--verbose"]')
    args = cast("list[Any]", value)
    for at, arg in enumerate(args):
        if not _is_text(arg):
            raise _wrong(f'"args"[{at}]', arg, "text without NUL; put a number in quotes")
    return tuple(args)


def _env(value: Any) -> dict[str, str]:
    match value:
        case None:
            return {}
        case dict():
            pairs = list(cast("dict[str, Any]", value).items())
            places = [f'"env".{_shown(name)}' for name, _ in pairs]
        case list():
            entries = cast("list[Any]", value)
            pairs = [_pair(at, entry) for at, entry in enumerate(entries)]
            places = [f'"env"[{at}]' for at in range(len(entries))]
        case _:
            raise _wrong(
                '"env"', value, 'a map {"NAME": "value"} or a list of {"name": …, "value": …}'
            )
    for place, (name, text) in zip(places, pairs, strict=True):
        if not _is_text(name) or not name or "=" in name:
            raise _wrong(f"the name of {place}", name, "text without = and NUL")
        if not _is_text(text):
            raise _wrong(place, text, "text without NUL; put a number in quotes")
    return dict(pairs)


def _pair(at: int, entry: Any) -> tuple[Any, Any]:
    if not isinstance(entry, dict):
        raise _wrong(f'"env"[{at}]', entry, 'an object with "name" and "value"')
    members = cast("dict[str, Any]", entry)
    if members.keys() - {"_meta"} != {"name", "value"}:
        raise _wrong(f'"env"[{at}]', members, 'an object with "name" and "value", and nothing else')
    return members["name"], members["value"]


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and "\0" not in value


def _wrong(place: str, value: Any, needed: str) -> CommandError:
    return CommandError(f"{place} in the JSON command is {_shown(value)}; it must be {needed}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _cut(repr(value[:1000]), 80)
    return _cut(msgspec.json.encode(value).decode(errors="replace"), 80)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
