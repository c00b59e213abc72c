"""What a prompt asks of our Eliza beyond talk: to list or to use the tools of an MCP server.

The words are those of the reference's test agent (acp-host §5, row `elizacp`), so that its test
scenarios run here unchanged. Knows no MCP: it names what is to be done and words the outcome.
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
    """A command was meant, its arguments cannot be read; `reply` says how to mend it."""

    reply: str


class Talk(Struct, frozen=True):
    """No command: a remark to be answered."""

    text: str


Command: TypeAlias = ListToolsCommand | UseTool | Unreadable | Talk


def parse_command(text: str) -> Command:
    """What a prompt asks for; the words of a command in any case, its names as they are."""
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
        return Unreadable(_mend(server, tool, f"are not JSON: {_plainly(error)}"))
    if not isinstance(value, dict):
        return Unreadable(_mend(server, tool, "are JSON, but not an object"))
    return UseTool(server, tool, cast("dict[str, Any]", value))


def _plainly(error: ValueError) -> str:
    return "it holds half a character" if isinstance(error, UnicodeError) else str(error)


def _mend(server: str, tool: str, problem: str) -> str:
    return render_error(
        f"the arguments for {server}::{tool} {problem}; write: {_USE_FORM}".encode(
            errors="replace"
        ).decode()
    )


def render_tools(tools: Iterable[tuple[str, str | None]]) -> str:
    """The answer to `list tools`: one line a tool, from its name and description."""
    lines = [f"  - {name}: {description or '(no description)'}" for name, description in tools]
    return "\n".join(["Available tools:", *(lines or ["  (none)"])])


def render_result(text: str) -> str:
    """The answer to `use tool` when the tool has done it."""
    return f"OK: {text}"


def render_error(reason: str) -> str:
    """The answer to a command that could not be carried out."""
    return f"ERROR: {reason}"
