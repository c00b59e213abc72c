"""A change as a pull request shows it (bus-mcp-taskspaces §4.8): files, hunks, lines."""

from typing import Literal, TypeAlias

from msgspec import Struct

Status: TypeAlias = Literal["Added", "Modified", "Deleted"]
LineType: TypeAlias = Literal["Added", "Removed", "Context"]


class Line(Struct, frozen=True):
    """One line of a hunk, without its ending; numbers count from 1 on the side that has it."""

    line_type: LineType
    content: str
    old_line_number: int | None
    new_line_number: int | None


class Hunk(Struct, frozen=True):
    """Lines that changed together, with three around them."""

    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[Line]


class FileChange(Struct, frozen=True, omit_defaults=True):
    """One file; a renamed one is modified, a copied one added.

    Attributes:
        old_path: where it was, if it was renamed or copied.
        is_binary: whether it has lines at all.
        is_cut: whether it has more changes than are told.
    """

    path: str
    status: Status
    additions: int
    deletions: int
    hunks: list[Hunk]
    old_path: str | None = None
    is_binary: bool = False
    is_cut: bool = False


class Changes(Struct, frozen=True, omit_defaults=True):
    """Files that changed; `is_cut` says that there are more than are told."""

    files: list[FileChange]
    is_cut: bool = False
