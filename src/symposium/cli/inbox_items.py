"""How a person names what waits: by the number it was shown with, a short id, or its task."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import DecodeError, ValidationError
from msgspec.json import decode

from localio.files import write_whole
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.config.paths import paths
from symposium.errors import NotFoundError, SymposiumError

TERMINALS: Final = 20
"""Terminals whose last list is remembered."""

_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_DIGEST: Final = re.compile(r"(?<=:)([0-9a-f]{12})[0-9a-f]{20}$")
_WORDS: Final = {
    "yes": frozenset({"allow_once"}),
    "once": frozenset({"allow_once"}),
    "always": frozenset({"allow_always"}),
    "no": frozenset({"reject_once"}),
    "reject": frozenset({"reject_once"}),
}
"""Usual words, and the kinds of permission options that they mean (ACP, permission options)."""

_SHOWN_FIRST: Final = {
    "trust": "what its set-up files ask for",
    "landing": "the landing",
}
"""Kinds of items that may have changed since they were read, and what must have been shown."""

_SHORTEST: Final = 4
"""Characters of an id that may stand for it."""


def short_ids(items: Sequence[InboxItem]) -> list[str]:
    """An id for each that can be typed; whole where a shorter one would mean another too."""
    short = [_DIGEST.sub(r"\1", _UUID.sub(r"\1", item.id)) for item in items]
    return [
        item.id if short.count(each) > 1 else each for item, each in zip(items, short, strict=True)
    ]


def this_terminal() -> str:
    """Which terminal we are on."""
    return str(os.getsid(0))


def remember(items: Sequence[InboxItem], terminal: str) -> None:
    """Note what was shown on a terminal: a number means that, whatever has come since.

    Raises:
        OSError: it cannot be written.
    """
    shown = _shown()
    shown.pop(terminal, None)
    shown[terminal] = [item.id for item in items]
    kept = dict(list(shown.items())[-TERMINALS:])
    write_whole(_file(), json.dumps(kept))


def last_shown(terminal: str) -> Sequence[str]:
    """The ids of what a terminal was shown last, in that order."""
    return _shown().get(terminal, [])


def find_item(named: str, items: Sequence[InboxItem], shown: Sequence[str]) -> str:
    """The id of what is named.

    Args:
        named: a number of the last list, an id, its beginning, or the id or name of its task.
        items: what waits now.
        shown: the ids in the last list.

    Raises:
        NotFoundError: it is none of them, or more than one.
    """
    if named.isdecimal():
        if 1 <= int(named) <= len(shown):
            return shown[int(named) - 1]
        raise NotFoundError(
            f"nothing was shown as {named} on this terminal", "`symposium inbox` numbers what waits"
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
            raise NotFoundError(f"{named!r} may be any of {known}", "give the whole of one")
    # It may have been answered meanwhile: who keeps the inbox knows by whom.
    return named


def check_seen(named: str, found: str, items: Sequence[InboxItem], shown: Sequence[str]) -> None:
    """Refuse an answer to trust or to a landing that this terminal has not shown as it is now.

    Args:
        named: what was typed.
        found: the id that is meant.
        items: what waits now.
        shown: the ids in the last list.

    Raises:
        ExplainedError: it was not shown.
    """
    kind = next((item.kind for item in items if item.id == found), "")
    if kind in _SHOWN_FIRST and found not in {named, *shown}:
        raise SymposiumError(
            f"{_SHOWN_FIRST[kind]} was not shown on this terminal as it is now",
            "`symposium inbox` shows all of it; answer that",
        )


def find_answer(said: str, item: InboxItem | None) -> str:
    """The id of the choice that is meant: by id, by the beginning of an id or of a name, by a word.

    The words are `yes` and `once` (allow this one), `always` (allow all further ones), `no` and
    `reject` (not this one).

    Raises:
        NotFoundError: it may be several.
    """
    if item is None or item.kind in {"question", "budget"}:
        return said
    word = said.strip().casefold()
    for matches in (_says, _means, _starts):
        found = [choice.id for choice in item.choices if matches(choice, word)]
        if len(found) == 1:
            return found[0]
        if found:
            known = ", ".join(found)
            raise NotFoundError(f"{said!r} may be any of {known}", "give the whole of one")
    return said


def _says(choice: InboxChoice, word: str) -> bool:
    return word in {choice.id.casefold(), choice.name.casefold()}


def _means(choice: InboxChoice, word: str) -> bool:
    """Whether a usual word means this choice, whatever its agent calls it."""
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
        # There was no list yet.
        return {}
