"""Plan a chain for one editor connection; optionally initialize its agent first.

See acp-host §3.3, steps 3 and 4. The agent gets predicted params of `initialize`. If the chain
later sends different params, the agent is restarted, because ACP allows only one `initialize`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from peerwire.acp.names import INITIALIZE
from peerwire.errors import INTERNAL_ERROR, LocalError, RpcError, SpawnError, TransportError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.transport import HIGH_WATER, Listener, OversizedLine, Transport
from peerwire.jsonrpc.values import decode_value, encode_value
from peerwire.transports.process import spawn
from symposium.catalog import builtin_mods, find_mod, installed_mods
from symposium.chain.blueprint import Blueprint, Component, InProcess, OnStderr, Program, StartWork
from symposium.chain.capabilities import primitives
from symposium.chain.link import OVERFLOW
from symposium.chain.mod import ComponentSpec, Needs
from symposium.planning.chain_spec import ChainSpec
from symposium.planning.planner import (
    ChainEntry,
    MissingCapabilityError,
    Plan,
    plan,
    provided,
    to_agent,
    to_chain,
    to_editor,
)

_log = logging.getLogger(__name__)

FIRST_ID: Final = b'"symposium-agent-first"'
"""Id of the predicted request; it differs from the chain's ids, which are numbers."""

Spawn: TypeAlias = Callable[[OnStderr | None], Transport]


def agent_first(
    agent: Program, prediction: Mapping[str, Any], *, spawn_agent: Spawn | None = None
) -> Program:
    """Wrap an agent so that it is initialized as soon as it starts.

    Args:
        agent: program that speaks ACP.
        prediction: expected params of the chain's `initialize`.
        spawn_agent: function that starts the agent. Default: spawn its command.
    """

    def by_command(on_stderr: OnStderr | None) -> Transport:
        return spawn(agent.command, on_stderr=on_stderr)

    def opener(start: StartWork, on_stderr: OnStderr | None) -> Transport:
        again = spawn_agent or by_command
        return AgentFirstTransport(lambda: again(on_stderr), prediction, start)

    return replace(agent, opener=opener)


class _EarlyLines:
    """Lines that the agent wrote before the chain's `initialize`."""

    def __init__(self) -> None:
        self._lines: list[bytes | OversizedLine] = []
        self.size = 0

    def add(self, line: bytes | OversizedLine) -> None:
        self._lines.append(line)
        self.size += len(line.head + line.tail if isinstance(line, OversizedLine) else line)

    def take(self) -> list[bytes | OversizedLine]:
        """Remove all lines, and return them."""
        lines, self._lines, self.size = self._lines, [], 0
        return lines


class AgentFirstTransport:
    """Transport to the agent that answers the chain's `initialize` from its first response."""

    def __init__(
        self, spawn_agent: Callable[[], Transport], prediction: Mapping[str, Any], start: StartWork
    ) -> None:
        self._spawn = spawn_agent
        self._prediction = prediction
        self._start_work = start
        self._agent = spawn_agent()
        self._kept: Message | None = None
        self._early = _EarlyLines()
        self._is_full = False
        self._is_held = False
        self._has_overflowed = False
        self._asked: bytes | None = None
        self._is_through = False

    @property
    def backlog(self) -> int:
        """Sent bytes that the agent has not read yet."""
        return self._agent.backlog

    def start(self, listener: Listener) -> None:
        """Start reading, and send the predicted `initialize`."""
        self._listener = listener
        self._agent.start(_Life(self, self._agent))
        body = encode_value(self._prediction)
        self._agent.send(wire.request(FIRST_ID, INITIALIZE, body))

    def send(self, line: bytes) -> None:
        """Send a line; the chain's `initialize` is first compared with the prediction."""
        if self._is_through or not self._is_initialize(line):
            self._agent.send(line)

    def pause_reading(self) -> None:
        """Stop reading until `resume_reading`."""
        self._is_held = True
        self._agent.pause_reading()

    def resume_reading(self) -> None:
        """Continue reading, unless too many early lines wait."""
        self._is_held = False
        if not self._is_full:
            self._agent.resume_reading()

    async def drain(self) -> None:
        """Wait until the backlog is below the low-water mark."""
        await self._agent.drain()

    async def aclose(self, *, grace: float = 1.0) -> None:
        await self._agent.aclose(grace=grace)

    def received(self, lines: Sequence[bytes | OversizedLine], agent: Transport) -> None:
        """Forward the agent's lines; lines before the chain's `initialize` are queued."""
        if agent is not self._agent or self._has_overflowed:
            return
        if self._is_through:
            self._listener.lines_received(lines)
            return
        for line in lines:
            if not self._keep(line):
                self._early.add(line)
        self._answer()
        self._limit_early()

    def listener_of(self, agent: Transport) -> Listener | None:
        """Return the listener; None if this agent was replaced or wrote too much."""
        return self._listener if agent is self._agent and not self._has_overflowed else None

    def _limit_early(self) -> None:
        """Limit the queue: pause reading after the agent's response, fail before it."""
        if self._kept is not None and self._early.size > HIGH_WATER and not self._is_full:
            self._is_full = True
            self._agent.pause_reading()
        elif self._kept is None and self._early.size > OVERFLOW:
            # The response may follow these lines, so a pause here would be a deadlock.
            self._has_overflowed = True
            self._agent.pause_reading()
            self._early.take()
            text = f"the agent wrote more than {OVERFLOW} bytes before it answered `initialize`"
            self._listener.ended(TransportError(text))

    def _keep(self, line: bytes | OversizedLine) -> bool:
        if self._kept is not None or isinstance(line, OversizedLine):
            return False
        message = wire.decode(line)
        if not isinstance(message, Message) or message.method is not UNSET:
            return False
        if message.id is UNSET or bytes(message.id) != FIRST_ID:
            return False
        self._kept = message
        return True

    def _is_initialize(self, line: bytes) -> bool:
        """Handle the line if it is the chain's `initialize`; return whether it is."""
        message = wire.decode(line)
        if not isinstance(message, Message) or message.method != INITIALIZE:
            return False
        assert message.id is not UNSET
        params = None if message.params is UNSET else decode_value(message.params)
        if plain(params) == plain(self._prediction):
            self._asked = bytes(message.id)
            self._answer()
        else:
            self._begin_again(line)
        return True

    def _answer(self) -> None:
        if self._kept is None or self._asked is None:
            return
        self._is_through = True
        kept, self._kept = self._kept, None
        if kept.error is not UNSET:
            answer = wire.error_response(self._asked, kept.error)
        else:
            answer = wire.result_response(self._asked, kept.result or b"null")
        self._listener.lines_received([answer, *self._early.take()])
        if self._is_full:
            self._is_full = False
            if not self._is_held:
                self._agent.resume_reading()

    def _begin_again(self, line: bytes) -> None:
        _log.warning(
            "the agent was asked what the chain does not ask in the end; it is started again"
        )
        left = self._agent
        self._start_work(left.aclose(grace=0))
        try:
            self._agent = self._spawn()
        except SpawnError as error:
            self._listener.ended(error)
            return
        self._is_through = True
        self._is_full = False
        self._early.take()
        self._agent.start(_Life(self, self._agent))
        self._agent.send(line)


class _Life(Struct, frozen=True):
    """Listener of one agent; ignores an agent that was replaced."""

    owner: AgentFirstTransport
    agent: Transport

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self.owner.received(lines, self.agent)

    def writing_paused(self) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.writing_paused()

    def writing_resumed(self) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.ended(error)


def plain(value: Any) -> Any:
    """Return the value without null or empty `_meta` members, at any depth."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value).items()
        kept = {name: plain(each) for name, each in members}
        return {name: each for name, each in kept.items() if name != "_meta" or each}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    return value


Order: TypeAlias = Literal["agent-first", "through-chain"]
"""Receiver of the first `initialize`: the agent, with predicted params, or the first mod."""

LookUp: TypeAlias = Callable[[str], ComponentSpec | None]

Refine: TypeAlias = Callable[[Plan, Mapping[str, Any]], Plan]
"""Adapts a plan to the agent's response; it may only remove optional components."""

VERSION: Final = "0.1.0"
"""Version of the host that is sent to the editor."""


def as_planned(plan: Plan, answer: Mapping[str, Any]) -> Plan:
    """Return the plan unchanged, for any capabilities of the agent (acp-host §3.3, step 3)."""
    del answer
    return plan


class ModPreferences(Struct, frozen=True):
    """Settings of the user for components, except their order.

    Attributes:
        optional: whether the chain may start without a component, by name. Default: its setting.
        without: names of components that cannot be used.
        needs: needs that the config declares, by component name, in addition to its own needs.
    """

    optional: Mapping[str, bool] = field(default_factory=dict[str, bool])
    without: AbstractSet[str] = frozenset()
    needs: Mapping[str, Needs] = field(default_factory=dict[str, Needs])

    def of(self, entry: ChainEntry) -> ChainEntry:
        """Return the entry with the settings of the user and of the config."""
        needs, is_optional = entry.needs, self.optional.get(entry.id)
        if (declared := self.needs.get(entry.id)) is not None:
            needs = replace(
                needs,
                kind=declared.kind if declared.kind == "adapter" else needs.kind,
                requires=(*needs.requires, *declared.requires),
                provides=(*needs.provides, *declared.provides),
            )
        if is_optional is not None:
            needs = replace(needs, is_optional=is_optional)
        return entry if needs is entry.needs else replace(entry, needs=needs)


NO_PREFERENCES: Final = ModPreferences()


class PlannedChain(Struct, frozen=True):
    """A chain that fits one editor connection.

    Attributes:
        plan: components, with the reason for each.
        blueprint: components, and the params of `initialize` for the first one.
        prediction: expected params of `initialize` for the agent.
    """

    plan: Plan
    blueprint: Blueprint
    prediction: Mapping[str, Any]

    def advertised(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Add the host's capabilities and `details` to the chain's result of `initialize`."""
        return to_editor(result, self.plan, VERSION)

    def dropped(self, result: Mapping[str, Any], refine: Refine) -> set[str]:
        """Return the names of the components that the refined plan leaves out.

        Raises:
            LocalError: the refinement adds a component, or leaves out a required one.
        """
        kept = [entry.id for entry in refine(self.plan, result).chain]
        gone = {entry.id for entry in self.plan.chain if entry.id not in kept}
        planned = {entry.id for entry in self.plan.chain}
        required = {
            entry.id
            for entry in self.plan.chain
            if entry.needs.kind == "component" and not entry.needs.is_optional
        }
        if gone & required or set(kept) - planned:
            wrong = ", ".join(sorted(gone & required | set(kept) - planned))
            raise LocalError(f"a plan may only be refined by leaving optional mods out: {wrong}")
        return gone


def planned_chain(
    chain: ChainSpec,
    params: Mapping[str, Any],
    order: Order = "through-chain",
    *,
    look_up: LookUp = find_mod,
    preferences: ModPreferences = NO_PREFERENCES,
) -> PlannedChain:
    """Plan the chain for an editor that sends these params of `initialize`.

    Args:
        chain: enabled mods, in the configured order, and the agent.
        params: params of the editor's `initialize`.
        order: receiver of the first `initialize`; a built-in agent gets it through the chain.
        look_up: finds a mod by its name.
        preferences: settings of the user for the mods.

    Raises:
        RpcError: a need of a required component is unmet; this is the response to `initialize`.
    """
    made_mods = chain.users_mods()
    # Hidden mods are added by the host: they are not in the plan, and come last.
    hidden = [mod for mod in made_mods if _is_hidden(mod)]
    mods = [mod for mod in made_mods if not _is_hidden(mod) and mod.name not in preferences.without]
    entries = [preferences.of(entry_of(mod, look_up)) for mod in mods]
    try:
        offered = primitives(params)
        made = plan(offered, entries, adapters_for(entries, offered))
    except MissingCapabilityError as error:
        raise RpcError(INTERNAL_ERROR, error.data) from error
    # Map by identity, because two mods may have the same name.
    by_entry = {id(entry): mod for entry, mod in zip(entries, mods, strict=True)}
    fitting = [by_entry.get(id(entry)) or _added(entry.id) for entry in made.chain]
    fitting += [*hidden, *chain.hosts_mods()]
    agent, prediction = chain.agent, to_agent(params, made)
    if order == "agent-first" and isinstance(agent, Program):
        agent = agent_first(agent, prediction)
    return PlannedChain(made, Blueprint(fitting, agent, to_chain(params)), prediction)


def _is_hidden(component: Component) -> bool:
    return isinstance(component, InProcess) and component.is_hidden


def adapters_for(enabled: Sequence[ChainEntry], offered: Iterable[str] = ()) -> list[ChainEntry]:
    """Return the available adapters: built-in ones, then those of installed distributions.

    Adapters are imported only if a component requires a primitive; those of distributions only if
    no other component provides it.

    Args:
        enabled: enabled components.
        offered: primitives of the editor.
    """
    if not any(entry.needs.requires for entry in enabled):
        return []
    adapters = [ChainEntry(spec.name, spec.needs) for spec in builtin_mods() if _is_adapter(spec)]
    at_hand = [*enabled, *adapters]
    required = {name for entry in at_hand for name in entry.needs.requires}
    if required <= provided(at_hand) | set(offered):
        return adapters
    return adapters + [
        ChainEntry(spec.name, spec.needs) for spec in installed_mods() if _is_adapter(spec)
    ]


def _is_adapter(spec: ComponentSpec) -> bool:
    return spec.needs.kind == "adapter"


def entry_of(component: Component, look_up: LookUp = find_mod) -> ChainEntry:
    """Return the plan entry of a component; a program has no known needs."""
    spec = look_up(component.name) if isinstance(component, InProcess) else None
    return ChainEntry(component.name) if spec is None else ChainEntry(spec.name, spec.needs)


def _added(name: str) -> Component:
    spec = find_mod(name)
    if spec is None:
        raise LocalError(f"the plan names {name}, which is no mod")
    return InProcess(name, spec.make())
