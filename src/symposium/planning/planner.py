"""Choose the adapters of a chain, their order, and the capabilities it offers; no I/O.

Adapters come before all components, so only the editor or other adapters can meet their needs
(acp-host §3.3, steps 2, 3, and 6). This module does not know programs, transports, or config files.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from msgspec import Struct

from symposium.chain.capabilities import (
    MCP_OVER_ACP,
    VERSION,
    as_object,
    capabilities_member,
    client_capabilities,
    declared,
    primitives,
    with_capabilities,
)
from symposium.chain.mod import NO_NEEDS, Needs


class ChainEntry(Struct, frozen=True):
    """Name of a component, and the primitives it requires and provides."""

    id: str
    needs: Needs = NO_NEEDS


class Degraded(Struct, frozen=True):
    """Optional component that is left out, and the primitives it lacks."""

    component: str
    missing: tuple[str, ...]


class Plan(Struct, frozen=True):
    """The chain from the editor to the agent.

    Attributes:
        chain: adapters in the order of first need, then components in the configured order.
        provided_by: for each primitive, `editor` or the component that provides it.
        degraded: optional components that are left out.
        reasons: one line for each decision, for display.
    """

    chain: tuple[ChainEntry, ...]
    provided_by: Mapping[str, str]
    degraded: tuple[Degraded, ...] = ()
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the plan for `details` of the capabilities (acp-host §3.3, step 6)."""
        return {
            "provided_by": dict(self.provided_by),
            "chain": [{"id": entry.id, "kind": entry.needs.kind} for entry in self.chain],
            "degraded": [
                {"component": each.component, "missing": list(each.missing)}
                for each in self.degraded
            ],
        }


class MissingCapabilityError(Exception):
    """A required component needs a primitive that neither the editor nor an adapter has."""

    def __init__(self, component: str, capability: str) -> None:
        self.component = component
        self.capability = capability
        super().__init__(
            f"{component} needs {capability}, which neither the editor nor an adapter provides"
        )

    @property
    def data(self) -> dict[str, str]:
        """Data of the error on `initialize` (acp-host §3.3, step 2)."""
        return {
            "reason": "missing_capability",
            "component": self.component,
            "capability": self.capability,
        }


EDITOR = "editor"
"""Provider of the primitives that the editor offers."""


def plan(
    offered: Iterable[str], enabled: Sequence[ChainEntry], adapters: Sequence[ChainEntry]
) -> Plan:
    """Plan the chain for an editor that offers these primitives.

    Args:
        offered: primitives of the editor.
        enabled: enabled components, in the configured order. An enabled adapter is preferred to
            all others, but is added only if a component needs it.
        adapters: other available adapters, in order of preference.

    Raises:
        MissingCapabilityError: a need of a required component cannot be met.
    """
    own = [entry for entry in enabled if entry.needs.kind == "adapter"]
    planner = _Planner(offered, [*own, *adapters])
    for entry in enabled:
        if entry.needs.kind == "component":
            planner.add(entry)
    for adapter in own:
        planner.explain(adapter)
    return planner.result()


class _Planner:
    """State of one call of `plan`.

    A component may use the primitives of components before it (`_provided_by`). An adapter comes
    before all components, so it may use only those of the editor and of adapters (`_available`).
    """

    def __init__(self, offered: Iterable[str], adapters: Sequence[ChainEntry]) -> None:
        self._adapters = adapters
        self._provided_by = dict.fromkeys(offered, EDITOR)
        self._available = set(self._provided_by)
        self._chosen: list[ChainEntry] = []
        self._components: list[ChainEntry] = []
        self._degraded: list[Degraded] = []
        self._reasons: list[str] = []

    def add(self, component: ChainEntry) -> None:
        """Add a component and the adapters it needs, or leave it out with a reason.

        Raises:
            MissingCapabilityError: a need of a required component cannot be met.
        """
        added: list[tuple[ChainEntry, str]] = []
        missing: list[str] = []
        for primitive in component.needs.requires:
            so_far = [adapter for adapter, _ in added]
            present = set(self._provided_by) | provided(so_far)
            found = [] if primitive in present else self._supply(primitive, so_far, frozenset())
            if found is None:
                missing.append(primitive)
            else:
                added += [(adapter, primitive) for adapter in found]
        if missing and not component.needs.is_optional:
            raise MissingCapabilityError(component.id, missing[0])
        if missing:
            self._degraded.append(Degraded(component.id, tuple(missing)))
            names = ", ".join(missing)
            self._reasons.append(f"{component.id} is left out: nothing provides {names}")
            return
        for adapter, primitive in added:
            why = f"{adapter.id} is added: {component.id} needs {primitive}, the editor has none"
            self._take(adapter, self._chosen, why)
            self._available |= set(adapter.needs.provides)
        sources = [f"{name} from {self._provided_by[name]}" for name in component.needs.requires]
        why = ", ".join(sources) or "it needs nothing"
        self._take(component, self._components, f"{component.id} is in the chain: {why}")

    def explain(self, adapter: ChainEntry) -> None:
        """Add the reason if an enabled adapter is left out."""
        if adapter not in self._chosen:
            names = ", ".join(adapter.needs.provides)
            self._reasons.append(f"{adapter.id} is left out: no component needs {names} from it")

    def result(self) -> Plan:
        """The plan so far."""
        chain = (*self._chosen, *self._components)
        return Plan(chain, dict(self._provided_by), tuple(self._degraded), tuple(self._reasons))

    def _take(self, entry: ChainEntry, where: list[ChainEntry], reason: str) -> None:
        where.append(entry)
        for primitive in entry.needs.provides:
            self._provided_by.setdefault(primitive, entry.id)
        self._reasons.append(reason)

    def _supply(
        self, primitive: str, needed: Sequence[ChainEntry], above: AbstractSet[str]
    ) -> list[ChainEntry] | None:
        """Return the adapters to add for this primitive; None if none provides it.

        Adapters that another one needs come before it.

        Args:
            primitive: the required primitive.
            needed: adapters to add for the primitives before it.
            above: names of the adapters that need it; they are excluded to avoid a cycle.
        """
        for adapter in self._adapters:
            if primitive not in adapter.needs.provides or adapter.id in above:
                continue
            found = self._with_needs(adapter, needed, above | {adapter.id})
            if found is not None:
                return found
        return None

    def _with_needs(
        self, adapter: ChainEntry, needed: Sequence[ChainEntry], above: AbstractSet[str]
    ) -> list[ChainEntry] | None:
        found: list[ChainEntry] = []
        for primitive in adapter.needs.requires:
            if primitive in self._available | provided([*needed, *found]):
                continue
            deeper = self._supply(primitive, [*needed, *found], above)
            if deeper is None:
                return None
            found += deeper
        return [*found, adapter]


def provided(entries: Iterable[ChainEntry]) -> set[str]:
    """Return all primitives that these entries provide."""
    return {primitive for entry in entries for primitive in entry.needs.provides}


HOST_CAPABILITIES: Final[dict[str, Any]] = {MCP_OVER_ACP: True, "proxy": True}
"""Capabilities of the host itself."""

_EMPTY_PLAN: Final = Plan((), {})


def to_agent(params: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the params of `initialize` that the agent is expected to get.

    They are the editor's params with the primitives of the chain's components and of the host.
    """
    added = {primitive: True for primitive, source in plan.provided_by.items() if source != EDITOR}
    capabilities = _with(client_capabilities(params), {**added, **HOST_CAPABILITIES})
    return {**params, capabilities_member(params): capabilities}


def to_chain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params for the first component; each adapter adds its own primitives."""
    return to_agent(params, _EMPTY_PLAN)


def to_editor(result: Mapping[str, Any], plan: Plan, version: str) -> dict[str, Any]:
    """Add a flag for each primitive to the chain's result, and the plan as `details`.

    Args:
        result: result of the chain's `initialize`.
        plan: plan of the chain.
        version: version of the host.
    """
    flags: dict[str, Any] = dict.fromkeys(plan.provided_by, True)
    details = {**plan.as_json(), "symposium": {"version": version}}
    is_v2 = "capabilities" in result and "agentCapabilities" not in result
    member = "capabilities" if is_v2 else "agentCapabilities"
    enriched = _with(
        as_object(result.get(member)), {**flags, **HOST_CAPABILITIES, "details": details}
    )
    return {**result, member: enriched}


def before_agent(params: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the capabilities for an editor without an agent: its own and the host's.

    Args:
        params: params of the editor's `initialize`.
        version: version of the host.
    """
    own = Plan((), dict.fromkeys(primitives(params), EDITOR))
    return to_editor({}, own, version)["agentCapabilities"]


def _with(capabilities: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    # Keep an existing version, because it defines the meaning of the other members.
    version = declared(capabilities).get("version", VERSION)
    return with_capabilities(capabilities, {"version": version, **added})
