"""Front matter of guidance files: name and description (bus-mcp-taskspaces §2.4).

A subset of YAML: `---`, lines `key: value` with optional double quotes, `---`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_FENCE: Final = "---\n"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter and body of a text.

    Attributes:
        fields: the front matter; may be empty.
        body: the remaining text.
    """

    fields: Mapping[str, str]
    body: str


def part(text: str) -> FrontMatter:
    """Split a text into front matter and body."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.startswith(_FENCE):
        return FrontMatter({}, text)
    head, fence, body = text[len(_FENCE) - 1 :].partition(f"\n{_FENCE}")
    if not fence:
        return FrontMatter({}, text)
    return FrontMatter(dict(filter(None, map(_field, head.split("\n")))), body.removeprefix("\n"))


def _field(line: str) -> tuple[str, str] | None:
    key, colon, value = line.partition(":")
    if not colon or not key.strip() or key.lstrip().startswith("#"):
        return None
    value = value.strip()
    is_quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
    return key.strip(), value[1:-1] if is_quoted else value
