"""Eliza uses the tools of MCP servers that are programs, when a prompt asks for it."""

import asyncio
import sys
from typing import Any

import pytest

from symposium.testing import ECHO_SERVER, Turn, chain_of

SILENT: dict[str, Any] = {
    "name": "silent",
    "command": sys.executable,
    "args": ["-c", "import sys; sys.stdin.read()"],
    "env": [],
}
GONE: dict[str, Any] = {"name": "gone", "command": "/nowhere/server", "args": [], "env": []}


async def answer_to(text: str, *servers: dict[str, Any]) -> Turn:
    """Return the answer to a prompt in a session with these servers."""
    async with chain_of("pass") as editor:
        await editor.new_session(servers=servers)
        return await editor.prompt(text)


def calls_in(turn: Turn) -> list[tuple[Any, ...]]:
    """Return each step of the tool calls, without the texts."""
    keys = ("sessionUpdate", "toolCallId", "status")
    return [
        tuple(update[key] for key in keys)
        for update in turn.updates
        if update["sessionUpdate"].startswith("tool_call")
    ]


@pytest.mark.requirement("cli.eliza-mcp-tool-call", "cli.eliza-use-tool", "cli.testing-echo-server")
async def test_tool_of_a_program_is_called_and_reported() -> None:
    turn = await answer_to(
        'USE tool echo::echo WITH {"message": "Hello from the test!"}', ECHO_SERVER
    )

    assert turn.text == "OK: Echo: Hello from the test!"
    assert turn.stop_reason == "end_turn"
    assert calls_in(turn) == [
        ("tool_call", "call-1", "in_progress"),
        ("tool_call_update", "call-1", "completed"),
    ]


@pytest.mark.requirement("cli.eliza-list-tools", "bridge.tools-list-text")
async def test_tools_of_a_server_are_listed() -> None:
    turn = await answer_to("list TOOLS from echo", SILENT, ECHO_SERVER)

    assert turn.text == (
        "Available tools:\n  - echo: Say the message again.\n  - add: Add two whole numbers."
    )


@pytest.mark.requirement("cli.eliza-list-tools", "cli.eliza-use-tool")
@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("/list-tools echo", "Available tools:"),
        ('/use-tool echo::add with {"a": 2, "b": 3}', "OK: 5"),
        ("/list-tools", "ERROR: list tools from what? Write: /list-tools SERVER or /use-tool "),
        ("/use-tool echo", "ERROR: use tool echo what? Write: "),
        ("/list-toolsy", "I am listening."),
    ],
)
async def test_announced_commands_work(text: str, reply: str) -> None:
    turn = await answer_to(text, ECHO_SERVER)

    assert turn.text.startswith(reply)


@pytest.mark.requirement("cli.eliza-use-tool-wrong")
@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (
            "use tool other::echo with {}",
            "ERROR: no MCP server is called other; this session has echo, gone",
        ),
        ("list tools from other", "ERROR: no MCP server is called other"),
        ("use tool echo::sing with {}", "ERROR: echo has no tool sing; it has echo, add"),
        ("use tool echo::add with {}", "ERROR: echo::add: "),
        ("use tool echo::add with {", "ERROR: the arguments for echo::add are not JSON"),
        ("list tools from gone", "ERROR: gone: "),
    ],
)
async def test_tool_errors_are_reported(text: str, reply: str) -> None:
    turn = await answer_to(text, ECHO_SERVER, GONE)

    assert turn.text.startswith(reply)
    assert all(status == "failed" for kind, _, status in calls_in(turn) if "update" in kind)


@pytest.mark.requirement("cli.eliza-cancel")
async def test_canceled_turn_ends_and_the_next_one_works() -> None:
    async with chain_of("arrow") as editor:
        await editor.new_session(servers=[SILENT])
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(editor.prompt("list tools from silent"))
            await editor.until(lambda update: update["sessionUpdate"] == "tool_call")
            editor.cancel()
        after = await editor.prompt("Hello")

    assert prompt.result().stop_reason == "cancelled"
    assert calls_in(prompt.result())[-1] == ("tool_call_update", "call-1", "failed")
    assert after.text.startswith(">How do you do.")
