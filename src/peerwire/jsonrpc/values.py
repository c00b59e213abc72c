"""JSON values without loss: what a fast codec refuses or rounds, this one keeps.

Numbers keep their digits (integers of any size; decimals as `Decimal`), lone surrogates survive (acp-host §7.3, T12).
"""

import json
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from peerwire.jsonrpc.scan import strict_decoder

Body: TypeAlias = Raw | bytes
"""One JSON value as the bytes that stand for it."""

_decode_exact = msgspec.json.Decoder(float_hook=Decimal).decode
_encode_exact = msgspec.json.Encoder(decimal_format="number").encode




def decode_value(body: Body) -> Any:
    """The value that `body` stands for: dicts, lists, strings, ints, `Decimal`s, booleans and None.

    Raises:
        ValueError: `body` is not one JSON value (msgspec's and the library's errors both are).
    """
    try:
        return _decode_exact(body)
    except msgspec.DecodeError:
        # Lone surrogates are legal in JSON text (RFC 8259 §8.2) and refused by the fast decoder.
        return strict_decoder.decode(bytes(body).decode())


def encode_value(value: Any) -> bytes:
    """The compact JSON text of a value; a `Raw` stands for itself.

    Raises:
        TypeError: the value has no JSON form.
    """
    try:
        return _encode_exact(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def _plain(value: object) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Raw):
        return decode_value(value)
    return msgspec.to_builtins(value)
