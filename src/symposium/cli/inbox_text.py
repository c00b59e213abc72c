"""What waits, as a terminal shows it: shortened, but for what nobody may trust half read."""

from collections.abc import Sequence
from typing import Final

from localio.text import one_line, pieces
from symposium.bus.messages.tasks import InboxItem

WIDTH: Final = 100

_INDENT: Final = "    "


def is_whole(item: InboxItem) -> bool:
    """Whether all of its text is shown wherever any of it is."""
    return item.kind in {"trust", "login"}


def short_text(item: InboxItem) -> Sequence[str]:
    """What an item is about: on one line, or every command on its own and none of them cut."""
    if not is_whole(item):
        return [f"  {item.name}: {one_line(item.text, width=WIDTH)}"]
    head, *asked = item.text.split("\n")
    lines = [f"  {piece}" for piece in pieces(f"{item.name}: {head}", width=WIDTH)]
    for line in asked:
        # What goes on is set in further: it cannot look like a line of its own.
        first, *rest = pieces(line, width=WIDTH)
        lines += [f"{_INDENT}{first}", *(f"{_INDENT}{_INDENT}{each}" for each in rest)]
    return lines
