"""The one screen that asks: every command, server, variable and link, before anything is used."""

from collections.abc import Iterable, Iterator
from typing import Final

from localio.text import plain_text
from symposium.trust.difference import MOST_LINES
from symposium.trust.foreign import KIND
from symposium.trust.item import Effect, EffectKind
from symposium.trust.store import Question

_WORDS: Final[dict[EffectKind, str]] = {
    "command": "runs",
    "server": "reaches",
    "variable": "sets",
    "link": "follows",
    "text": "tells the agent",
    "mod": "uses the mod",
}


def screen(questions: Iterable[Question]) -> str:
    """All questions as plain lines; nothing in them can pass for anything but text."""
    return "\n\n".join("\n".join(_question_lines(each)) for each in questions)


def effect_line(effect: Effect) -> str:
    """One effect on one line, in words."""
    return f"{_WORDS[effect.kind]}: {_on_one_line(effect.detail)}"


def _question_lines(question: Question) -> Iterator[str]:
    item = question.item
    state = "changed" if question.before is not None else "new"
    yield f"{_on_one_line(item.name)} ({item.kind}, {state}, sha256 {item.digest[:12]})"
    effects = item.effects
    if item.kind == KIND:
        yield "  Symposium uses none of this; your agent or your editor may, whatever you answer."
    for effect in effects:
        yield from _of_effect(effect)
    if not effects:
        yield "  starts nothing"
    if question.before is not None:
        yield "  changed since you trusted it:"
        yield from (f"    {line}" for line in question.changes.split("\n"))


def _of_effect(effect: Effect) -> Iterator[str]:
    if effect.kind != "text":
        yield f"  {effect_line(effect)}"
        return
    lines = plain_text(effect.detail.strip("\n")).split("\n")
    yield f"  {_WORDS[effect.kind]}:"
    yield from (f"    | {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"    (and {len(lines) - MOST_LINES} more lines)"


def _on_one_line(text: str) -> str:
    return plain_text(text).replace("\n", "␊").replace("\t", "␉")
