"""Columns: language servers count UTF-16 units from 0, people count characters from 1."""

from typing import Final

_LAST_OF_ONE_UNIT: Final = 0xFFFF


def to_units(line: str, column: int) -> int:
    """The UTF-16 offset of a character's column; past the end it is the end."""
    before = line[: max(column - 1, 0)]
    return len(before) + sum(ord(character) > _LAST_OF_ONE_UNIT for character in before)


def to_column(line: str, units: int) -> int:
    """The column of the character at a UTF-16 offset, of the character itself if inside one."""
    seen = 0
    for column, character in enumerate(line, start=1):
        seen += 2 if ord(character) > _LAST_OF_ONE_UNIT else 1
        if seen > units:
            return column
    return len(line) + 1
