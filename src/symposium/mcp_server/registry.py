"""Every tool there is, found by its module, and what an agent is told of them together."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, get_args

from localio.plugins import module_name, names_in, only_object
from peerwire.errors import LocalError
from symposium.mcp_server.tool import Tool, Topic

TOOLS: Final = "symposium.mcp_server.tools"

_TOPICS: Final[Mapping[Topic, str]] = {
    "code": "Ask about the code before you assume",
    "walkthroughs": "Explain with a walkthrough",
    "taskspaces": "Keep the taskspace's people informed",
    "reviews": "Have your work looked at",
    "references": "Expand what the user points at",
    "packages": "Read the source of what is installed",
}
_FIRST: Final = (
    "Symposium tells you how we work here, where you are, and what you are to do. Begin with the "
    "prompt `yiasou`, or with `expand_reference` and the id `yiasou`; both say the same."
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
    """What a client is told at the handshake: of exactly the tools that there are."""
    return "\n".join([_FIRST, *_lines(list(tools))])


def _lines(tools: list[Tool]) -> Iterator[str]:
    for topic in get_args(Topic):
        of_topic = [each for each in tools if each.topic == topic]
        if of_topic:
            yield f"\n{_TOPICS[topic]}:"
            yield from (f"- `{each.name}`: {each.summary}" for each in of_topic)
