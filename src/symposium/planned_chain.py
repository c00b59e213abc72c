"""From the components that are enabled to the chain that fits an editor (acp-host §3.3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from peerwire.errors import INTERNAL_ERROR, LocalError, RpcError
from symposium.catalog import builtin_mods, find_mod, installed_mods
from symposium.chain.blueprint import Blueprint, Component, InProcess, Program
from symposium.chain.capabilities import primitives
from symposium.chain.mod import ComponentSpec, Needs
from symposium.chain_spec import ChainSpec
from symposium.conductor.agent_first import agent_first
from symposium.planning.advertisement import to_agent, to_chain, to_editor
from symposium.planning.entry import Entry
from symposium.planning.plan import MissingCapabilityError, Plan
from symposium.planning.planner import plan, provided

Order: TypeAlias = Literal["agent-first", "through-chain"]
"""Who is asked `initialize` first: the agent, with what is predicted, or the first mod."""

LookUp: TypeAlias = Callable[[str], ComponentSpec | None]

Refine: TypeAlias = Callable[[Plan, Mapping[str, Any]], Plan]
"""Looks at a plan once more when the agent has answered; may only leave optional components out."""

VERSION: Final = "0.1.0"
"""The host's version, as the editor is told."""


def as_planned(plan: Plan, answer: Mapping[str, Any]) -> Plan:
    """The plan as it is: what the agent can do changes nothing (acp-host §3.3, step 3)."""
    del answer
    return plan


class Wishes(Struct, frozen=True):
    """What the user has said of the components beside their order.

    Attributes:
        optional: whether the chain may go without one, by name; else the component itself says.
        without: names of those that have turned out not to be possible.
        needs: what the config declares of a component's needs, by name; added to its own.
    """

    optional: Mapping[str, bool] = field(default_factory=dict[str, bool])
    without: AbstractSet[str] = frozenset()
    needs: Mapping[str, Needs] = field(default_factory=dict[str, Needs])

    def of(self, entry: Entry) -> Entry:
        """The entry, as optional as the user wants it, with what the config declares."""
        needs, wish = entry.needs, self.optional.get(entry.id)
        if (declared := self.needs.get(entry.id)) is not None:
            needs = replace(
                needs,
                kind=declared.kind if declared.kind == "adapter" else needs.kind,
                requires=(*needs.requires, *declared.requires),
                provides=(*needs.provides, *declared.provides),
            )
        if wish is not None:
            needs = replace(needs, is_optional=wish)
        return entry if needs is entry.needs else replace(entry, needs=needs)


NO_WISHES: Final = Wishes()


class PlannedChain(Struct, frozen=True):
    """A chain that fits one editor connection.

    Attributes:
        plan: which components stand in it, and why.
        blueprint: the components, and the params that `initialize` begins with.
        prediction: the params of `initialize` that the agent is expected to get.
    """

    plan: Plan
    blueprint: Blueprint
    prediction: Mapping[str, Any]

    def advertised(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The chain's answer to `initialize`, enriched for the editor."""
        return to_editor(result, self.plan, VERSION)

    def dropped(self, result: Mapping[str, Any], refine: Refine) -> set[str]:
        """The components that, knowing the agent's answer, are better left out.

        Raises:
            LocalError: the refinement leaves out what is not optional, or adds something.
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
    wishes: Wishes = NO_WISHES,
) -> PlannedChain:
    """The chain for an editor that sends these params of `initialize`.

    Args:
        chain: the enabled mods, in the configured order, and the agent.
        params: the editor's.
        order: when the agent is asked; one that is built in is asked through the chain.
        look_up: finds a mod by its name.
        wishes: what the user has said of the mods.

    Raises:
        RpcError: a component that is required lacks what it needs; the answer to `initialize`.
    """
    made_mods = chain.users_mods()
    # What the host puts in has no name to look up, and stands next to the agent.
    hidden = [mod for mod in made_mods if _is_hidden(mod)]
    mods = [mod for mod in made_mods if not _is_hidden(mod) and mod.name not in wishes.without]
    entries = [wishes.of(entry_of(mod, look_up)) for mod in mods]
    try:
        offered = primitives(params)
        made = plan(offered, entries, adapters_for(entries, offered))
    except MissingCapabilityError as error:
        raise RpcError(INTERNAL_ERROR, error.data) from error
    # By identity: two mods of one name are two, and each stands where it was written.
    by_entry = {id(entry): mod for entry, mod in zip(entries, mods, strict=True)}
    fitting = [by_entry.get(id(entry)) or _added(entry.id) for entry in made.chain]
    fitting += [*hidden, *chain.hosts_mods()]
    agent, prediction = chain.agent, to_agent(params, made)
    if order == "agent-first" and isinstance(agent, Program):
        agent = agent_first(agent, prediction)
    return PlannedChain(made, Blueprint(fitting, agent, to_chain(params)), prediction)


def _is_hidden(component: Component) -> bool:
    return isinstance(component, InProcess) and component.is_hidden


def adapters_for(enabled: Sequence[Entry], offered: Iterable[str] = ()) -> list[Entry]:
    """The adapters to choose from: the built-in ones, then those of installed distributions.

    None is imported where no component needs any; those of distributions only where something is
    required that no other component provides.

    Args:
        enabled: the enabled components.
        offered: the editor's primitives.
    """
    if not any(entry.needs.requires for entry in enabled):
        return []
    adapters = [Entry(spec.name, spec.needs) for spec in builtin_mods() if _is_adapter(spec)]
    at_hand = [*enabled, *adapters]
    required = {name for entry in at_hand for name in entry.needs.requires}
    if required <= provided(at_hand) | set(offered):
        return adapters
    return adapters + [
        Entry(spec.name, spec.needs) for spec in installed_mods() if _is_adapter(spec)
    ]


def _is_adapter(spec: ComponentSpec) -> bool:
    return spec.needs.kind == "adapter"


def entry_of(component: Component, look_up: LookUp = find_mod) -> Entry:
    """A component as a plan sees it; a program of its own needs nothing that we know of."""
    spec = look_up(component.name) if isinstance(component, InProcess) else None
    return Entry(component.name) if spec is None else Entry(spec.name, spec.needs)


def _added(name: str) -> Component:
    spec = find_mod(name)
    if spec is None:
        raise LocalError(f"the plan names {name}, which is no mod")
    return InProcess(name, spec.make())
