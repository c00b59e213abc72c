"""The one screen that asks: every command, server, variable and link, before anything is used."""

from collections.abc import Iterable, Iterator
from typing import Final

from symposium.plain_text import plain_text
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
    return "\n\n".join("\n".join(_lines(each)) for each in questions)


def effect_line(effect: Effect) -> str:
    """One effect on one line, in words."""
    return f"{_WORDS[effect.kind]}: {_on_one_line(effect.detail)}"


def _lines(question: Question) -> Iterator[str]:
    item = question.item
    state = "changed" if question.before is not None else "new"
    yield f"{_on_one_line(item.name)} ({item.kind}, {state}, sha256 {item.digest[:12]})"
    effects = item.effects
    for effect in effects:
        yield f"  {effect_line(effect)}"
    if not effects:
        yield "  starts nothing"
    if question.before is not None:
        yield "  changed since you trusted it:"
        yield from (f"    {line}" for line in question.changes.split("\n"))


def _on_one_line(text: str) -> str:
    return plain_text(text).replace("\n", "␊").replace("\t", "␉")
