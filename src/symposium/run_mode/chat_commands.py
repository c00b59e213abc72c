"""Symposium's chat commands, and how the editor learns of them."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.values import encode_value

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "symposium:config", "description": "Configure Symposium settings"},
    {"name": "symposium:status", "description": "Show the chain behind this session"},
    {"name": "symposium:agents", "description": "List the available agents"},
    {"name": "symposium:mods", "description": "List the mods in use and the mods you can add"},
    {
        "name": "symposium:retry",
        "description": "Send the unanswered message again after the agent was restarted",
    },
    {
        "name": "symposium:recap",
        "description": "Send a summary of this session to an agent with a fresh context",
    },
    {"name": "symposium:recommendations", "description": "Recommend mods for this workspace"},
    {"name": "symposium:help", "description": "List the Symposium commands"},
)
"""Symposium's commands, appended to those of the agent."""

COMMANDS_UPDATE: Final = "available_commands_update"


OURS: Final = "symposium:"
"""Prefix of Symposium's commands."""


def command(name: str) -> frozenset[str]:
    """Return the accepted spellings of a command."""
    return frozenset({f"{OURS}{name}", f"/{OURS}{name}"})


CONFIG: Final = command("config")
STATUS: Final = command("status")
AGENTS: Final = command("agents")
MODS: Final = command("mods")
HELP: Final = command("help")
RECOMMENDATIONS: Final = command("recommendations")
RETRY: Final = command("retry")
RECAP: Final = command("recap")

SHOWING: Final = STATUS | AGENTS | MODS | HELP
"""Commands that change nothing."""


def our_commands() -> dict[str, Any]:
    """Make the update that offers only Symposium's commands."""
    return {"sessionUpdate": COMMANDS_UPDATE, "availableCommands": list(COMMANDS)}


def with_commands(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Append Symposium's commands to an agent's list, once each; None for other updates."""
    update = params.get("update")
    if not _is_object(update) or update.get("sessionUpdate") != COMMANDS_UPDATE:
        return None
    theirs = update.get("availableCommands")
    ours = {each["name"] for each in COMMANDS}
    kept = [each for each in theirs if not _is_named(each, ours)] if _is_list(theirs) else []
    return {**params, "update": {**update, "availableCommands": [*kept, *COMMANDS]}}


def update_line(session_id: str, update: Mapping[str, Any]) -> bytes:
    """Format a `session/update` from Symposium as a line."""
    params = encode_value({"sessionId": session_id, "update": update})
    return wire.notification("session/update", params)


def text_line(session_id: str, text: str) -> bytes:
    """Format a text from Symposium in a session as a line."""
    content = {"type": "text", "text": text}
    return update_line(session_id, {"sessionUpdate": "agent_message_chunk", "content": content})


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_named(each: object, names: set[str]) -> bool:
    return _is_object(each) and each.get("name") in names
