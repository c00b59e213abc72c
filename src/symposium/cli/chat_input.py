"""The inputs of a chat, and its own commands."""

import asyncio
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, merge_completers
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from localio.errors import ExplainedError
from localio.files import make_private_directory
from localio.text import one_line, plain_text
from symposium.cli.chat_view import ChatView
from symposium.cli.terminal import lines_typed_ahead
from symposium.client.events import SlashCommand
from symposium.client.session_settings import MODE, MODEL, SessionSetting, SettingChoice

MAX_SHOWN: Final = 1000
"""Maximum length of a line that is not cut to the usual width."""

LEAVE: Final = frozenset({"/quit", "/exit"})

COMMANDS: Final = (
    SlashCommand("help", "List the commands.", ""),
    SlashCommand("models", "List the agent's models, or select NAME.", "[NAME]"),
    SlashCommand("mode", "List the agent's modes, or select NAME.", "[NAME]"),
    SlashCommand("undo", "Undo the last change of a task.", ""),
    SlashCommand("quit", "Leave the chat.", ""),
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

    async def choose(self, setting: SessionSetting, choice: SettingChoice) -> None:
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

    async def _choose(self, setting: SessionSetting, choice: SettingChoice) -> None:
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
            self._view.detail(one_line(line, width=MAX_SHOWN))


def is_own(name: str) -> bool:
    """Whether the chat has a command of this name."""
    return (bool(name) and name in _NAMES) or f"/{name}" in LEAVE


def for_agent(text: str) -> str:
    """Return the prompt for the agent: `//models` is the agent's own `/models`."""
    name = text.lstrip().removeprefix("//").partition(" ")[0].strip()
    return text.lstrip()[1:] if text.lstrip().startswith("//") and is_own(name) else text


def _described(begin: str, command: SlashCommand) -> str:
    hint = f" {command.hint}" if command.hint else ""
    return f"  {begin}{command.name}{hint}: {command.description}"


def _named(choice: SettingChoice) -> str:
    return choice.id if choice.name == choice.id else f"{choice.name} ({choice.id})"


PROMPT: Final = "> "
CONTINUED: Final = "… "

_AT_WORD: Final = re.compile(r"(?<!\S)@([^\s\"]*)$")
_STATUS_STYLE: Final = Style.from_dict({"bottom-toolbar": "noreverse ansibrightblack"})


class Inputs(Protocol):
    """Source of the user's inputs."""

    async def read(self) -> str:
        """Read the next input; it may have several lines.

        Raises:
            EOFError: the input has ended.
            KeyboardInterrupt: Ctrl-C, where it is not a signal.
        """
        ...


class TypedInputs:
    """Read from a terminal: Enter sends, Alt-Enter or Ctrl-J starts another line.

    Args:
        history: the file with the inputs of earlier runs.
        commands: returns the current slash commands.
        status: formats the status line for a width; None for no status line.
        paths: completes a path that was typed after an `@`.
    """

    def __init__(
        self,
        history: Path,
        commands: Callable[[], Sequence[SlashCommand]],
        status: Callable[[int], str] | None = None,
        paths: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        make_private_directory(history.parent)
        history.touch(mode=0o600)
        self._session: PromptSession[str] = PromptSession(
            message=PROMPT,
            multiline=True,
            prompt_continuation=CONTINUED,
            history=FileHistory(str(history)),
            completer=merge_completers([_Slash(commands), _Paths(paths or (lambda _: ()))]),
            complete_while_typing=True,
            key_bindings=_keys(),
            bottom_toolbar=None if status is None else lambda: status(self._columns()),
            style=_STATUS_STYLE,
        )
        self._held = ""
        self._draft = ""
        self._ahead: deque[str | None] = deque()

    async def read(self) -> str:
        """Read the next input; it starts with the draft of a canceled read."""
        self.keep_typed()
        if self._ahead:
            return self._next_ahead()
        draft, self._draft = self._draft, ""
        try:
            return await self._session.prompt_async(default=draft)
        except asyncio.CancelledError:
            self._draft = self._session.default_buffer.text
            raise
        finally:
            held, self._held = self._held, ""
            sys.stdout.write(held)

    def draft(self, text: str) -> None:
        """Start the next input with this text."""
        self._draft = text

    def keep_typed(self) -> None:
        """Queue lines that were typed while no prompt was shown: each is an input."""
        self._ahead += lines_typed_ahead()

    def _next_ahead(self) -> str:
        text = self._ahead.popleft()
        if text is None:
            raise EOFError
        self._session.history.append_string(text)
        print(PROMPT + plain_text(text).replace("\n", f"\n{CONTINUED}"), flush=True)
        return text

    def above(self, text: str) -> bool:
        """Show text above the prompt, line by line; return False without a prompt."""
        if not self._session.app.is_running:
            return False
        lines, end, self._held = (self._held + text).rpartition("\n")
        if end:
            # The prompt would overwrite text that is written without its knowledge.
            run_in_terminal(lambda: print(lines, flush=True))
        return True

    def _columns(self) -> int:
        return self._session.app.output.get_size().columns


def history_file() -> Path:
    """Locate the file with the inputs of chats."""
    if home := os.environ.get("SYMPOSIUM_HOME"):
        return Path(home) / "state" / "chat-history"
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "symposium" / "chat-history"


class _Slash(Completer):
    def __init__(self, commands: Callable[[], Sequence[SlashCommand]]) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Complete a typed word with a slash to the commands that begin with it."""
        del complete_event
        typed = document.text
        if not typed.startswith("/") or "\n" in typed:
            return
        own = [(f"/{each.name}", each) for each in COMMANDS]
        theirs = [("//" if is_own(each.name) else "/", each) for each in self._commands()]
        for name, command in [*own, *((f"{begin}{each.name}", each) for begin, each in theirs)]:
            if name.startswith(typed):
                yield Completion(
                    one_line(name, width=60),
                    start_position=-len(typed),
                    display_meta=one_line(command.description, width=60),
                )


class _Paths(Completer):
    def __init__(self, paths: Callable[[str], Sequence[str]]) -> None:
        self._paths = paths

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Complete the word before the cursor as a path, if it begins with an `@`."""
        del complete_event
        if found := _AT_WORD.search(document.text_before_cursor):
            for path in self._paths(found[1]):
                # A path with blanks or control characters is typed in quotes.
                if path.isprintable() and " " not in path:
                    yield Completion(path, start_position=-len(found[1]))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def begin_a_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
