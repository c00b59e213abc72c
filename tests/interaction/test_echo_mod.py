"""Mod that gives the agent tools, over ACP itself."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from peerwire.transports.command import Command
from symposium.agents.testy.scenario import CallTool, ListTools, render_command
from symposium.chain.blueprint import Program
from symposium.chain.capabilities import Mode
from symposium.testing import chain_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    """Load a module of the examples from its file."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


words = example("words")


@pytest.mark.requirement("cli.mod-echo", "cli.testing-echo-server", "bridge.mode-native")
async def test_agent_with_mcp_over_acp_reaches_the_tools_of_a_mod() -> None:
    async with chain_of("arrow", "echo", "pass", agent="testy") as editor:
        listed = await editor.prompt(render_command(ListTools("echo")))
        said = await editor.prompt(render_command(CallTool("echo", "echo", {"message": "hi"})))
        added = await editor.prompt(render_command(CallTool("echo", "add", {"a": 2, "b": 3})))
        asked = editor.asked.items

    assert listed.text.splitlines() == [
        ">Available tools:",
        "  - echo: Return the message unchanged.",
        "  - add: Add two whole numbers.",
    ]
    assert "Echo: hi" in said.text
    assert '"text":"5"' in added.text
    assert asked == []


@pytest.mark.requirement(
    "cli.mod-echo", "cli.eliza-mcp-tool-call", "bridge.rewrite-integration-http"
)
@pytest.mark.parametrize("bridge", ["auto", "http", "stdio"])
async def test_agent_without_it_reaches_the_tools_over_the_bridge(bridge: Mode) -> None:
    async with chain_of("arrow", "echo", agent="eliza", bridge=bridge) as editor:
        listed = await editor.prompt("list tools from echo")
        said = await editor.prompt('use tool echo::echo with {"message": "hi"}')
        wrong = await editor.prompt("use tool echo::add with {}")

    assert listed.text.splitlines()[1:] == [
        "  - echo: Return the message unchanged.",
        "  - add: Add two whole numbers.",
    ]
    assert said.text == '>OK: "Echo: hi"'
    assert wrong.text.startswith(">ERROR: echo::add: ")


@pytest.mark.requirement("cli.mod-echo")
async def test_agent_without_it_does_not_reach_the_tools_when_the_bridge_is_off() -> None:
    async with chain_of("echo", agent="eliza", bridge="off") as editor:
        turn = await editor.prompt("list tools from echo")

    assert turn.text.startswith("ERROR: echo: ")


@pytest.mark.requirement("cli.testing-example")
async def test_example_with_a_tool_behaves_as_on_the_page() -> None:
    async with chain_of(words.make(), agent="eliza") as editor:
        turn = await editor.prompt('use tool words::count_words with {"text": "one two three"}')

    assert turn.text == "OK: 3"


@pytest.mark.requirement("cli.testing-example")
async def test_example_with_a_tool_runs_as_a_program() -> None:
    program = Program("words", Command((sys.executable, str(EXAMPLES / "words.py"))))
    async with chain_of(program, agent="eliza") as editor:
        turn = await editor.prompt('use tool words::count_words with {"text": "one two"}')

    assert turn.text == "OK: 2"
