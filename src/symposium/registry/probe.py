"""Start an agent, initialize it, and stop it: `symposium agents test`."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from localio.text import plain_text
from peerwire.acp.methods import METHODS, is_offered
from peerwire.errors import PeerwireError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.jsonrpc.values import as_list, as_object
from peerwire.transports.command import Command, shown
from peerwire.transports.process import ProcessExitedError, spawn
from symposium.errors import AgentTimeoutError, SymposiumError

HANDSHAKE_TIME: Final = 30.0
"""Timeout in seconds for `initialize`."""

_SHOWN: Final = 5
_ALWAYS: Final = ("session/new", "session/prompt", "session/cancel")


@dataclass(frozen=True, slots=True)
class AgentProbe:
    """An agent's initialize result.

    Attributes:
        answer: the initialize result, unchanged.
        seconds: from the start to the result.
    """

    answer: Mapping[str, Any]
    seconds: float

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Value of `agentCapabilities`; empty if missing."""
        return as_object(self.answer.get("agentCapabilities"))

    @property
    def agent(self) -> str:
        """Name and version; empty if missing."""
        info = as_object(self.answer.get("agentInfo"))
        return " ".join(str(info[key]) for key in ("name", "version") if info.get(key))

    @property
    def auth_methods(self) -> list[Mapping[str, Any]]:
        """Authentication methods that the agent offers."""
        offered = self.answer.get("authMethods")
        each = as_list(offered)
        return [cast("Mapping[str, Any]", one) for one in each if isinstance(one, Mapping)]

    @property
    def session_methods(self) -> list[str]:
        """Session methods that the agent supports (acp-host §7.1)."""
        offered = [
            name
            for name, method in METHODS.items()
            if name.startswith("session/") and method.capability and is_offered(method, self.answer)
        ]
        return [*_ALWAYS, *offered]

    @property
    def mcp_transports(self) -> list[str]:
        """MCP transports that the agent supports; every agent supports stdio."""
        offered = as_object(self.capabilities.get("mcpCapabilities"))
        return ["stdio", *(name for name in ("http", "sse", "acp") if offered.get(name) is True)]


async def probe_agent(command: Command, *, seconds: float = HANDSHAKE_TIME) -> AgentProbe:
    """Initialize as a client without capabilities.

    Raises:
        SpawnError: the program could not be started.
        AgentTimeoutError: it did not answer in time.
        ExplainedError: it answered with an error, or exited.
    """
    process = spawn(command)
    connection = Connection(process, Handlers())
    client = {"name": "symposium", "version": "0.1.0"}
    params = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": client}
    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(connection.run())
        try:
            async with asyncio.timeout(seconds):
                answer = await connection.request("initialize", params)
            outcome = answer
        except (TimeoutError, PeerwireError) as error:
            outcome = error
        taken = time.monotonic() - began
        connection.close()
    match outcome:
        case TimeoutError():
            raise AgentTimeoutError(
                f"`{shown(command.argv)}` did not answer initialize within {seconds:g} s",
                "check that it is an ACP agent; some need an option such as --acp",
            )
        case PeerwireError():
            raise _refused(command, connection.error or outcome)
        case Mapping():
            return AgentProbe(cast("Mapping[str, Any]", outcome), taken)
        case _:
            raise SymposiumError(f"`{shown(command.argv)}` answered {outcome!r:.200}", "")


def _refused(command: Command, error: Exception) -> SymposiumError:
    tail: list[str] = []
    if isinstance(error, ProcessExitedError):
        text = plain_text(error.stderr_tail.decode(errors="replace"))
        tail = [f"| {line}" for line in text.strip().splitlines()[-_SHOWN:]]
    stderr = "the end of its stderr:\n" + "\n".join(tail) if tail else "it wrote nothing to stderr"
    return SymposiumError(f"`{shown(command.argv)}` is not a working agent: {error}", stderr)
