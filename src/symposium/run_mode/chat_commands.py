"""What the editor can type to us, and how it learns of it."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.values import encode_value

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "symposium:config", "description": "Configure Symposium settings"},
    {"name": "symposium:status", "description": "Show the chain behind this session"},
    {"name": "symposium:agents", "description": "List the agents that there are"},
    {"name": "symposium:mods", "description": "List the mods, and those that could be added"},
    {
        "name": "symposium:retry",
        "description": "Send the message that an agent left open as it ended",
    },
    {"name": "symposium:recap", "description": "Tell an agent with a fresh context what was said"},
    {"name": "symposium:recommendations", "description": "Show what suits this workspace"},
    {"name": "symposium:help", "description": "Show what Symposium understands in the chat"},
)
"""Added to whatever the agent offers."""

COMMANDS_UPDATE: Final = "available_commands_update"


OURS: Final = "symposium:"
"""What every command of ours begins with."""


def command(name: str) -> frozenset[str]:
    """How a command of ours may be typed."""
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
"""Those that change nothing."""


def our_commands() -> dict[str, Any]:
    """The update that offers ours alone."""
    return {"sessionUpdate": COMMANDS_UPDATE, "availableCommands": list(COMMANDS)}


def with_commands(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The params of an agent's list with ours at its end, once each; None for other updates."""
    update = params.get("update")
    if not _is_object(update) or update.get("sessionUpdate") != COMMANDS_UPDATE:
        return None
    theirs = update.get("availableCommands")
    ours = {each["name"] for each in COMMANDS}
    kept = [each for each in theirs if not _is_named(each, ours)] if _is_list(theirs) else []
    return {**params, "update": {**update, "availableCommands": [*kept, *COMMANDS]}}


def update_line(session_id: str, update: Mapping[str, Any]) -> bytes:
    """A `session/update` of our own, as a line."""
    params = encode_value({"sessionId": session_id, "update": update})
    return wire.notification("session/update", params)


def text_line(session_id: str, text: str) -> bytes:
    """A text of our own in a session, as a line."""
    content = {"type": "text", "text": text}
    return update_line(session_id, {"sessionUpdate": "agent_message_chunk", "content": content})


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_named(each: object, names: set[str]) -> bool:
    return _is_object(each) and each.get("name") in names
