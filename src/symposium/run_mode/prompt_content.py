"""The content of prompts, and what an agent accepts of it."""

from collections.abc import Mapping
from typing import Any, Final

from peerwire.jsonrpc.values import as_list, as_object
from symposium.chain.messages import ChainMessage

_NEEDS: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Kinds of content, and the prompt capability that an agent must have for them (§7.1)."""


def blocks_of(params: Any) -> list[Any]:
    """Return the content blocks of a prompt."""
    blocks = as_object(params).get("prompt")
    return as_list(blocks)


def prompt_text(params: Any) -> str:
    """Join the text blocks of a prompt with spaces, trimmed."""
    blocks = [as_object(block) for block in blocks_of(params)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return " ".join(text for text in texts if isinstance(text, str)).strip()


def adapt_prompt(
    message: ChainMessage, offered: Mapping[str, Any], initialize_result: Mapping[str, Any]
) -> str | None:
    """Remove blocks from a prompt that this agent does not support.

    ACP v1 cannot withdraw a capability, so the agent of a later config may support less than the
    editor knows (acp-host §4.9).

    Returns:
        A note for the user if something was removed.
    """
    missing = _accepted(offered) - _accepted(initialize_result)
    if not missing:
        return None
    blocks = blocks_of(message.params)
    left_out = [block for block in blocks if _NEEDS.get(_kind(block)) in missing]
    if not left_out:
        return None
    kept = [block for block in blocks if _NEEDS.get(_kind(block)) not in missing]
    message.replace(method=None, params={**message.params, "prompt": kept})
    kinds = ", ".join(sorted({_kind(block) for block in left_out}))
    count = f"{len(left_out)} block{'s were' if len(left_out) > 1 else ' was'}"
    return (
        f"_The agent of this session does not support {kinds} content: "
        f"{count} removed from your message._\n\n"
    )


def _kind(block: Any) -> str:
    return str(as_object(block).get("type", ""))


def _accepted(initialize_result: Mapping[str, Any]) -> set[str]:
    agent = as_object(initialize_result.get("agentCapabilities"))
    return {name for name, value in as_object(agent.get("promptCapabilities")).items() if value}
