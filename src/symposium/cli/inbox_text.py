"""Format inbox items for a terminal: shortened, except where the user must read all of it."""

from collections.abc import Sequence
from typing import Final

from localio.text import one_line, pieces
from symposium.bus.messages.tasks import InboxItem

WIDTH: Final = 100

_INDENT: Final = "    "


def is_whole(item: InboxItem) -> bool:
    """Whether its text is always shown in full."""
    return item.kind in {"trust", "login"}


def short_text(item: InboxItem) -> Sequence[str]:
    """Format the subject of an item: one line, or each command in full on its own line."""
    if not is_whole(item):
        return [f"  {item.name}: {one_line(item.text, width=WIDTH)}"]
    head, *asked = item.text.split("\n")
    lines = [f"  {piece}" for piece in pieces(f"{item.name}: {head}", width=WIDTH)]
    for line in asked:
        # A wrapped line is indented further, so that it cannot pose as a separate command.
        first, *rest = pieces(line, width=WIDTH)
        lines += [f"{_INDENT}{first}", *(f"{_INDENT}{_INDENT}{each}" for each in rest)]
    return lines
