"""Pagination of long lists (MCP, utilities/pagination)."""

from collections.abc import Sequence
from typing import Any, Final

from peerwire.errors import INVALID_PARAMS, RpcError

PAGE: Final = 100
"""Maximum number of entries on a page."""

_MARK: Final = "after:"


def page(key: str, entries: Sequence[Any], cursor: str | None) -> dict[str, Any]:
    """The page at a cursor, with the cursor of the next page.

    Raises:
        RpcError: the cursor is unknown.
    """
    begin = _offset(cursor, len(entries))
    piece: dict[str, Any] = {key: list(entries[begin : begin + PAGE])}
    if begin + PAGE < len(entries):
        piece["nextCursor"] = f"{_MARK}{begin + PAGE}"
    return piece


def _offset(cursor: str | None, most: int) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix(_MARK)
    if digits == cursor or len(digits) > len(str(most)) or not digits.isascii():
        raise _unknown(cursor)
    if not digits.isdecimal() or int(digits) > most:
        raise _unknown(cursor)
    return int(digits)


def _unknown(cursor: str) -> RpcError:
    data = {"cursor": cursor[:200]}
    return RpcError(INVALID_PARAMS, data, message="Unknown cursor; restart without a cursor")
