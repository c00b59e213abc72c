"""Inbox items: how they are named and shown."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from localio.files import write_whole
from localio.text import one_line, pieces
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.config.paths import paths
from symposium.errors import NotFoundError, SymposiumError

TERMINALS: Final = 20
"""Number of terminals whose last list is stored."""

_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_DIGEST: Final = re.compile(r"(?<=:)([0-9a-f]{12})[0-9a-f]{20}$")
_WORDS: Final = {
    "yes": frozenset({"allow_once"}),
    "once": frozenset({"allow_once"}),
    "always": frozenset({"allow_always"}),
    "no": frozenset({"reject_once"}),
    "reject": frozenset({"reject_once"}),
}
"""Common words, and the kinds of permission options that they mean (ACP, permission options)."""

_SHOWN_FIRST: Final = {
    "trust": "commands of the setup",
    "landing": "change to land",
}
"""Kinds of items that can change after they were shown, with the text that must be current."""

_SHORTEST: Final = 4
"""Minimum length of a shortened id."""


def short_ids(items: Sequence[InboxItem]) -> list[str]:
    """Shorten the ids for typing; an id stays whole where its short form is ambiguous."""
    short = [_DIGEST.sub(r"\1", _UUID.sub(r"\1", item.id)) for item in items]
    return [
        item.id if short.count(each) > 1 else each for item, each in zip(items, short, strict=True)
    ]


def this_terminal() -> str:
    """Return an id of this terminal."""
    return str(os.getsid(0))


def remember(items: Sequence[InboxItem], terminal: str) -> None:
    """Store the list shown on a terminal, so that a typed number refers to that list.

    Raises:
        OSError: it cannot be written.
    """
    shown = _shown()
    shown.pop(terminal, None)
    shown[terminal] = [item.id for item in items]
    kept = dict(list(shown.items())[-TERMINALS:])
    write_whole(_file(), json.dumps(kept))


def last_shown(terminal: str) -> Sequence[str]:
    """Return the ids of the last list on a terminal, in order."""
    return _shown().get(terminal, [])


def find_item(named: str, items: Sequence[InboxItem], shown: Sequence[str]) -> str:
    """Return the id of the item that a user names.

    Args:
        named: a number from the last list, an id, the beginning of one, or the id or name of a
            task.
        items: the items that wait now.
        shown: the ids in the last list.

    Raises:
        NotFoundError: the number was not shown, or the name is ambiguous.
    """
    if named.isdecimal():
        if 1 <= int(named) <= len(shown):
            return shown[int(named) - 1]
        raise NotFoundError(
            f"no item {named} in the last list on this terminal",
            "run `symposium inbox` and use its numbers",
        )
    short = dict(zip(short_ids(items), items, strict=True))
    if named in short:
        return short[named].id
    for matches in (_is_id, _is_task, _begins):
        found = [item for item in items if matches(item, named)]
        if len(found) == 1:
            return found[0].id
        if found:
            known = ", ".join(short_ids(found))
            raise NotFoundError(f"{named!r} matches several items: {known}", "give one in full")
    # The item may have been answered in the meantime; the daemon can say by whom.
    return named


def check_seen(named: str, found: str, items: Sequence[InboxItem], shown: Sequence[str]) -> None:
    """Reject an answer to a trust or landing item whose current text was not shown here.

    Args:
        named: the name as typed.
        found: the id of the item.
        items: the items that wait now.
        shown: the ids in the last list.

    Raises:
        ExplainedError: this terminal has not shown it.
    """
    kind = next((item.kind for item in items if item.id == found), "")
    if kind in _SHOWN_FIRST and found not in {named, *shown}:
        raise SymposiumError(
            f"this terminal has not shown the current {_SHOWN_FIRST[kind]}",
            "run `symposium inbox`, then answer",
        )


def find_answer(said: str, item: InboxItem | None) -> str:
    """Return the id of a choice, given its id, name, a beginning of either, or a word.

    A question and a budget also take free text, so only a full id or name is a choice there.

    The words are `yes` and `once` (allow this request), `always` (allow all further requests),
    `no` and `reject` (deny this request).

    Raises:
        NotFoundError: it is ambiguous.
    """
    if item is None:
        return said
    word = said.strip().casefold()
    is_free = item.kind in {"question", "budget"}
    for matches in (_says,) if is_free else (_says, _means, _starts):
        found = [choice.id for choice in item.choices if matches(choice, word)]
        if len(found) == 1:
            return found[0]
        if found:
            known = ", ".join(found)
            raise NotFoundError(f"{said!r} matches several choices: {known}", "give one in full")
    return said


def _says(choice: InboxChoice, word: str) -> bool:
    return word in {choice.id.casefold(), choice.name.casefold()}


def _means(choice: InboxChoice, word: str) -> bool:
    """Whether a common word means this choice, whatever the agent names it."""
    return choice.kind in _WORDS.get(word, ())


def _starts(choice: InboxChoice, word: str) -> bool:
    return any(each.casefold().startswith(word) for each in (choice.id, choice.name))


def _is_id(item: InboxItem, named: str) -> bool:
    return item.id == named


def _is_task(item: InboxItem, named: str) -> bool:
    return named in {item.taskspace, item.name}


def _begins(item: InboxItem, named: str) -> bool:
    ids = (item.id, item.taskspace)
    return len(named) >= _SHORTEST and any(each.startswith(named.lower()) for each in ids)


def _file() -> Path:
    return paths().home / "inbox-shown.json"


def _shown() -> dict[str, list[str]]:
    try:
        return decode(_file().read_bytes(), type=dict[str, list[str]])
    except (OSError, DecodeError, ValidationError):
        # No list was stored yet.
        return {}


WIDTH: Final = 100

_INDENT: Final = "    "


def is_whole(item: InboxItem) -> bool:
    """Whether its text is always shown in full."""
    return item.kind in {"trust", "login"}


def short_text(item: InboxItem) -> Sequence[str]:
    """Format the subject of an item: one line, or each command in full on its own line."""
    if not is_whole(item):
        name = one_line(item.name, width=WIDTH)
        return [f"  {name}: {one_line(item.text, width=WIDTH)}"]
    head, *asked = item.text.split("\n")
    lines = [f"  {piece}" for piece in pieces(f"{item.name}: {head}", width=WIDTH)]
    for line in asked:
        # A wrapped line is indented further, so that it cannot pose as a separate command.
        first, *rest = pieces(line, width=WIDTH)
        lines += [f"{_INDENT}{first}", *(f"{_INDENT}{_INDENT}{each}" for each in rest)]
    return lines
