"""Inputs of a chat: typed at a terminal, with a history, or lines of a pipe."""

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

from localio.files import make_private_directory
from localio.text import one_line, plain_text
from symposium.cli.chat_commands import COMMANDS, is_own
from symposium.cli.stdin_lines import lines_typed_ahead
from symposium.client.events import Command

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
        commands: Callable[[], Sequence[Command]],
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
    def __init__(self, commands: Callable[[], Sequence[Command]]) -> None:
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
