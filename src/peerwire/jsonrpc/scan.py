"""The parts of a JSON value as they were written: the slow road, where the fast decoder refuses."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Final, NoReturn

_SPACE: Final = " \t\r\n"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _exact_int(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:
        # Python reads no more than some 4,300 digits as an int: it would take quadratic time.
        return Decimal(digits)


def _exact_decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation as error:
        raise ValueError(f"the exponent of {digits[:40]} is out of range") from error


strict_decoder: Final = json.JSONDecoder(
    parse_float=_exact_decimal, parse_int=_exact_int, parse_constant=_refuse_constant
)
"""The library's decoder without its extensions to JSON, and without rounding."""


def object_members(text: str) -> dict[str, bytes]:
    """Name to written value, in order; a name written twice keeps the last (acp-host §7.3, T12).

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
    """The items of an array, each as it is written; no more than the first `most`.

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


# Compiled when a line is too long to read.
_MEMBER: Final = (
    rb'\s*[{,]\s*"(\w+)"\s*:\s*'
    rb'(-?[0-9][0-9.eE+-]*(?=\s*[,}])|"(?:[^"\\]|\\.)*"|null|true|false)?'
)
_LAST_ID: Final = rb',\s*"id"\s*:\s*(-?[0-9][0-9.eE+-]*|"[^"\\]*")\s*\}\s*$'


def early_id(head: bytes, tail: bytes = b"") -> tuple[bytes, bool] | None:
    """The id at either end of an object too long to read, and whether it looks like a response.

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
