"""Read `session/update` into events that a front end can show.

An update of an unknown shape is shown by its name, never dropped (acp-host §7.3 T2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from peerwire.jsonrpc.values import as_list, as_object
from symposium.permissions.policy_notes import PolicyNote, read_note
from symposium.permissions.tool_calls import script_of


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text.

    Attributes:
        speaker: `agent`, `thought` (the agent's reasoning) or `user` (an echo).
        text: the unchanged text; not safe for a terminal.
    """

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolDiff:
    """A change of a file or a part of it; a new file has no old text."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call or an update of one; a member missing from an update has the value None.

    Attributes:
        title: a description for the user.
        status: `pending`, `in_progress`, `completed`, `failed`, or an unknown one.
        kind: `read`, `edit`, `execute` and so on.
        output: the text that it has produced so far.
        paths: the files that it names.
        changes: the changes of files that it shows.
        command: the shell command that it shows.
        input: the arguments of the tool, as the agent names them.
    """

    id: str
    title: str | None = None
    status: str | None = None
    kind: str | None = None
    output: str = ""
    paths: tuple[str, ...] = ()
    changes: tuple[ToolDiff, ...] = ()
    command: str = ""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """Step of the plan that the agent reports."""

    content: str
    status: str


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """The whole current plan."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command that the agent offers."""

    name: str
    description: str
    hint: str


@dataclass(frozen=True, slots=True)
class Commands:
    """All current slash commands."""

    commands: tuple[SlashCommand, ...]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens in the agent's context, and the cost of the session so far.

    Attributes:
        used: tokens in use.
        size: size of the context in tokens.
        cost: amount and currency; empty if the agent does not report it.
    """

    used: int
    size: int
    cost: str = ""


@dataclass(frozen=True, slots=True)
class ModeChange:
    """A change of the session's mode."""

    mode_id: str


@dataclass(frozen=True, slots=True)
class OptionsChange:
    """All options of the session, as written by the agent."""

    options: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Title:
    """Session title, reported by the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Other:
    """Another update.

    Attributes:
        kind: its name on the wire.
        note: a short description; may be empty.
    """

    kind: str
    note: str = ""


SessionState: TypeAlias = TokenUsage | ModeChange | OptionsChange | Title
"""Reports about the session rather than about its work."""

Event: TypeAlias = Text | ToolCall | AgentPlan | Commands | PolicyNote | SessionState | Other

LARGEST_NUMBER: Final = 10**15
"""Limit above all real numbers: Python refuses to print an integer of thousands of digits."""

_SPEAKERS: Final = {
    "agent_message_chunk": "agent",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}


def read_event(update: Any) -> Event:
    """Read an update; never raises, whatever the agent wrote."""
    members = as_object(update)
    return read_note(members) or _read_report(members)


def _read_report(members: Mapping[str, Any]) -> Event:
    kind = _text(members.get("sessionUpdate")) or "update without a kind"
    match kind:
        case "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk":
            return Text(_SPEAKERS[kind], content_text(members.get("content")))
        case "tool_call" | "tool_call_update":
            return read_tool_call(members)
        case "plan":
            entries = [as_object(entry) for entry in as_list(members.get("entries"))]
            return AgentPlan(
                tuple(
                    PlanEntry(_text(entry.get("content")) or "?", _text(entry.get("status")) or "?")
                    for entry in entries
                )
            )
        case "available_commands_update":
            return _commands(members)
        case _:
            return _session_state(kind, members) or Other(kind, _note(members))


def _session_state(kind: str, members: Mapping[str, Any]) -> SessionState | None:
    match kind, members:
        case "usage_update", {"used": int(used), "size": int(size)} if (
            min(used, size) >= 0 and max(used, size) < LARGEST_NUMBER
        ):
            return TokenUsage(used, size, _cost(as_object(members.get("cost"))))
        case "current_mode_update", {"currentModeId": str(mode_id)}:
            return ModeChange(mode_id)
        case "config_option_update", {"configOptions": list()}:
            return OptionsChange(tuple(map(as_object, as_list(members["configOptions"]))))
        case "session_info_update", _:
            return Title(_text(members.get("title")) or "")
        case _:
            return None


def _cost(cost: Mapping[str, Any]) -> str:
    amount, currency = cost.get("amount"), _text(cost.get("currency")) or ""
    if not isinstance(amount, int | float) or not 0 <= amount < LARGEST_NUMBER:
        return ""
    return f"{amount:.2f} {currency}".rstrip()


def read_tool_call(members: Mapping[str, Any]) -> ToolCall:
    """A tool call as an update, or a permission request, describes it."""
    outputs = [as_object(item) for item in as_list(members.get("content"))]
    places = [*map(as_object, as_list(members.get("locations"))), *outputs]
    paths = [path for place in places if (path := _text(place.get("path")))]
    given = as_object(members.get("rawInput"))
    return ToolCall(
        id=_text(members.get("toolCallId")) or "?",
        title=_text(members.get("title")),
        status=_text(members.get("status")),
        kind=_text(members.get("kind")),
        output="\n".join(_output(item) for item in outputs),
        paths=tuple(dict.fromkeys(paths)),
        changes=tuple(_change(item) for item in outputs if item.get("type") == "diff"),
        command=script_of(given) or "",
        input=given,
    )


def content_text(content: Any) -> str:
    """A content block as text; what is no text is named."""
    members = as_object(content)
    match members.get("type"):
        case "text":
            return _text(members.get("text")) or ""
        case "resource_link":
            return f"[link: {_text(members.get('uri')) or '?'}]"
        case "resource":
            resource = as_object(members.get("resource"))
            return _text(resource.get("text")) or f"[resource: {resource.get('uri', '?')}]"
        case kind:
            return f"[{_text(kind) or 'content of no kind'}]"


def _change(item: Mapping[str, Any]) -> ToolDiff:
    old, new = _text(item.get("oldText")) or "", _text(item.get("newText")) or ""
    return ToolDiff(_text(item.get("path")) or "?", old, new)


def _output(item: Mapping[str, Any]) -> str:
    match item.get("type"):
        case "content":
            return content_text(item.get("content"))
        case "diff":
            return f"[changes {item.get('path', '?')}]"
        case kind:
            return f"[{_text(kind) or 'output of no kind'}]"


def _commands(members: Mapping[str, Any]) -> Commands:
    commands: list[SlashCommand] = []
    for entry in map(as_object, as_list(members.get("availableCommands"))):
        name = _text(entry.get("name"))
        if name:
            hint = _text(as_object(entry.get("input")).get("hint")) or ""
            commands.append(SlashCommand(name, _text(entry.get("description")) or "", hint))
    return Commands(tuple(commands))


def _note(members: Mapping[str, Any]) -> str:
    shown = [
        f"{key}={value}"
        for key, value in members.items()
        if key not in {"sessionUpdate", "_meta"} and isinstance(value, str | int | float)
    ]
    return " ".join(shown)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
