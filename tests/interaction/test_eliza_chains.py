"""Eliza behind chains of mods, after the reference's tests of its conductor."""

import pytest

from peerwire.jsonrpc.transport import Transport
from symposium.chain.blueprint import Blueprint, InProcess, Served
from symposium.chain.conductor import Conductor, Settings
from symposium.mods.arrow import Arrow
from symposium.testing import chain_of

GREETING = "How do you do. Please state your problem."


def proxy_of(*arrows: Arrow) -> Served:
    """Return a conductor in proxy mode, in this process, with these arrow mods."""

    async def serve(transport: Transport) -> None:
        blueprint = Blueprint([InProcess("arrow", arrow) for arrow in arrows], None)
        await Conductor(transport, lambda _: blueprint, Settings(is_proxy=True)).run()

    return Served("nested", serve)


@pytest.mark.requirement(
    "conductor.chain-empty", "cli.eliza-hello", "cli.testing-chain-of", "cli.testing-fake-editor"
)
async def test_conductor_without_mods_is_transparent() -> None:
    async with chain_of(agent="eliza") as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == GREETING
    assert turn.stop_reason == "end_turn"


@pytest.mark.requirement("conductor.chain-arrow", "cli.mod-arrow", "cli.testing-arrow")
async def test_one_arrow_marks_the_answer() -> None:
    async with chain_of("arrow", agent="eliza") as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">{GREETING}"


@pytest.mark.requirement("conductor.chain-nested")
async def test_two_arrows_in_a_nested_conductor_both_mark_the_answer() -> None:
    async with chain_of(proxy_of(Arrow(), Arrow()), agent="eliza") as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>{GREETING}"


@pytest.mark.requirement("conductor.chain-nested")
async def test_arrows_mark_the_answer_at_every_place() -> None:
    nested = proxy_of(Arrow())
    async with chain_of("arrow", nested, "pass", proxy_of(), Arrow(), agent="eliza") as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>>{GREETING}"
