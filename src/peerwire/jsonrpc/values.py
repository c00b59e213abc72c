"""JSON values without loss: what a fast codec refuses or rounds, this one keeps.

Numbers keep their digits (integers of any size; decimals as `Decimal`), and lone surrogates survive
(acp-host §7.3, T12).
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import Raw

from peerwire.jsonrpc.scan import array_items, object_members, strict_decoder

Body: TypeAlias = Raw | bytes
"""One JSON value as the bytes that stand for it."""

SHORT_ARRAY: Final = 1024 * 1024
"""Bytes of an array that may be taken apart in one go, however many items it has."""

_decode_exact = msgspec.json.Decoder(float_hook=Decimal).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_encode_exact = msgspec.json.Encoder(decimal_format="number").encode


def decode_value(body: Body) -> Any:
    """The value that `body` stands for: dicts, lists, strings, ints, `Decimal`s, booleans and None.

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
    """The members of an object, each as it is written; of a name written twice, the last.

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
    """The items of an array, each as it is written; of a long text no more than the first `most`.

    Raises:
        ValueError: `body` is not one JSON array.
        RecursionError: it is nested too deeply.
    """
    # The fast decoder makes all items at once: of a line of 64 MiB they would take gigabytes.
    if len(body) <= SHORT_ARRAY:
        with suppress(msgspec.DecodeError):
            return _decode_items(body)
    return [Raw(written) for written in array_items(bytes(body).decode(), most)]


def encode_value(value: Any) -> bytes:
    """The JSON text of a value, on one line; compact but for a `Raw`, which stands for itself.

    Raises:
        TypeError: the value has no JSON form.
        ValueError: it is nested too deeply, or in itself.
    """
    try:
        text = _text(value)
    except RecursionError as error:
        raise ValueError("nested too deeply, or in itself") from error
    # Between the tokens of JSON, where alone a newline may stand, a space says the same.
    return text.replace(b"\n", b" ") if b"\n" in text else text


def _text(value: Any) -> bytes:
    try:
        return _encode_exact(value)
    except UnicodeEncodeError:
        return _escaped(value).encode()


def _escaped(value: Any) -> str:
    r"""A value that holds a lone surrogate somewhere: `\ud800` has no bytes, only an escape."""
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
    """The members of a JSON object; none where it is no object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
