"""The status line of a chat."""

from pathlib import Path

import pytest

from symposium.cli.chat_view import ChatStatus, usage_text
from symposium.client.events import ModeChange, OptionsChange, Other, TokenUsage, read_event

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code"}]}
MODEL = {"id": "m", "category": "model", "currentValue": "big", "options": [{"value": "big"}]}


@pytest.mark.requirement("cli.chat-status")
def test_status_line_names_agent_model_mode_usage_and_directory() -> None:
    status = ChatStatus("opencode", Path("/project/a"))
    status.settings.opened({"modes": MODES, "configOptions": [MODEL]})
    status.usage = TokenUsage(12_345, 128_000, "0.25 EUR")

    line = "opencode · big · Ask · 12.3k of 128k tokens (9 %), 0.25 EUR · /project/a"
    assert status.line(100) == line
    assert status.line(20) == line[:19] + "…"


@pytest.mark.requirement("cli.chat-status")
def test_status_line_follows_updates_of_the_agent() -> None:
    status = ChatStatus("opencode")
    status.introduced({"agentInfo": {"name": "oc", "title": "Open\x1bCode"}})
    status.settings.opened({"modes": MODES})
    status.settings.reported(ModeChange("code"))
    status.settings.reported(OptionsChange((MODEL,)))

    assert status.line(100) == "Open␛Code · big · code"


@pytest.mark.requirement("cli.chat-status")
@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (TokenUsage(999, 200_000), "999 of 200k tokens (0 %)"),
        (TokenUsage(1_500_000, 2_000_000), "1.5M of 2M tokens (75 %)"),
        (TokenUsage(5, 0), "5 of 0 tokens"),
    ],
)
def test_tokens_are_shortened(usage: TokenUsage, text: str) -> None:
    assert usage_text(usage) == text


@pytest.mark.requirement("cli.chat-status", "cli.chat-unknown-updates")
def test_usage_update_is_parsed_and_malformed_members_are_named() -> None:
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2}

    assert read_event(update) == TokenUsage(1, 2)
    cost = {"amount": 0.5, "currency": "USD"}
    assert read_event(update | {"cost": cost}) == TokenUsage(1, 2, "0.50 USD")
    assert read_event(update | {"cost": {"amount": 10**400}}) == TokenUsage(1, 2)
    assert read_event(update | {"used": "?"}) == Other("usage_update", "used=? size=2")
    assert isinstance(read_event(update | {"used": 10**16}), Other)
