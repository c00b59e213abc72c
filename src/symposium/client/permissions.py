"""Permission requests of an agent, and deciders."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, cast

from symposium.client.events import ToolCall, read_tool_call

READ_KINDS: Final = frozenset({"read", "search", "think"})
"""Kinds of tool calls that change nothing; not `fetch`, which uses the network."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way to answer.

    Attributes:
        id: what is sent; two options may share a kind, never an id.
        name: what a person reads.
        kind: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or one new to us.
    """

    id: str
    name: str
    kind: str

    @property
    def allows(self) -> bool:
        """Whether choosing it lets the agent go on."""
        return self.kind.startswith("allow")


@dataclass(frozen=True, slots=True)
class Permission:
    """A question of the agent's: may it do this?"""

    tool_call: ToolCall
    options: tuple[Option, ...]

    def option(self, *kinds: str) -> Option | None:
        """The first option of the first of these kinds that there is."""
        found = [option for kind in kinds for option in self.options if option.kind == kind]
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The person, or the rule, chose this."""

    option: Option


@dataclass(frozen=True, slots=True)
class Declined:
    """No option was chosen: the turn is cancelled, or none of them says no."""


Decision: TypeAlias = Chosen | Declined


class Decider(Protocol):
    """Decides on permissions: a rule, or a person."""

    async def decide(self, permission: Permission) -> Decision:
        """Answer one question; others may be asked meanwhile."""
        ...


def read_permission(params: Mapping[str, Any]) -> Permission:
    """The question that `session/request_permission` asks."""
    options: list[Option] = []
    for entry in cast("list[Any]", params.get("options") or []):
        members = cast("Mapping[str, Any]", entry if isinstance(entry, Mapping) else {})
        option_id = members.get("optionId")
        if isinstance(option_id, str):
            name, kind = str(members.get("name", option_id)), str(members.get("kind", "?"))
            options.append(Option(option_id, name, kind))
    tool_call: Any = params.get("toolCall")
    call = cast("Mapping[str, Any]", tool_call if isinstance(tool_call, Mapping) else {})
    return Permission(read_tool_call(call), tuple(options))


def outcome(decision: Decision) -> dict[str, Any]:
    """The result that answers `session/request_permission`."""
    match decision:
        case Chosen(option):
            return {"outcome": {"outcome": "selected", "optionId": option.id}}
        case Declined():
            return {"outcome": {"outcome": "cancelled"}}


def allowed(permission: Permission) -> Decision:
    """Yes, this once if that can be said."""
    option = permission.option("allow_once", "allow_always")
    return Declined() if option is None else Chosen(option)


def refused(permission: Permission) -> Decision:
    """No, this once if that can be said."""
    option = permission.option("reject_once", "reject_always")
    return Declined() if option is None else Chosen(option)


class ApproveAll:
    """Says yes to everything."""

    async def decide(self, permission: Permission) -> Decision:
        """Yes."""
        return allowed(permission)


class DenyAll:
    """Says no to everything."""

    async def decide(self, permission: Permission) -> Decision:
        """No."""
        return refused(permission)


class ApproveReads:
    """Says yes to what only reads, and leaves the rest to another."""

    def __init__(self, otherwise: Decider) -> None:
        self._otherwise = otherwise

    async def decide(self, permission: Permission) -> Decision:
        """Yes, if it only reads."""
        if permission.tool_call.kind in READ_KINDS:
            return allowed(permission)
        return await self._otherwise.decide(permission)
