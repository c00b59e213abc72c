"""Gives each session the MCP servers of the config; part of the host, not of the user's chain."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from symposium.conductor.component import Crossing, Forward, Mod, from_client
from symposium.conductor.gate import members_of

SERVERS: Final = "mcp servers"


class McpServers(Mod):
    """Appends to `mcpServers` of whatever sets a session up (acp-host §4.11).

    Attributes:
        servers: what is appended.
    """

    def __init__(self, servers: Sequence[Mapping[str, Any]]) -> None:
        self.servers = servers

    @from_client("session/new", "session/load", "session/resume", "session/fork")
    def offer(self, message: Crossing) -> Forward:
        """Add ours after the editor's own; one of the same name stays the editor's."""
        if not isinstance(message.params, dict):
            return Forward()
        params = cast("dict[str, Any]", message.params)
        given: list[Any] = list(params.get("mcpServers") or [])
        taken = {members_of(each).get("name") for each in given}
        added = [each for each in self.servers if each["name"] not in taken]
        return Forward({**params, "mcpServers": [*given, *added]})
