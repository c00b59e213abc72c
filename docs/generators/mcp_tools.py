"""Generate the page of the MCP server's tools, resources, and prompts."""

from collections.abc import Iterator
from typing import Any, get_args

from symposium.documents.first_prompt import ALIASES, COLLABORATORS
from symposium.documents.guidance import BUILT_IN, library_for
from symposium.mcp_server.offering import all_tools
from symposium.mcp_server.tool import Hints, ServedTool, Topic

PAGE = "reference/mcp-tools.md"

HEAD = """# MCP tools

The tools, resources, and prompts that `symposium mcp` offers to an agent.
[Give an agent the MCP server](../how-to/mcp-server.md) explains how to use it, and
[the MCP server](../design/mcp-server.md) its design.

A failed tool call returns an error with its fix. Unknown arguments are rejected by name.
"""


def kind_of(schema: dict[str, Any]) -> str:
    """JSON type of an argument, as one word."""
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        kinds = (kind_of(each) for each in schema["anyOf"])
        return " or ".join(kind for kind in kinds if kind != "null")
    return str(schema.get("type", "any"))


def hints_of(hints: Hints) -> str:
    """Description of the hints for clients."""
    words = {
        "read-only": hints.reads_only,
        "may delete something": hints.destroys,
        "may be repeated": hints.repeats_well,
        "may use the network": hints.reaches_out,
    }
    return "; ".join(text for text, holds in words.items() if holds) or "changes something"


def section(tool: ServedTool) -> Iterator[str]:
    """Section of one tool."""
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
    """Tools by topic, then resources and prompts."""
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
    yield "`symposium://ref/{id}` is the content of a `<symposium-ref>` tag."
    yield "## Prompts"
    names = ", ".join(f"`{name}`" for name in (*COLLABORATORS, *ALIASES))
    yield (
        "`yiasou` and `hi` return the same text: the working rules, the agent's taskspace, and its "
        "task. "
        f"The optional argument `collaborator` is one of {names}."
    )


def render() -> str:
    """The page."""
    return "\n\n".join(sections())
