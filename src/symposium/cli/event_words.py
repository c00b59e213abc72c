"""Format the events of a session as text."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from localio.text import clipped, one_line, plain_text
from peerwire.jsonrpc.values import as_object
from symposium.documents.task_prompt import user_words

WIDTH: Final = 100
LINES_SHOWN: Final = 12
"""Lines of a change or a script that are shown below a question."""

WISH_WIDTH: Final = 70
"""Width of a requested action: the decision follows in the same line."""

WORDS_SHOWN: Final = 4000
"""Maximum length of a shown prompt."""


def event_text(kind: str, data: Mapping[str, Any]) -> str:
    """Format an event other than `update`, without a newline at its end."""
    match kind:
        case "prompt" | "interrupted":
            words = plain_text(user_words(str(data.get("text", "")))).strip()
            cut = " […]" if len(words) > WORDS_SHOWN else ""
            return f"[{kind}] {words[:WORDS_SHOWN]}{cut}"
        case "question":
            return "\n".join(_question(data))
        case "settled":
            return f"[question {data.get('question')}] settled"
        case "permission":
            # An event of an earlier version has only the agent's title.
            asked = data.get("wish") or data.get("title") or "a tool call"
            shown = one_line(str(asked), width=WISH_WIDTH)
            return _line(kind, f"{shown}: {data.get('optionId') or 'no answer'}")
        case _:
            return _line(kind, str(data.get("text") or in_words(data)))


def note_lines(text: str) -> list[str]:
    """Wrap a note of the policy at words."""
    return textwrap.wrap(plain_text(f"[policy] {text}"), WIDTH)


def in_words(data: Mapping[str, Any]) -> str:
    """Format members with a value."""
    return ", ".join(f"{name}: {_value(value)}" for name, value in data.items() if value)


def _question(data: Mapping[str, Any]) -> Sequence[str]:
    wish = data.get("wish")
    asked = str(data.get("title") or "a tool call") if wish is None else f"wants to {wish}"
    lines = [str(each) for each in cast("list[Any]", data.get("lines") or [])]
    more = len(lines) - LINES_SHOWN
    options = [as_object(each) for each in cast("list[Any]", data.get("options") or [])]
    choices = ", ".join(f"{each.get('optionId')} ({each.get('name')})" for each in options)
    return (
        _line(f"question {data.get('question')}", asked),
        *(clipped(f"    {line}", width=WIDTH) for line in lines[:LINES_SHOWN]),
        *([f"    [… {more} more lines]"] if more > 0 else []),
        one_line(f"  answer: {choices}", width=WIDTH),
    )


def _line(kind: str, text: str) -> str:
    return one_line(f"[{kind}] {text}", width=WIDTH)


def _value(value: Any) -> str:
    match value:
        case str():
            return value
        case list():
            return " ".join(_value(each) for each in cast("list[Any]", value))
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)
