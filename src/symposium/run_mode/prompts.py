"""Content of prompts: text for Symposium or the agent, and blocks an agent cannot take."""

from collections.abc import Mapping
from typing import Any, Final, cast

from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import Crossing
from symposium.config.component_source import shown_agent
from symposium.run_mode.chat_commands import COMMANDS
from symposium.run_mode.sessions import Session, Sessions

_NEEDS: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Kinds of content, and the prompt capability that an agent must have for them (§7.1)."""


def blocks_of(params: Any) -> list[Any]:
    """Return the content blocks of a prompt."""
    blocks = as_object(params).get("prompt")
    return cast("list[Any]", blocks) if isinstance(blocks, list) else []


def prompt_text(params: Any) -> str:
    """Join the text blocks of a prompt with spaces, trimmed."""
    blocks = [as_object(block) for block in blocks_of(params)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return " ".join(text for text in texts if isinstance(text, str)).strip()


def suit(crossing: Crossing, offered: Mapping[str, Any], greeting: Mapping[str, Any]) -> str | None:
    """Remove blocks from a prompt that this agent cannot take, though another one could.

    ACP v1 cannot withdraw a capability, so the agent of a later config may support less than the
    editor knows (acp-host §4.9).

    Returns:
        A note for the user if something was removed.
    """
    missing = _accepted(offered) - _accepted(greeting)
    if not missing:
        return None
    blocks = blocks_of(crossing.params)
    left_out = [block for block in blocks if _NEEDS.get(_kind(block)) in missing]
    if not left_out:
        return None
    kept = [block for block in blocks if _NEEDS.get(_kind(block)) not in missing]
    crossing.replace(method=None, params={**crossing.params, "prompt": kept})
    kinds = ", ".join(sorted({_kind(block) for block in left_out}))
    count = f"{len(left_out)} block{'s were' if len(left_out) > 1 else ' was'}"
    return (
        f"_The agent of this session cannot read {kinds}: {count} removed from your message._\n\n"
    )


def help_text() -> str:
    """List the Symposium commands."""
    lines = [f"- `/{command['name']}` - {command['description']}" for command in COMMANDS]
    return "\n".join(["## Symposium", "", *lines, "", "Everything else goes to the agent.", ""])


def status_text(session: Session, sessions: Sessions) -> str:
    """Describe the chain of a session, and the other sessions of this connection."""
    chain = session.chain
    if chain is None:
        return "This session has no agent.\n"
    config = chain.config
    agent = shown_agent(config.agent)
    servers = [mod.name for mod in config.mods if mod.enabled and mod.kind == "mcp"]
    others = [each for each in sessions.all() if each.chain is not chain]
    shared = len(sessions.of(chain))
    lines = [
        "## Status",
        "",
        f"**Chain:** {' → '.join(['editor', *chain.mods, agent])}",
        *([f"**MCP servers:** {', '.join(servers)}"] if servers else []),
        f"**Sessions on this chain:** {shared}; on other chains: {len(others)}",
        "",
    ]
    return "\n".join([*lines, *chain.notes])


def _kind(block: Any) -> str:
    return str(as_object(block).get("type", ""))


def _accepted(greeting: Mapping[str, Any]) -> set[str]:
    agent = as_object(greeting.get("agentCapabilities"))
    return {name for name, value in as_object(agent.get("promptCapabilities")).items() if value}
