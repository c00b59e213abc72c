"""Add the config's MCP servers to each session; not one of the user's mods."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

from peerwire.acp.names import INITIALIZE
from peerwire.jsonrpc.values import as_object
from symposium.chain.capabilities import Mode, takes_servers_over
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Mod, from_client

SERVERS: Final = "mcp servers"

_log = logging.getLogger(__name__)


class McpServers(Mod):
    """Append to `mcpServers` of requests that set up a session (acp-host §4.11).

    Attributes:
        servers: the servers to append.
        bridge: the chain's bridge, for agents that do not support HTTP servers.
    """

    def __init__(self, servers: Sequence[Mapping[str, Any]], bridge: Mode = "auto") -> None:
        self.servers = servers
        self.bridge = bridge
        self._suited = servers

    @from_client(INITIALIZE)
    def greet(self, message: ChainMessage) -> Forward:
        """Read which kinds of servers the agent supports: programs always, URLs if declared."""
        del message
        return Forward(then=self._initialized)

    def _initialized(self, answer: Answer) -> None:
        taken = {each for each in ("http", "sse") if takes_servers_over(each, answer.result)}
        if self.bridge != "off":
            taken.add("http")
        self._suited = list(_suited(self.servers, taken))

    @from_client("session/new", "session/load", "session/resume", "session/fork")
    def offer(self, message: ChainMessage) -> Forward:
        """Append the servers; a server of the editor with the same name takes precedence."""
        if not isinstance(message.params, dict):
            return Forward()
        params = cast("dict[str, Any]", message.params)
        given: list[Any] = list(params.get("mcpServers") or [])
        taken = {as_object(each).get("name") for each in given}
        added = [each for each in self._suited if each["name"] not in taken]
        return Forward({**params, "mcpServers": [*given, *added]})


def _suited(
    servers: Sequence[Mapping[str, Any]], taken: AbstractSet[str]
) -> Iterator[Mapping[str, Any]]:
    """The servers that are programs or of these forms; others are omitted."""
    for server in servers:
        form = server.get("type")
        if form is None or form in taken:
            yield server
        else:
            _log.warning("%s: the agent does not support MCP servers over %s", server["name"], form)
