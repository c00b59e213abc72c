"""What of a session's messages goes into its timeline; pure.

A turn's text is told once, at its end, and a tool call when it is over: a timeline is for reading
again, a trace has every message.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

Told: TypeAlias = tuple[str, dict[str, Any]]
"""Type and data of an entry."""

LONGEST_TEXT: Final = 16 * 1024
"""Characters of one text that are kept: of a prompt the first, of an answer the last."""

LONGEST_OUTPUT: Final = 2 * 1024
"""Characters of a tool call's output that are kept, the last of them."""

_OVER: Final = frozenset({"completed", "failed"})


class TurnObserver:
    """Follows one session.

    Attributes:
        held: characters of the agent's text that are kept of this turn.
    """

    def __init__(self) -> None:
        self.held = 0
        self._said: deque[str] = deque()
        self._plan: list[Any] | None = None
        self._calls: dict[str, dict[str, Any]] = {}

    def prompted(self, params: Mapping[str, Any]) -> Iterator[Told]:
        """The user says something."""
        pieces: list[str] = []
        for block in _objects(params.get("prompt")):
            if _is_for_models(block):
                continue
            text, uri = block.get("text"), block.get("uri")
            if isinstance(text, str):
                pieces.append(text)
            elif isinstance(uri, str):
                pieces.append(f"[{block.get('type')}: {uri}]")
            else:
                pieces.append(f"[{block.get('type')}]")
        yield "prompt", {"text": "\n".join(pieces)[:LONGEST_TEXT]}

    def updated(self, update: Mapping[str, Any]) -> Iterator[Told]:
        """The agent reports something."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                text = _object(update.get("content")).get("text")
                if isinstance(text, str):
                    self._keep(text)
            case "plan":
                self._plan = [
                    {name: entry.get(name) for name in ("content", "status", "priority")}
                    for entry in _objects(update.get("entries"))
                ]
            case "tool_call" | "tool_call_update":
                yield from self._tool_call(update)
            case _:
                pass

    def stopped(self, reason: str) -> Iterator[Told]:
        """The turn is over."""
        said = "".join(self._said)[-LONGEST_TEXT:]
        if said:
            yield "said", {"text": said}
        if self._plan is not None:
            yield "plan", {"entries": self._plan}
        for call in self._calls.values():
            yield "tool", call
        self._said.clear()
        self.held = 0
        self._plan = None
        self._calls.clear()
        yield "stop", {"reason": reason}

    def _keep(self, text: str) -> None:
        self._said.append(text)
        self.held += len(text)
        while self.held - len(self._said[0]) > LONGEST_TEXT:
            self.held -= len(self._said.popleft())

    def _tool_call(self, update: Mapping[str, Any]) -> Iterator[Told]:
        call_id = update.get("toolCallId")
        if not isinstance(call_id, str):
            return
        call = self._calls.setdefault(call_id, {"id": call_id})
        for name in ("title", "kind", "status"):
            if isinstance(update.get(name), str):
                call[name] = update[name]
        command = _object(update.get("rawInput")).get("command")
        if isinstance(command, str | list):
            call["command"] = command
        output = "\n".join(_outputs(update.get("content")))
        if output:
            call["output"] = output[-LONGEST_OUTPUT:]
        if call.get("status") in _OVER:
            yield "tool", self._calls.pop(call_id)


def _outputs(content: Any) -> Iterator[str]:
    for each in _objects(content):
        text = _object(each.get("content")).get("text")
        if isinstance(text, str):
            yield text
        elif each.get("type") == "diff":
            yield f"[diff: {each.get('path')}]"


def _is_for_models(block: Mapping[str, Any]) -> bool:
    """Whether it is for the agent alone, such as our guidance: a person has not said it."""
    return _object(block.get("annotations")).get("audience") == ["assistant"]


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    for each in cast("list[Any]", value if isinstance(value, list) else []):
        if isinstance(each, Mapping):
            yield cast("Mapping[str, Any]", each)
