"""Registry of all tools, one per module, and the server's instructions to agents."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, get_args

from localio.plugins import module_name, names_in, only_object
from peerwire.errors import LocalError
from symposium.mcp_server.tool import Tool, Topic

TOOLS: Final = "symposium.mcp_server.tools"

_TOPICS: Final[Mapping[Topic, str]] = {
    "code": "Look up code instead of assuming",
    "walkthroughs": "Explain code with a walkthrough",
    "taskspaces": "Keep the user informed, and work with other taskspaces",
    "reviews": "Ask for a review",
    "references": "Expand references of the user",
    "packages": "Read the source of dependencies",
}
_FIRST: Final = (
    "Symposium gives you the working rules of this project and your current task. Start with the "
    "prompt `yiasou`, or call `expand_reference` with the id `yiasou`; the content is the same."
)


@cache
def all_tools() -> Mapping[str, Tool]:
    """Every tool by name; imports them all.

    Raises:
        LocalError: a module makes no tool, two, or one of another name.
    """
    tools: dict[str, Tool] = {}
    for name in names_in(TOOLS):
        made = only_object(f"{TOOLS}.{module_name(name)}", Tool)
        if made.name != module_name(name):
            raise LocalError(f"{TOOLS}.{module_name(name)} makes a tool called {made.name}")
        tools[made.name] = made
    return MappingProxyType(tools)


def instructions(tools: Iterable[Tool]) -> str:
    """Instructions in the `initialize` result; they list exactly the given tools."""
    return "\n".join([_FIRST, *_lines(list(tools))])


def _lines(tools: list[Tool]) -> Iterator[str]:
    for topic in get_args(Topic):
        of_topic = [each for each in tools if each.topic == topic]
        if of_topic:
            yield f"\n{_TOPICS[topic]}:"
            yield from (f"- `{each.name}`: {each.summary}" for each in of_topic)
