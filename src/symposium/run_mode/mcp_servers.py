"""Gives each session the MCP servers of the config; part of the host, not of the user's chain."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from peerwire.acp.names import INITIALIZE
from symposium.conductor.bridge.agent_side import takes_servers_over
from symposium.conductor.component import Answer, Crossing, Forward, Mod, from_client
from symposium.conductor.gate import members_of

SERVERS: Final = "mcp servers"

_log = logging.getLogger(__name__)


class McpServers(Mod):
    """Appends to `mcpServers` of whatever sets a session up (acp-host §4.11).

    Attributes:
        servers: what is appended.
    """

    def __init__(self, servers: Sequence[Mapping[str, Any]]) -> None:
        self.servers = servers
        self._suited = servers

    @from_client(INITIALIZE)
    def greet(self, message: Crossing) -> Forward:
        """Learn how the agent takes servers: programs always, URLs if it says so."""
        del message
        return Forward(then=self._greeted)

    def _greeted(self, answer: Answer) -> None:
        self._suited = list(_suited(self.servers, answer.result))

    @from_client("session/new", "session/load", "session/resume", "session/fork")
    def offer(self, message: Crossing) -> Forward:
        """Add ours after the editor's own; one of the same name stays the editor's."""
        if not isinstance(message.params, dict):
            return Forward()
        params = cast("dict[str, Any]", message.params)
        given: list[Any] = list(params.get("mcpServers") or [])
        taken = {members_of(each).get("name") for each in given}
        added = [each for each in self._suited if each["name"] not in taken]
        return Forward({**params, "mcpServers": [*given, *added]})


def _suited(servers: Sequence[Mapping[str, Any]], greeting: object) -> Iterator[Mapping[str, Any]]:
    """The servers in forms that the agent takes; one that it cannot be given is left out."""
    for server in servers:
        form = server.get("type")
        if form is None or takes_servers_over(form, greeting):
            yield server
        elif form == "http":
            yield relayed(server)
        else:
            _log.warning("%s: the agent takes no MCP server over %s", server["name"], form)


def relayed(server: Mapping[str, Any]) -> Mapping[str, Any]:
    """A server at a URL as a program that relays to it."""
    from peerwire.mcp.relay import relay_declaration  # noqa: PLC0415 - few agents need it

    return relay_declaration(dict(server))
