"""Log records are forwarded to the bus."""

import logging

import pytest

from symposium.bus.messages.broker import Log
from symposium.mcp_server.startup import MAX_MESSAGE, logged_to


@pytest.mark.requirement("mcp-server.logs")
def test_log_records_are_forwarded_except_those_of_the_bus() -> None:
    said: list[Log] = []
    ours, bus = logging.getLogger("symposium.mcp_server.x"), logging.getLogger("symposium.bus.y")
    ours.setLevel(logging.DEBUG)
    with logged_to(said.append):
        ours.debug("too much")
        ours.info("begun")
        ours.warning("odd: %s", "x" * MAX_MESSAGE)
        ours.error("wrong")
        bus.error("would loop")
    ours.error("afterwards")

    assert [each.level for each in said] == ["info", "warn", "error"]
    assert said[1].message.startswith("symposium.mcp_server.x: odd: x")
    assert len(said[1].message) == MAX_MESSAGE
