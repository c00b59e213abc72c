"""Component with a clean exit: requests that do not need it are still answered (acp-host §1.9)."""

import asyncio

import pytest
from tests.support.chain_harness import chain_harness, mods

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Mod, Reply, from_client


class Thinker(Mod):
    """Answers by itself, once the test allows it."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    @from_client("_thinker/ask")
    async def think(self, message: ChainMessage) -> Reply:
        self.asked.set()
        await self.may_answer.wait()
        return Reply({"thought": message.params["about"]})


@pytest.mark.requirement("process.exit-spares-foreground")
async def test_response_of_a_mod_arrives_after_the_agent_has_exited() -> None:
    thinker = Thinker()
    async with chain_harness(*mods(thinker)) as it:
        agent = await it.open()
        it.client.ask(1, "_thinker/ask", {"about": "leaving"})
        async with asyncio.timeout(45):
            await thinker.asked.wait()
        await agent.hang_up()
        thinker.may_answer.set()
        answer = await it.client.read()
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": {"thought": "leaving"}}
