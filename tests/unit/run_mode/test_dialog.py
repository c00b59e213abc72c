"""Inputs of a dialog that waits."""

import pytest

from symposium.run_mode.chat import MAX_CANCELS, Dialog, Input


def typed(text: str) -> Input:
    return Input(text, lambda: None, lambda: None, lambda: True)


@pytest.mark.requirement("run-mode.cancels-bounded")
async def test_unread_cancels_are_limited() -> None:
    talk = Dialog(lambda _: None)
    for _ in range(3 * MAX_CANCELS):
        talk.cancel()
    talk.put(typed("1"))
    read = [await talk.read() for _ in range(MAX_CANCELS + 1)]
    talk.cancel()
    talk.put(typed("2"))

    assert read == ["cancel"] * MAX_CANCELS + ["1"]
    assert [await talk.read(), await talk.read()] == ["cancel", "2"]


@pytest.mark.requirement("run-mode.cancels-bounded")
async def test_typed_cancel_does_not_count_as_a_notification() -> None:
    talk = Dialog(lambda _: None)
    talk.put(typed("cancel"))
    assert await talk.read() == "cancel"
    for _ in range(2 * MAX_CANCELS):
        talk.cancel()
    talk.put(typed("last"))
    read = [await talk.read() for _ in range(MAX_CANCELS + 1)]

    assert read[-1] == "last"
