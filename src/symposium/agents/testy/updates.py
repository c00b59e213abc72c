"""Bodies of `session/update` for each command of the test agent (acp-host §7.1).

They cover every kind of update and content in version 1 of the protocol. Ids contain the number
of the turn, so that repeated commands never reuse one.
"""

from typing import Any, TypeAlias

from symposium.agents.testy.scenario import (
    Callbacks,
    CallTool,
    CancelStatus,
    Command,
    Content,
    Echo,
    Elicitations,
    Full,
    Greet,
    ListTools,
    SessionUpdates,
    ToolCalls,
    WaitForCancel,
)

Update: TypeAlias = dict[str, Any]
"""The `update` member of the params of `session/update`."""
Block: TypeAlias = dict[str, Any]
"""A content block."""

GREETING = "Hello, world!"
WAITING = "Waiting for session/cancel."

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
)
"""A PNG of one gray pixel."""
_SAMPLE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
"""A WAV of one silent sample."""


def updates_for(command: Command, turn: int) -> tuple[Update, ...]:
    """Updates that the agent sends for a command before its first request.

    Results that depend on a tool, the client, or the user are sent as a `message` later.
    """
    updates: tuple[Update, ...]
    match command:
        case Greet():
            updates = (message(GREETING, turn),)
        case Echo(text):
            updates = (message(text, turn),)
        case WaitForCancel():
            updates = (message(WAITING, turn),)
        case SessionUpdates():
            updates = _every_kind(turn)
        case Content():
            updates = tuple(_chunk(block, f"content-{turn}") for block in _blocks())
        case ToolCalls():
            updates = _tool_calls(turn)
        case Full():
            parts = (SessionUpdates(), Content(), ToolCalls())
            updates = tuple(update for part in parts for update in updates_for(part, turn))
        case ListTools() | CallTool() | Callbacks() | Elicitations() | CancelStatus():
            updates = ()
    return updates


def message(text: str, turn: int) -> Update:
    """One chunk of this turn's agent message."""
    return _chunk(_text(text), f"message-{turn}")


def modes(current: str) -> dict[str, Any]:
    """The session's modes, as in the response to `session/new`."""
    return {
        "currentModeId": current,
        "availableModes": [
            {"id": "chat", "name": "Chat", "description": "Answer and do nothing else."},
            {"id": "plan", "name": "Plan", "description": "Say what would be done."},
        ],
    }


def config_options(verbosity: str) -> list[dict[str, Any]]:
    """The session's config options: one, of a kind that every client supports."""
    return [
        {
            "id": "verbosity",
            "name": "Verbosity",
            "description": "How much the test agent says.",
            "type": "select",
            "currentValue": verbosity,
            "options": [
                {"value": "brief", "name": "Brief"},
                {"value": "verbose", "name": "Verbose", "description": "With every detail."},
            ],
        }
    ]


def terminal_call(terminal_id: str, turn: int) -> tuple[Update, ...]:
    """Updates of a tool call whose content is a terminal that the client has created."""
    call = f"terminal-{turn}"
    return (
        _call(call, "Run a command", "execute", {"rawInput": {"command": "echo"}}),
        _progress(
            call, "in_progress", {"content": [{"type": "terminal", "terminalId": terminal_id}]}
        ),
        _progress(call, "completed"),
    )


def asking_call(turn: int) -> tuple[Update, Update]:
    """Start and end of the tool call during which the user is asked for input."""
    call = f"elicit-{turn}"
    return _call(call, "Ask for input", "other", {}), _progress(call, "completed")


def _every_kind(turn: int) -> tuple[Update, ...]:
    call = f"kinds-call-{turn}"
    return (
        {
            "sessionUpdate": "session_info_update",
            "title": "A session of the test agent",
            "updatedAt": "2026-01-02T03:04:05Z",
        },
        {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
        {"sessionUpdate": "config_option_update", "configOptions": config_options("verbose")},
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "greet", "description": "Say hello."},
                {
                    "name": "echo",
                    "description": "Say something back.",
                    "input": {"hint": "what to say"},
                },
            ],
        },
        {
            "sessionUpdate": "usage_update",
            "used": 1_234,
            "size": 200_000,
            "cost": {"amount": 0.25, "currency": "EUR"},
        },
        _chunk(_text("A message of the user."), f"kinds-user-{turn}", "user_message_chunk"),
        _chunk(_text("A thought of the agent."), f"kinds-thought-{turn}", "agent_thought_chunk"),
        _chunk(_text("A message of the agent."), f"kinds-agent-{turn}"),
        _call(call, "Think about it", "think", {"rawInput": {"about": "it"}}),
        _progress(
            call,
            "completed",
            {"content": [_content("thought about it")], "rawOutput": {"thoughts": 1}},
        ),
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "Look around", "priority": "high", "status": "completed"},
                {"content": "Do it", "priority": "medium", "status": "in_progress"},
                {"content": "Tell", "priority": "low", "status": "pending"},
            ],
        },
    )


def _blocks() -> tuple[Block, ...]:
    return (
        _text("Text, and one block of every other kind.")
        | {"annotations": {"audience": ["user"], "priority": 0.5}},
        {
            "type": "image",
            "data": _PIXEL,
            "mimeType": "image/png",
            "uri": "file:///testy/pixel.png",
        },
        {"type": "audio", "data": _SAMPLE, "mimeType": "audio/wav"},
        {
            "type": "resource_link",
            "uri": "file:///testy/notes.txt",
            "name": "notes.txt",
            "title": "Notes",
            "description": "A file that does not exist.",
            "mimeType": "text/plain",
            "size": 6,
        },
        {
            "type": "resource",
            "resource": {
                "uri": "file:///testy/notes.txt",
                "mimeType": "text/plain",
                "text": "notes\n",
            },
        },
        {
            "type": "resource",
            "resource": {
                "uri": "file:///testy/pixel.png",
                "mimeType": "image/png",
                "blob": _PIXEL,
            },
        },
    )


def _tool_calls(turn: int) -> tuple[Update, ...]:
    read, edit, fetch = f"read-{turn}", f"edit-{turn}", f"fetch-{turn}"
    before, after = "one\n", "two\n"
    return (
        _call(
            read,
            "Read a file",
            "read",
            {
                "rawInput": {"path": "/testy/input.txt"},
                "locations": [{"path": "/testy/input.txt", "line": 1}],
            },
        ),
        _progress(read, "in_progress"),
        _progress(
            read, "completed", {"content": [_content(before)], "rawOutput": {"text": before}}
        ),
        _call(edit, "Edit a file", "edit", {"locations": [{"path": "/testy/output.txt"}]}),
        _progress(
            edit,
            "completed",
            {
                "content": [
                    {
                        "type": "diff",
                        "path": "/testy/output.txt",
                        "oldText": before,
                        "newText": after,
                    }
                ]
            },
        ),
        _call(fetch, "Fetch a page", "fetch", {"rawInput": {"url": "https://testy.invalid/"}}),
        _progress(fetch, "failed", {"content": [_content("no such host")]}),
    )


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": _text(text)}


def _chunk(block: Block, message_id: str, kind: str = "agent_message_chunk") -> Update:
    return {"sessionUpdate": kind, "messageId": message_id, "content": block}


def _call(call: str, title: str, kind: str, members: dict[str, Any]) -> Update:
    start = {"sessionUpdate": "tool_call", "toolCallId": call, "title": title, "kind": kind}
    return start | {"status": "pending"} | members


def _progress(call: str, status: str, members: dict[str, Any] | None = None) -> Update:
    change = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}
    return change | (members or {})
