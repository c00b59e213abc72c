"""Generate the page of bus messages, from their classes."""

import inspect
import re
import types
from collections.abc import Iterator
from enum import Enum
from typing import Any, ForwardRef, Literal, TypeGuard, Union, get_args, get_origin

from msgspec import Struct

from symposium.bus.protocol import (
    BusMessage,
    MessageTarget,
    Role,
    fields_of,
    message_types,
    reply_type,
)

PAGE = "reference/bus-messages.md"

HEAD = """# Messages of the bus

The daemon forwards these messages between the parts of Symposium. Every message is a line of JSON
with `type`, `id`, `sender`, and `payload`; version 2 adds `to`, `ack`, and `from`. Every request
is answered by a [`response`](#response) with the same id. [The bus](../design/bus.md) explains
routing and version 1.
"""

AIMS = {
    MessageTarget.BROKER: "the broker",
    MessageTarget.ENGINE: "the daemon, or another peer that handles it",
    MessageTarget.WINDOW: "the window that fits its sender best",
    MessageTarget.MCP_SERVER: "the MCP server of the same taskspace",
    MessageTarget.ASKER: "the sender of the request",
    MessageTarget.EVERYBODY: "all subscribers",
}


def sections() -> Iterator[str]:
    """A section for each message, then the shared types."""
    yield HEAD.strip()
    shapes: dict[str, type[Struct | Enum]] = {}
    for name, kind in message_types().items():
        yield f"## `{name}`"
        yield text_of(kind)
        yield "\n".join(["| | |", "|---|---|", *facts(kind)])
        rows = [row(each, hint) for each, hint in fields_of(kind).items()]
        if rows:
            yield "\n".join(["| Member | Type |", "|---|---|", *rows])
        for hint in (*fields_of(kind).values(), reply_type(kind)):
            collect(hint, shapes)
    yield "## Shapes"
    for name, shape in sorted(shapes.items()):
        yield f"### `{name}`"
        yield text_of(shape)
        if issubclass(shape, Struct):
            rows = [row(each, hint) for each, hint in fields_of(shape).items()]
            if rows:
                yield "\n".join(["| Member | Type |", "|---|---|", *rows])
        else:
            yield ", ".join(f"`{member.value}`" for member in shape)


def facts(kind: type[BusMessage]) -> Iterator[str]:
    """Properties of a message, as rows of a table."""
    about = kind.about
    yield f"| Sent by | {senders(about.sent_by)} |"
    yield f"| For | {AIMS[about.target]} |"
    if about.budget:
        again = "; a client may send it again after a reconnect" if about.is_idempotent else ""
        yield f"| Reply | {written(reply_type(kind))} within {about.budget:g} s{again} |"
    if about.alias_of:
        yield f"| Alias of | [`{about.alias_of}`](#{about.alias_of}) |"
    yield f"| Since | version {about.version} ({about.source}) |"


def senders(roles: frozenset[Role]) -> str:
    """Names of roles; the exceptions if there are few."""
    if len(roles) == len(Role):
        return "anyone"
    return ", ".join(f"`{role.value}`" for role in Role if role in roles)


def text_of(kind: type[Any]) -> str:
    """Docstring of a class, with its members as a list."""
    text = inspect.cleandoc(kind.__doc__ or "")
    before, _, members = text.partition("Attributes:\n")
    if not members:
        return before.strip()
    lines = re.sub(r"\n {8,}", " ", "\n" + members).strip().splitlines()
    items = [re.sub(r"^\s*([\w, ]+): ", r"- `\1`: ", line) for line in lines if line.strip()]
    return before.strip() + "\n\n" + "\n".join(items)


def is_shape(hint: Any) -> TypeGuard[type[Struct] | type[Enum]]:
    """Whether a type has its own section."""
    return isinstance(hint, type) and issubclass(hint, Struct | Enum)


def row(name: str, hint: Any) -> str:
    """Row of one member."""
    return f"| `{name}` | {written(hint)} |"


def written(hint: Any) -> str:
    """Name of a type in JSON terms."""
    origin, inner = get_origin(hint), get_args(hint)
    if is_shape(hint):
        text = f"[`{hint.__name__}`](#{hint.__name__.lower()})"
    elif origin in {Union, types.UnionType}:
        text = " or ".join(written(each) for each in inner)
    elif origin is Literal:
        text = ", ".join(f"`{each}`" for each in inner)
    elif origin in {tuple, list, frozenset}:
        text = f"array of {written(inner[0])}"
    elif origin is dict:
        text = f"object of {written(inner[1])}"
    elif hasattr(hint, "__metadata__"):
        text = written(inner[0])
    else:
        text = PLAIN.get(hint, "anything")
    return text


PLAIN: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "true or false",
    type(None): "null",
}


def collect(hint: Any, found: dict[str, type[Struct] | type[Enum]]) -> None:
    """Every struct and enum in a type."""
    if is_shape(hint):
        if hint.__name__ in found:
            return
        found[hint.__name__] = hint
        if issubclass(hint, Struct):
            for each in fields_of(hint).values():
                collect(each, found)
        return
    for each in get_args(hint):
        if not isinstance(each, str | ForwardRef):
            collect(each, found)


def render() -> str:
    """The page, in alphabetical order."""
    return "\n\n".join(sections())
