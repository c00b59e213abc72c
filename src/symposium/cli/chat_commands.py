"""Commands of the chat itself, such as `/models`; others go to the agent."""

from collections.abc import Sequence
from typing import Final, Protocol

from localio.errors import ExplainedError
from localio.text import one_line
from symposium.cli.chat_view import ChatView
from symposium.client.events import Command
from symposium.client.session_settings import MODE, MODEL, Choice, Setting

LONGEST: Final = 1000
"""Maximum length of a line that is not cut to the usual width."""

LEAVE: Final = frozenset({"/quit", "/exit"})

COMMANDS: Final = (
    Command("help", "List the commands.", ""),
    Command("models", "List the agent's models, or select NAME.", "[NAME]"),
    Command("mode", "List the agent's modes, or select NAME.", "[NAME]"),
    Command("undo", "Undo the last change of a task.", ""),
    Command("quit", "Leave the chat.", ""),
)
"""Commands of the chat, listed before the agent's."""

_NAMES: Final = {
    "": "help",
    "help": "help",
    "model": MODEL,
    "models": MODEL,
    "mode": MODE,
    "modes": MODE,
    "undo": "undo",
}


class SessionActions(Protocol):
    """Actions of the chat commands on a session."""

    async def choose(self, setting: Setting, choice: Choice) -> None:
        """Select another model or mode.

        Raises:
            ExplainedError: the agent refuses.
        """
        ...

    async def undo(self) -> Sequence[str]:
        """Undo the last change and describe it, line by line.

        Raises:
            ExplainedError: it is not possible.
        """
        ...


class ChatCommands:
    """Run the commands of one chat.

    Args:
        view: shows their output.
        keys: lines about the keys, for `/help`.
        session: the actions on the session.
    """

    def __init__(self, view: ChatView, keys: Sequence[str], session: SessionActions) -> None:
        self._view = view
        self._keys = keys
        self._session = session

    async def run(self, text: str) -> bool:
        """Run a typed command; return False if it is for the agent."""
        name, _, argument = text.strip().removeprefix("/").partition(" ")
        if not text.strip().startswith("/") or "\n" in text.strip() or name not in _NAMES:
            return False
        known = _NAMES[name]
        if known in {MODE, MODEL}:
            await self._set(known, argument.strip())
        elif argument.strip():
            self._view.line(f"/{name} takes no argument; //{name} … passes it to the agent")
        elif known == "help":
            self._help()
        else:
            await self._try_undo()
        return True

    def _help(self) -> None:
        for line in self._keys:
            self._view.line(line)
        for command in COMMANDS:
            self._view.line(_described("/", command))
        for command in self._view.commands:
            begin = "//" if is_own(command.name) else "/"
            self._view.line(f"{_described(begin, command)} (agent)")

    async def _set(self, kind: str, name: str) -> None:
        setting = self._view.status.settings.known.get(kind)
        if setting is None:
            self._view.line(f"the agent offers no {kind}s to choose from")
        elif not name:
            for choice in setting.choices:
                mark = "▸" if choice.id == setting.current else " "
                about = f": {choice.description}" if choice.description else ""
                self._view.line(f"  {mark} {_named(choice)}{about}")
        elif len(found := setting.matching(name)) == 1:
            await self._choose(setting, found[0])
        else:
            several = ", ".join(_named(each) for each in found or setting.choices)
            problem = f"matches several {kind}s" if found else f"is not a {kind}; {kind}s"
            self._view.line(f"{name!r} {problem}: {several}")

    async def _choose(self, setting: Setting, choice: Choice) -> None:
        try:
            await self._session.choose(setting, choice)
        except ExplainedError as error:
            self._view.line(f"the {setting.kind} is unchanged: {error.message}")
            return
        self._view.status.settings.chosen(setting.kind, choice.id)
        self._view.line(f"[{setting.kind}] {choice.name}")

    async def _try_undo(self) -> None:
        try:
            lines = await self._session.undo()
        except ExplainedError as error:
            lines = [f"nothing was undone: {error.message}", *error.hint.splitlines()]
        for line in lines:
            # Uncut: the user may want to copy a command from it.
            self._view.detail(one_line(line, width=LONGEST))


def is_own(name: str) -> bool:
    """Whether the chat has a command of this name."""
    return (bool(name) and name in _NAMES) or f"/{name}" in LEAVE


def for_agent(text: str) -> str:
    """Return the prompt for the agent: `//models` is the agent's own `/models`."""
    name = text.lstrip().removeprefix("//").partition(" ")[0].strip()
    return text.lstrip()[1:] if text.lstrip().startswith("//") and is_own(name) else text


def _described(begin: str, command: Command) -> str:
    hint = f" {command.hint}" if command.hint else ""
    return f"  {begin}{command.name}{hint}: {command.description}"


def _named(choice: Choice) -> str:
    return choice.id if choice.name == choice.id else f"{choice.name} ({choice.id})"
