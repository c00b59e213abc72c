"""Commands in prompts for Eliza: list or call the tools of an MCP server.

The commands are those of the reference's test agent (acp-host §5, row `elizacp`), so that its test
scenarios run here unchanged. This module parses commands and renders results; it sends no messages.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from msgspec import Struct

from peerwire.jsonrpc.values import decode_value

_USE_FORM = 'use tool SERVER::TOOL with {"argument": "value"}'


class ListToolsCommand(Struct, frozen=True):
    """`list tools from SERVER`."""

    server: str


class UseTool(Struct, frozen=True):
    """`use tool SERVER::TOOL with {JSON}`."""

    server: str
    tool: str
    arguments: Mapping[str, Any]


class Unreadable(Struct, frozen=True):
    """A command with unreadable arguments; `reply` says how to fix it."""

    reply: str


class Talk(Struct, frozen=True):
    """A remark, not a command."""

    text: str


Command: TypeAlias = ListToolsCommand | UseTool | Unreadable | Talk


def parse_command(text: str) -> Command:
    """Parse a prompt; the words of a command match in any case, its names exactly."""
    match text.split(maxsplit=3):
        case [first, second, third, server] if _is(f"{first} {second} {third}", "list tools from"):
            return ListToolsCommand(server.rstrip())
        case [first, second, *rest] if _is(f"{first} {second}", "use tool"):
            return _parse_use(text.split(maxsplit=2)[2] if rest else "") or Talk(text)
        case _:
            return Talk(text)


def _is(words: str, expected: str) -> bool:
    return words.lower() == expected


def _parse_use(text: str) -> UseTool | Unreadable | None:
    server, separator, rest = text.partition("::")
    match rest.split(maxsplit=2):
        case [tool, word, arguments] if _is(word, "with") and server.strip() and separator:
            return _with_arguments(server.strip(), tool, arguments)
        case _:
            return None


def _with_arguments(server: str, tool: str, arguments: str) -> UseTool | Unreadable:
    try:
        value = decode_value(arguments.encode())
    except ValueError as error:
        return _unreadable(server, tool, f"are not JSON: {_plainly(error)}")
    if not isinstance(value, dict):
        return _unreadable(server, tool, "are JSON, but not an object")
    return UseTool(server, tool, cast("dict[str, Any]", value))


def _plainly(error: ValueError) -> str:
    return "it contains a lone surrogate" if isinstance(error, UnicodeError) else str(error)


def _unreadable(server: str, tool: str, problem: str) -> Unreadable:
    reason = f"the arguments for {server}::{tool} {problem}; write: {_USE_FORM}"
    return Unreadable(render_error(reason.encode(errors="replace").decode()))


def render_tools(tools: Iterable[tuple[str, str | None]]) -> str:
    """Render the answer to `list tools`, one line per tool."""
    lines = [f"  - {name}: {description or '(no description)'}" for name, description in tools]
    return "\n".join(["Available tools:", *(lines or ["  (none)"])])


def render_result(text: str) -> str:
    """Render the answer to a `use tool` that succeeded."""
    return f"OK: {text}"


def render_error(reason: str) -> str:
    """Render the answer to a command that failed."""
    return f"ERROR: {reason}"
