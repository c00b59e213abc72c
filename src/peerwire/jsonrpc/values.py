"""Lossless JSON values, also where the fast codec fails or rounds.

Numbers keep their digits (integers of any size; decimals as `Decimal`), and lone surrogates survive
(acp-host §7.3, T12). This module does not know transports, methods, or protocols above JSON-RPC.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn, TypeAlias, cast

import msgspec
from msgspec import Raw

_SPACE: Final = " \t\r\n"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _exact_int(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:
        # Python limits an int to some 4,300 digits, because parsing takes quadratic time.
        return Decimal(digits)


def _exact_decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation as error:
        raise ValueError(f"the exponent of {digits[:40]} is out of range") from error


strict_decoder: Final = json.JSONDecoder(
    parse_float=_exact_decimal, parse_int=_exact_int, parse_constant=_refuse_constant
)
"""The standard decoder without extensions to JSON, and without rounding."""


def object_members(text: str) -> dict[str, bytes]:
    """Raw values by name, in order; of duplicate names the last (acp-host §7.3, T12).

    Raises:
        ValueError: the text is not exactly one JSON object.
        RecursionError: it is nested too deeply for this program.
    """
    at = _expect(text, _skip(text, 0), "{")
    members: dict[str, bytes] = {}
    at = _skip(text, at)
    while text[at : at + 1] != "}":
        if members:
            at = _skip(text, _expect(text, at, ","))
        _expect(text, at, '"')
        name, at = strict_decoder.raw_decode(text, at)
        start = _skip(text, _expect(text, _skip(text, at), ":"))
        _, end = strict_decoder.raw_decode(text, start)
        members[name] = text[start:end].encode()
        at = _skip(text, end)
    _expect_end(text, at + 1)
    return members


def array_items(text: str, most: int) -> list[bytes]:
    """Items of an array as raw JSON, at most the first `most`.

    Raises:
        ValueError: the text is not exactly one JSON array.
        RecursionError: it is nested too deeply for this program.
    """
    at = _skip(text, _expect(text, _skip(text, 0), "["))
    items: list[bytes] = []
    while text[at : at + 1] != "]":
        if len(items) == most:
            return items
        start = _skip(text, _expect(text, at, ",")) if items else at
        _, end = strict_decoder.raw_decode(text, start)
        items.append(text[start:end].encode())
        at = _skip(text, end)
    _expect_end(text, at + 1)
    return items


def _expect_end(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise json.JSONDecodeError("more text after the value", text, at)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise json.JSONDecodeError(f"expected {character!r}", text, at)
    return at + 1


# Compiled for the first oversized line.
_MEMBER: Final = (
    rb'\s*[{,]\s*"(\w+)"\s*:\s*'
    rb'(-?[0-9][0-9.eE+-]*(?=\s*[,}])|"(?:[^"\\]|\\.)*"|null|true|false)?'
)
_LAST_ID: Final = rb',\s*"id"\s*:\s*(-?[0-9][0-9.eE+-]*|"[^"\\]*")\s*\}\s*$'


def early_id(head: bytes, tail: bytes = b"") -> tuple[bytes, bool] | None:
    """Id at either end of an oversized object, and whether it resembles a response.

    None if no id is found.
    """
    names: set[bytes] = set()
    found: bytes | None = None
    at, member_at = 0, re.compile(_MEMBER).match
    while (member := member_at(head, at)) is not None:
        name, value = member.groups()
        names.add(name)
        if name == b"id":
            found = value
        if value is None:
            break
        at = member.end()
    if found is None and names and (last := re.search(_LAST_ID, tail)) is not None:
        found = last[1]
    if found is None or found in {b"null", b"true", b"false"}:
        return None
    return found, b"method" not in names and not names.isdisjoint({b"result", b"error"})


Body: TypeAlias = Raw | bytes
"""One JSON value as encoded bytes."""

SHORT_ARRAY: Final = 1024 * 1024
"""Maximum bytes of an array that is decoded at once, regardless of its items."""

_decode_exact = msgspec.json.Decoder(float_hook=Decimal).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_encode_exact = msgspec.json.Encoder(decimal_format="number").encode


def decode_value(body: Body) -> Any:
    """Decode `body` to dicts, lists, strings, ints, `Decimal`s, booleans, and None.

    Raises:
        ValueError: `body` is not one JSON value, or one nested too deeply.
    """
    try:
        return _decode_exact(body)
    except (ValueError, ArithmeticError):
        # Lone surrogates are legal in JSON text (RFC 8259 §8.2), and so is a number of any length.
        return _decode_slowly(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _decode_slowly(body: Body) -> Any:
    try:
        return strict_decoder.decode(bytes(body).decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def members(body: Body) -> dict[str, Raw]:
    """Members of an object as raw JSON; of duplicate names the last.

    Raises:
        ValueError: `body` is not one JSON object.
        RecursionError: it is nested too deeply.
    """
    try:
        return _decode_members(body)
    except msgspec.DecodeError:
        slow = object_members(bytes(body).decode())
        return {name: Raw(written) for name, written in slow.items()}


def items(body: Body, most: int) -> list[Raw]:
    """Items of an array as raw JSON; for a long text at most the first `most`.

    Raises:
        ValueError: `body` is not one JSON array.
        RecursionError: it is nested too deeply.
    """
    # The fast decoder creates all items at once: for a line of 64 MiB, gigabytes.
    if len(body) <= SHORT_ARRAY:
        with suppress(msgspec.DecodeError):
            return _decode_items(body)
    return [Raw(written) for written in array_items(bytes(body).decode(), most)]


def encode_value(value: Any) -> bytes:
    """Encode a value on one line; compact except for a `Raw`, which is unchanged.

    Raises:
        TypeError: the value has no JSON form.
        ValueError: it is nested too deeply, or contains itself.
    """
    try:
        text = _text(value)
    except RecursionError as error:
        raise ValueError("nested too deeply, or in itself") from error
    # Newlines can only occur between tokens, where a space is equivalent.
    return text.replace(b"\n", b" ") if b"\n" in text else text


def _text(value: Any) -> bytes:
    try:
        return _encode_exact(value)
    except UnicodeEncodeError:
        return _escaped(value).encode()


def _escaped(value: Any) -> str:
    r"""Encode a value with lone surrogates, which can only be written as escapes."""
    match value:
        case str():
            return json.dumps(value)
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            inner = ",".join(f"{json.dumps(str(name))}:{_escaped(item)}" for name, item in pairs)
            return "{" + inner + "}"
        case list() | tuple():
            return "[" + ",".join(_escaped(item) for item in cast("list[object]", value)) + "]"
        case None | bool() | int() | float() | Decimal() | Raw():
            return _encode_exact(value).decode()
        case _:
            return _escaped(msgspec.to_builtins(value, builtin_types=(Decimal,)))


def as_object(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object or a TOML table, else an empty mapping."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def as_objects(value: object) -> Sequence[Mapping[str, Any]]:
    """The objects in the value if it is a JSON array; other items are left out."""
    return [cast("Mapping[str, Any]", each) for each in as_list(value) if isinstance(each, Mapping)]


def as_list(value: object) -> list[Any]:
    """The value if it is an array of JSON or TOML, else an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []
