"""Messages stored for an editor whose user is in the menu (acp-host §4.6, users E-10)."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.run_mode_harness import CONFIG, run_mode_harness

from symposium.run_mode.editor_route_end import MAX_QUEUED

SIZE = 256 * 1024
COUNT = 2 * MAX_QUEUED // SIZE


@pytest.mark.requirement("stories.menu-bound")
async def test_agent_that_floods_behind_the_menu_is_not_read_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.say("/symposium:config")
        for number in range(COUNT):
            news: dict[str, Any] = {"sessionUpdate": "news", "n": number, "pad": "x" * SIZE}
            agent.tell("session/update", {"sessionId": "s", "update": news})
        (chain,) = it.agent.supervisor.chains()
        kept = -1
        while kept < chain.end.gate.size:
            kept = chain.end.gate.size
            await it.say("1")
        assert MAX_QUEUED < kept < MAX_QUEUED + 4 * 1024 * 1024
        # The rest waits at the agent's end.
        assert agent.transport.backlog > MAX_QUEUED / 2

        turn = it.prompt("cancel")
        numbers: list[int] = []
        while len(numbers) < COUNT:
            message = await it.editor.read()
            if message.get("id") != turn:
                update = message["params"]["update"]
                numbers += [update["n"]] if "n" in update else []
        assert numbers == list(range(COUNT))
        assert chain.end.gate.size == 0
