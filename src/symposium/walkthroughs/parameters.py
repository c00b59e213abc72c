"""The parameters of blocks, in each of the ways in which they are written. Pure."""

import html
import re
from collections.abc import Mapping
from typing import Final

from symposium.walkthroughs.document import (
    ActionBlock,
    Block,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
)

KINDS: Final = ("comment", "gitdiff", "action", "mermaid")
"""What the info string of a fence, or the name of an element, must be; case counts."""

DEFAULT_BUTTON: Final = "Action"
"""What a button says that was given no text."""

_ATTRIBUTE: Final = re.compile(r"""([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_ARGUMENT: Final = re.compile(r"""\s*([\w-]+)(?:\s*[=:]\s*(?:"([^"]*)"|'([^']*)'|([^\s,"']+)))?""")


def block_of_fence(kind: str, body: str) -> Block:
    """The block that stands in a fence.

    Args:
        kind: one of `KINDS`.
        body: the lines between the fences.
    """
    if kind == "mermaid":
        return DiagramBlock(body.rstrip("\n"))
    values, content = parameters(body)
    return block_of(kind, values, content)


def block_of(kind: str, values: Mapping[str, str], content: str) -> Block:
    """The block of a kind."""
    match kind:
        case "comment":
            return CommentBlock(values.get("location", ""), values.get("icon"), content)
        case "gitdiff":
            words = [*values, *content.split()]
            names = {word.replace("_", "-") for word in words}
            # As in the reference, to be named is enough: also with `false` behind it.
            is_staged_out, is_unstaged_out = "exclude-staged" in names, "exclude-unstaged" in names
            return DiffBlock(values.get("range", ""), is_unstaged_out, is_staged_out)
        case "action":
            return ActionBlock(values.get("button") or DEFAULT_BUTTON, content)
        case _:
            return DiagramBlock(content)


def parameters(body: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines at the head of a body, and the content after them.

    A blank line ends them and is dropped, any other line ends them and is kept. Values are not
    unquoted; of a key that stands twice the last counts.
    """
    values: dict[str, str] = {}
    lines = body.split("\n")
    while lines:
        key, colon, value = lines[0].strip().partition(":")
        if not colon or not _is_key(key):
            break
        values[key.strip()] = value.strip()
        lines.pop(0)
    return values, "\n".join(lines).strip("\n")


def attributes(text: str) -> dict[str, str]:
    """The attributes of an element; one without a value has an empty one."""
    return {
        found[1]: html.unescape(found[2] or found[3] or found[4] or "")
        for found in _ATTRIBUTE.finditer(text)
    }


def arguments(text: str) -> dict[str, str]:
    """The arguments of a call, as in `range="HEAD~1..HEAD", exclude-unstaged`."""
    return {found[1]: found[2] or found[3] or found[4] or "" for found in _ARGUMENT.finditer(text)}


def _is_key(text: str) -> bool:
    return bool(text) and all(each.isalnum() or each in "_ -" for each in text)
