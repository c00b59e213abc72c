"""A few words on what a message says, for a line in a list."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from localio.text import one_line
from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE
from peerwire.jsonrpc.values import decode_value
from symposium.trace_view.events import Event, Kind

MAX_PREVIEW: Final = 160
"""Characters of a preview."""


def short_line(text: str, limit: int = MAX_PREVIEW) -> str:
    """A stranger's text on one line, cut to a length."""
    # Far more than will be shown is not looked at.
    return one_line(text[: limit * 8].strip(), width=limit)


def preview(event: Event) -> str:
    """What a message says, in a few words; empty where nothing short can be said."""
    try:
        body = decode_value(event.body)
    except ValueError:
        return ""
    if not isinstance(body, Mapping):
        return short_line(body) if isinstance(body, str) else ""
    members = cast("Mapping[str, Any]", body)
    if event.is_error:
        return short_line(f"error {members.get('code', '')}: {members.get('message', '')}")
    if event.kind is Kind.RESPONSE:
        return short_line(_first(members, _OF_RESULTS))
    tell = _BY_METHOD.get(event.method)
    return short_line(tell(members) if tell else _first(members, _OF_PARAMS))


def _text(value: Any) -> str:
    match value:
        case str() | int():
            said = str(value)
        case [*items]:
            said = " ".join(filter(None, map(_text, items[:8])))
        case {"type": "content", "content": content}:
            said = _text(content)
        case (
            {"text": str(named)}
            | {"title": str(named)}
            | {"name": str(named)}
            | {"optionId": str(named)}
            | {"outcome": str(named)}
        ):
            said = named
        case {"type": str(kind)}:
            said = f"[{kind}]"
        case _:
            said = ""
    return said


def _update(params: Mapping[str, Any]) -> str:
    update = params.get("update")
    if not isinstance(update, Mapping):
        return ""
    members = cast("Mapping[str, Any]", update)
    kind = _text(members.get("sessionUpdate"))
    said = _joined(members, "title", "status", "content", "currentModeId", "availableCommands")
    return f"{kind}: {said}" if said else _plan(kind, members)


def _plan(kind: str, update: Mapping[str, Any]) -> str:
    match update.get("entries"):
        case [*entries]:
            steps = cast("list[Mapping[str, Any]]", [e for e in entries if isinstance(e, Mapping)])
            return f"{kind}: {', '.join(_text(step.get('content')) for step in steps)}"
        case _:
            return kind


def _initialize(params: Mapping[str, Any]) -> str:
    version = _text(params.get("protocolVersion"))
    said = [f"version {version}" if version else "", _text(params.get("clientInfo"))]
    return ", ".join(filter(None, said))


def _joined(members: Mapping[str, Any], *names: str) -> str:
    return ", ".join(filter(None, (_text(members.get(name)) for name in names)))


def _first(members: Mapping[str, Any], names: tuple[str, ...]) -> str:
    said: Iterator[str] = (_text(members.get(name)) for name in names)
    return next(filter(None, said), "")


_BY_METHOD: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    **dict.fromkeys((INITIALIZE, *PROXY_INITIALIZE), _initialize),
    "session/update": _update,
    "session/prompt": lambda params: _text(params.get("prompt")),
    "session/new": lambda params: _joined(params, "cwd", "mcpServers"),
    "session/load": lambda params: _joined(params, "cwd", "mcpServers"),
    "session/request_permission": lambda params: _joined(params, "toolCall", "options"),
    "terminal/create": lambda params: _joined(params, "command", "args"),
}

_OF_PARAMS: Final = (
    "name",
    "path",
    "uri",
    "message",
    "modeId",
    "configId",
    "requestId",
    "sessionId",
)
_OF_RESULTS: Final = (
    *("stopReason", "sessionId", "outcome", "agentInfo", "serverInfo", "connectionId"),
    *("content", "tools", "protocolVersion"),
)
