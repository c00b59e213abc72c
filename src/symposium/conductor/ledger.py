"""Knows the sessions of one chain, and how their MCP servers reach the agent; changes nothing.

It sees the few requests that set sessions up and end them, and none of what streams.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from peerwire.acp.names import INITIALIZE, SETUP_METHODS
from peerwire.jsonrpc.values import as_object
from symposium.conductor.blueprint import Component, InProcess
from symposium.conductor.bridge.agent_side import Mode
from symposium.conductor.bridge.last_hop import LAST_HOP
from symposium.conductor.component import Answer, Crossing, Forward, Mod, from_client

_LEDGER: Final = "ledger"


class LedgerSession(Struct, frozen=True):
    """One session.

    Attributes:
        cwd: where it works.
        servers: the declarations of its MCP servers, with what they need to be reached left out.
    """

    cwd: str
    servers: Sequence[Mapping[str, Any]]


class Ledger:
    """What is known of a chain's sessions.

    Attributes:
        sessions: by the agent's ids.
        greeting: the agent's own answer to `initialize`; None before it.
        mode: of the bridge.
    """

    def __init__(self) -> None:
        self.sessions: dict[str, LedgerSession] = {}
        self.greeting: object = None
        self.mode: Mode = "auto"

    def placed(
        self, mods: Sequence[Component], beside_agent: Sequence[InProcess]
    ) -> list[Component]:
        """The mods of a chain with ours among them: above the bridge, and next to the agent."""
        bridge = [at for at, mod in enumerate(mods) if mod.name in LAST_HOP and _is_hidden(mod)]
        at = bridge[0] if bridge else len(mods)
        self.mode = "auto" if bridge else "off"
        above = InProcess(_LEDGER, _Sessions(self), is_hidden=True)
        below = InProcess(_LEDGER, _Greeting(self), is_hidden=True)
        return [*mods[:at], above, *mods[at:], below, *beside_agent]


class _Sessions(Mod):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @from_client(*SETUP_METHODS)
    def _set_up(self, message: Crossing) -> Forward:
        if not message.is_request:
            return Forward()
        session = _session(as_object(message.params))
        named = None if message.method == "session/fork" else message.session_id

        def opened(answer: Answer) -> None:
            made = as_object(answer.result).get("sessionId", named)
            if isinstance(made, str):
                self._ledger.sessions[made] = session

        return Forward(then=opened)

    @from_client("session/close", "session/delete")
    def _ending(self, message: Crossing) -> Forward:
        named = message.session_id or ""

        def ended(_: Answer) -> None:
            self._ledger.sessions.pop(named, None)

        return Forward(then=ended)


class _Greeting(Mod):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @from_client(INITIALIZE)
    def _initialize(self, message: Crossing) -> Forward:
        del message

        def greeted(answer: Answer) -> None:
            self._ledger.greeting = answer.result

        return Forward(then=greeted)


def _is_hidden(component: Component) -> bool:
    return isinstance(component, InProcess) and component.is_hidden


def _session(params: Mapping[str, Any]) -> LedgerSession:
    listed: Any = params.get("mcpServers")
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    # Neither a header nor a variable is kept: what is not here cannot be told.
    servers = [
        {name: as_object(entry)[name] for name in ("name", "type") if name in as_object(entry)}
        for entry in entries
    ]
    return LedgerSession(str(params.get("cwd") or ""), servers)
