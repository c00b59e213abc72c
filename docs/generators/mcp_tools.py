"""The tools, resources and prompts of our MCP server, from their definitions."""

from collections.abc import Iterator
from typing import Any, get_args

from symposium.guidance.boot import ALIASES, COLLABORATORS
from symposium.guidance.library import library_for
from symposium.guidance.places import BUILT_IN
from symposium.mcp_server.registry import all_tools
from symposium.mcp_server.tool import Hints, Tool, Topic

PAGE = "reference/mcp-tools.md"

HEAD = """# MCP tools

What `symposium mcp` offers to an agent. How to give it to one:
[Give an agent the server](../how-to/mcp-server.md); why it is as it is:
[The MCP server](../design/mcp-server.md).

A tool that fails says so in its result, with what to do about it. Arguments that are not listed are
refused by name.
"""


def kind_of(schema: dict[str, Any]) -> str:
    """The type of an argument, in a word."""
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        kinds = (kind_of(each) for each in schema["anyOf"])
        return " or ".join(kind for kind in kinds if kind != "null")
    return str(schema.get("type", "any"))


def hints_of(hints: Hints) -> str:
    """What a client is told before it asks its user."""
    told = {
        "changes nothing": hints.reads_only,
        "may take away what is there": hints.destroys,
        "may be repeated": hints.repeats_well,
        "may ask the network": hints.reaches_out,
    }
    return "; ".join(words for words, holds in told.items() if holds) or "changes something"


def section(tool: Tool) -> Iterator[str]:
    """One tool."""
    yield f"### `{tool.name}`"
    yield tool.description
    schema = tool.input_schema
    needed = schema.get("required", [])
    rows = [
        f"| `{name}` | {kind_of(each)} | {'yes' if name in needed else ''} "
        f"| {each.get('description', '')} |"
        for name, each in schema["properties"].items()
    ]
    if rows:
        yield "\n".join(["| Argument | Type | Required | |", "|---|---|---|---|", *rows])
    result = tool.output_schema
    names = ", ".join(f"`{name}`" for name in result["properties"]) if result else ""
    yield f"Result: text{f', and {names}' if names else ''}. Hints: {hints_of(tool.hints)}."


def sections() -> Iterator[str]:
    """The tools by topic, then resources and prompts."""
    yield HEAD.strip()
    for topic in get_args(Topic):
        yield f"## {topic.capitalize()}"
        for tool in all_tools().values():
            if tool.topic == topic:
                yield from section(tool)
    yield "## Resources"
    shelf = library_for(BUILT_IN, {"HOME": "/nonexistent"}).shelf()
    rows = [f"| `{text.uri}` | {text.name} | {text.description} |" for text in shelf.listed]
    yield "\n".join(["| URI | Name | |", "|---|---|---|", *rows])
    yield "`symposium://ref/{id}` is what a `<symposium-ref>` stands for."
    yield "## Prompts"
    names = ", ".join(f"`{name}`" for name in (*COLLABORATORS, *ALIASES))
    yield (
        "`yiasou` and `hi` are the same: how we work here, where the agent is, and what it is to "
        f"do. The optional argument `collaborator` is one of {names}."
    )


def render() -> str:
    """The page."""
    return "\n\n".join(sections())
