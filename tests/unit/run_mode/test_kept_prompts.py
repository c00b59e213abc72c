"""Prompts that wait for a session's agent."""

from typing import Any

import pytest

from peerwire.jsonrpc.values import encode_value
from symposium.chain.messages import ChainMessage
from symposium.run_mode import sessions
from symposium.run_mode.failure_text import MESSAGE_NOT_SAVED, MESSAGE_SAVED
from symposium.run_mode.sessions import MAX_KEPT, Session


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def waiting() -> Session:
    return Session("s", setup=ChainMessage("session/new", b"{}", is_request=True))


@pytest.mark.requirement("run-mode.kept-bound")
def test_prompts_are_saved_up_to_exactly_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    first, blank, second = [text("one")], text("\n\n"), [text("two"), {"type": "image"}]
    size = len(encode_value(first)) + len(encode_value([blank, *second]))
    for limit, reports in ((size, [MESSAGE_SAVED] * 2), (size - 1, [MESSAGE_SAVED, None])):
        monkeypatch.setattr(sessions, "MAX_KEPT", limit)
        session = waiting()
        assert [session.keep(first), session.keep(second)] == [
            each or MESSAGE_NOT_SAVED for each in reports
        ]
        saved = [*first, blank, *second] if limit == size else first
        assert session.kept == saved
        # Sent prompts make room.
        session.kept = []
        assert session.keep(second) == MESSAGE_SAVED
    assert f"{MAX_KEPT // 1024**2} MiB" in MESSAGE_NOT_SAVED


@pytest.mark.requirement("run-mode.kept-bound")
def test_empty_prompt_and_one_for_a_running_agent_are_not_saved() -> None:
    session = waiting()
    assert session.keep([text(" "), text("")]) is None
    assert Session("s").keep([text("hello")]) is None
    assert session.kept == []
