"""Generate the index of the decisions, from their headings."""

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = "decisions/index.md"

HEAD = """# Decisions

One page for each decision: the context, the choice, its cost, and what would change it.
"""

REPLACED = re.compile(r"^Replaced (in part )?by \[(\d{4})\]", re.MULTILINE)


def entries() -> Iterator[str]:
    """An entry for each page, by number, with the decision that replaced it."""
    for page in sorted((Path(__file__).parents[1] / "decisions").glob("[0-9]*.md")):
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        replaced = REPLACED.search(text)
        suffix = f", replaced {replaced[1] or ''}by {replaced[2]}" if replaced else ""
        yield f"- [{title}]({page.name}){suffix}"


def render() -> str:
    """The page, with the heading of each decision."""
    return "\n".join([HEAD, *entries()])
