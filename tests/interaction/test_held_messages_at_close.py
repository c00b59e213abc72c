"""Chain that ends while messages wait behind one that a mod holds."""

import asyncio

import pytest
from tests.support.chain_harness import chain_harness, inner, mods

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, from_client


class Holder(Mod):
    """Holds each notification until it is canceled."""

    def __init__(self) -> None:
        self.held = 0
        self.holds = asyncio.Event()

    @from_client("hold")
    async def hold(self, _: ChainMessage) -> Forward:
        self.held += 1
        self.holds.set()
        await asyncio.Event().wait()
        return Forward()


@pytest.mark.requirement("conductor.end-asks-no-mod")
@pytest.mark.parametrize("nested", [False, True], ids=["direct", "nested"])
async def test_waiting_messages_reach_no_mod_when_the_chain_ends(*, nested: bool) -> None:
    holder = Holder()
    them = mods(holder)
    async with chain_harness(*([inner(*them)] if nested else them)) as it:
        await it.open()
        for number in range(3):
            it.client.tell("hold", {"sessionId": "s", "n": number})
        async with asyncio.timeout(45):
            await holder.holds.wait()
        await it.client.hang_up()
        assert await it.exit_code() == 0
    assert holder.held == 1
