"""What the host tells both its ends: the agent what it may count on, the editor what it has got.

acp-host §3.3, steps 3 and 6.
"""

from collections.abc import Mapping
from typing import Any, Final

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
from symposium.planning.plan import Plan
from symposium.planning.planner import EDITOR

OURS: Final[dict[str, Any]] = {MCP_OVER_ACP: True, "proxy": True}
"""Capabilities of the host itself."""

_NOTHING: Final = Plan((), {})


def to_agent(params: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The params of `initialize` that the agent is expected to get in the end.

    They are the editor's, with what the chain's components provide, and what the host does.
    """
    added = {primitive: True for primitive, source in plan.provided_by.items() if source != EDITOR}
    capabilities = _with(client_capabilities(params), {**added, **OURS})
    return {**params, capabilities_member(params): capabilities}


def to_chain(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params that the chain begins with: adapters add their own as they pass them on."""
    return to_agent(params, _NOTHING)


def to_editor(result: Mapping[str, Any], plan: Plan, version: str) -> dict[str, Any]:
    """The answer to the editor, enriched: plain flags, and how they come about under `details`.

    Args:
        result: the chain's answer.
        plan: what the chain was made by.
        version: the host's.
    """
    flags: dict[str, Any] = dict.fromkeys(plan.provided_by, True)
    details = {**plan.as_json(), "symposium": {"version": version}}
    is_v2 = "capabilities" in result and "agentCapabilities" not in result
    member = "capabilities" if is_v2 else "agentCapabilities"
    enriched = _with(as_object(result.get(member)), {**flags, **OURS, "details": details})
    return {**result, member: enriched}


def before_agent(params: Mapping[str, Any], version: str) -> dict[str, Any]:
    """What the editor is told of primitives while there is no agent: its own, and the host's.

    Args:
        params: the editor's.
        version: the host's.
    """
    own = Plan((), dict.fromkeys(primitives(params), EDITOR))
    return to_editor({}, own, version)["agentCapabilities"]


def _with(capabilities: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    # A version that is there says how the members beside it are meant.
    version = declared(capabilities).get("version", VERSION)
    return with_capabilities(capabilities, {"version": version, **ours})
