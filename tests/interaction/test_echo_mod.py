"""A mod that gives the agent tools, over ACP itself."""

import pytest

from symposium.agents.testy.scenario import CallTool, ListTools, render_command
from symposium.testing import chain_of


@pytest.mark.requirement("cli.mod-echo", "cli.testing-echo-server", "bridge.mode-native")
async def test_an_agent_that_can_reaches_the_tools_of_a_mod_over_acp() -> None:
    async with chain_of("arrow", "echo", "pass", agent="testy") as editor:
        listed = await editor.prompt(render_command(ListTools("echo")))
        said = await editor.prompt(render_command(CallTool("echo", "echo", {"message": "hi"})))
        added = await editor.prompt(render_command(CallTool("echo", "add", {"a": 2, "b": 3})))
        asked = editor.asked.items

    assert listed.text.splitlines() == [
        ">Available tools:",
        "  - echo: Say the message again.",
        "  - add: Add two whole numbers.",
    ]
    assert "Echo: hi" in said.text
    assert '"text":"5"' in added.text
    assert asked == []
