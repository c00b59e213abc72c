"""The few lines at the head of a guidance file that name and describe it (bus-mcp-taskspaces §2.4).

A subset of YAML: `---`, lines of `key: value` with the value in double quotes or not, `---`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_FENCE: Final = "---\n"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A text in two.

    Attributes:
        fields: what stands between the fences; empty without any.
        body: what comes after them; all of it without any.
    """

    fields: Mapping[str, str]
    body: str


def part(text: str) -> FrontMatter:
    """The fields and the body of a text; any text has them."""
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
