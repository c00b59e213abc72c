"""Ctrl-C during a turn."""

import asyncio
import signal

import pytest

from symposium.client import conversation as conversations


@pytest.mark.requirement("cli.exit-interrupted")
async def test_interrupts_have_their_earlier_handler_after_a_turn() -> None:
    def handler(*_: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGINT, handler)
    try:
        with conversations.on_interrupt(asyncio.Event().set):
            assert signal.getsignal(signal.SIGINT) is not handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
