"""The members of one JSON object as the bytes they were written in; the slow road, for what the fast decoder refuses."""

import json
from decimal import Decimal
from json.decoder import scanstring
from typing import Final, NoReturn

_SPACE: Final = " \t\r\n"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


strict_decoder: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse_constant)
"""The library's decoder without its extensions to JSON, and without rounding."""


def object_members(text: str) -> dict[str, bytes]:
    """Name to written value, in order; a name written twice keeps the last (acp-host §7.3, T12).

    Raises:
        ValueError: the text is not exactly one JSON object.
    """
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise json.JSONDecodeError("expected an object", text, at)
    members: dict[str, bytes] = {}
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        if members:
            at = _skip(text, _expect(text, at, ","))
        _expect(text, at, '"')
        name, at = scanstring(text, at + 1)
        at = _skip(text, _expect(text, _skip(text, at), ":"))
        try:
            _, end = strict_decoder.raw_decode(text, at)
        except StopIteration:
            raise json.JSONDecodeError("expected a value", text, at) from None
        members[name] = text[at:end].encode()
        at = _skip(text, end)
    if _skip(text, at + 1) != len(text):
        raise json.JSONDecodeError("more text after the object", text, at + 1)
    return members


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise json.JSONDecodeError(f"expected {character!r}", text, at)
    return at + 1
