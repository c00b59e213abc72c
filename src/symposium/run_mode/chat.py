"""Slash commands, and the coroutine of a dialog."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard

from msgspec import Struct

from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.values import encode_value

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "symposium:config", "description": "Configure Symposium settings"},
    {"name": "symposium:status", "description": "Show the agent and the mods of this session"},
    {"name": "symposium:agents", "description": "List the available agents"},
    {"name": "symposium:mods", "description": "List the mods in use and the mods you can add"},
    {
        "name": "symposium:retry",
        "description": "Restart a stopped agent, and send the unanswered message again",
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


COMMAND_PREFIX: Final = "symposium:"
"""Prefix of Symposium's commands."""


def command(name: str) -> frozenset[str]:
    """Return the accepted spellings of a command."""
    return frozenset({f"{COMMAND_PREFIX}{name}", f"/{COMMAND_PREFIX}{name}"})


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


Script: TypeAlias = Callable[["Dialog"], Awaitable[None]]
"""The coroutine of a dialog; it returns when the dialog is over."""


def _nothing() -> None:
    pass


class Input(Struct, frozen=True):
    """One input of the user.

    Attributes:
        text: the input.
        answered: called when the script has answered the input.
        unhandled: called instead if the script ended without reading the input.
        is_wanted: whether the editor still waits for the answer.
        keep: saves the input for a later agent; returns the text that reports it, if any.
    """

    text: str
    answered: Callable[[], None]
    unhandled: Callable[[], None]
    is_wanted: Callable[[], bool]
    keep: Callable[[], str | None] = _nothing


def _always() -> bool:
    return True


_CANCEL: Final = Input("cancel", _nothing, _nothing, _always)

MAX_CANCELS: Final = 100
"""Maximum unread `session/cancel` of a dialog; prompts count as open requests of the editor."""


class Dialog:
    """Pass inputs to a script, in order.

    Attributes:
        say: shows a text.
        inputs_read: number of inputs that the script has read.
        opened_in_turn: whether the user opened it with a prompt.
    """

    def __init__(self, say: Callable[[str], None], first: Input | None = None) -> None:
        self.say = say
        self.inputs_read = 0
        self.opened_in_turn = first is not None
        self._current = first
        self._inputs: deque[Input] = deque()
        self._cancels = 0
        self._news = asyncio.Event()

    def put(self, given: Input) -> None:
        """Queue an input for the script."""
        self._inputs.append(given)
        self._news.set()

    def cancel(self) -> None:
        """Queue the input `cancel`; with too many unread ones, another adds nothing."""
        if self._cancels < MAX_CANCELS:
            self._cancels += 1
            self.put(_CANCEL)

    async def read(self) -> str:
        """Return the next input, trimmed."""
        self._answered()
        await self.something_typed()
        given = self._current = self._inputs.popleft()
        self._cancels -= given is _CANCEL
        self.inputs_read += 1
        return given.text.strip()

    async def something_typed(self) -> None:
        """Wait for an input."""
        while True:
            while self._inputs and not self._inputs[0].is_wanted():
                self._inputs.popleft()
            if self._inputs:
                return
            self._news.clear()
            await self._news.wait()

    @property
    def is_first_turn(self) -> bool:
        """Whether the first prompt is answered; some editors show no text sent before it."""
        return self.inputs_read == 1 and not self.opened_in_turn

    def keep(self) -> str | None:
        """Save the last input for a later agent; return the text that reports it, if any."""
        return None if self._current is None else self._current.keep()

    def end(self) -> Sequence[Input]:
        """Answer the last input after the script; return the unread inputs."""
        self._answered()
        unread = [given for given in self._inputs if given.is_wanted()]
        self._inputs.clear()
        return unread

    def _answered(self) -> None:
        given, self._current = self._current, None
        if given is not None:
            given.answered()
