"""What a planner has decided, and why."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from symposium.planning.entry import Entry


class Degraded(Struct, frozen=True):
    """An optional component that is left out, and what it would have needed."""

    component: str
    missing: tuple[str, ...]


class Plan(Struct, frozen=True):
    """The chain from the editor to the agent.

    Attributes:
        chain: adapters in the order of first need, then components in the configured order.
        provided_by: for each primitive, `editor` or the component that provides it.
        degraded: what is left out.
        reasons: one line a decision, for people.
    """

    chain: tuple[Entry, ...]
    provided_by: Mapping[str, str]
    degraded: tuple[Degraded, ...] = ()
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The plan as `details` of the advertisement carries it (acp-host §3.3, step 6)."""
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
        """What the error on `initialize` carries (acp-host §3.3, step 2)."""
        return {
            "reason": "missing_capability",
            "component": self.component,
            "capability": self.capability,
        }
