"""The view of a chat, and its status line."""

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from localio.text import one_line, plain_text
from peerwire.jsonrpc.values import as_object
from symposium.cli.markdown_layout import NARROWEST, MarkdownSpan, wrapped
from symposium.cli.markdown_stream import MarkdownStream
from symposium.cli.output import Output, wants_color
from symposium.cli.session_view import note_lines
from symposium.client.events import (
    AgentPlan,
    Commands,
    ModeChange,
    OptionsChange,
    Other,
    PlanEntry,
    SessionState,
    SlashCommand,
    Text,
    Title,
    TokenUsage,
    ToolCall,
    read_event,
)
from symposium.client.permissions import ChosenOption, Decision, Permission, summarize
from symposium.client.session_settings import MODE, MODEL, SessionSettings
from symposium.permissions.policy_notes import PolicyNote

SEPARATOR: Final = " · "
NAME_WIDTH: Final = 40
PERCENT: Final = 100


@dataclass(slots=True)
class ChatStatus:
    """The state of a chat's session, as last reported.

    Attributes:
        agent: the name of the agent.
        directory: working directory of the agent.
        settings: its models and modes.
        usage: tokens and cost; None until the agent reports them.
    """

    agent: str
    directory: Path | None = None
    settings: SessionSettings = field(default_factory=SessionSettings)
    usage: TokenUsage | None = None

    def introduced(self, result: Any) -> None:
        """Take the agent's own name for itself from its answer to `initialize`."""
        info = as_object(as_object(result).get("agentInfo"))
        for name in (info.get("title"), info.get("name")):
            if isinstance(name, str) and name.strip():
                self.agent = name
                return

    def reported(self, event: SessionState) -> str:
        """Take what the agent reports; a line about a mode that has changed, else empty."""
        match event:
            case TokenUsage():
                self.usage = event
            case ModeChange() | OptionsChange():
                before = self.settings.name_of(MODE)
                self.settings.reported(event)
                now = self.settings.name_of(MODE)
                return f"[mode] {now}" if before and now != before else ""
            case Title():
                pass
        return ""

    def line(self, width: int) -> str:
        """The status in one line of at most so many columns."""
        parts = [
            self.agent,
            self.settings.name_of(MODEL),
            self.settings.name_of(MODE),
            usage_text(self.usage) if self.usage else "",
            _short(self.directory) if self.directory else "",
        ]
        shown = [one_line(part, width=NAME_WIDTH) for part in parts if part]
        return one_line(SEPARATOR.join(shown), width=max(width, 1))


def usage_text(usage: TokenUsage) -> str:
    """Tokens and cost, such as `12.3k of 200k tokens (6 %), 0.25 EUR`."""
    share = f" ({PERCENT * usage.used // usage.size} %)" if usage.size else ""
    cost = f", {usage.cost}" if usage.cost else ""
    return f"{_count(usage.used)} of {_count(usage.size)} tokens{share}{cost}"


def _count(tokens: int) -> str:
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if tokens >= size:
            return f"{tokens / size:.1f}".removesuffix(".0") + unit
    return str(tokens)


def _short(directory: Path) -> str:
    home = Path.home()
    inside = directory.is_relative_to(home) and directory != home
    shown = f"~/{directory.relative_to(home)}" if inside else str(directory)
    return shown if len(shown) <= NAME_WIDTH else f"…{shown[1 - NAME_WIDTH :]}"


WIDTH: Final = 100
SUMMARY_WIDTH: Final = 70
"""Width of a requested action: the decision follows in the same line."""

OUTPUT_LINES: Final = 6
"""Lines of a tool's output that are shown when it has ended."""

PAUSE: Final = 0.3
"""Seconds without new text after which an incomplete line is shown."""

_DIM: Final = "2"
"""The code of dim text."""

MARKS: Final = {"completed": "✔", "in_progress": "▸", "failed": "✘"}
"""Signs shown beside the word for a status."""


class ChatView:
    """Show the updates of an agent.

    Attributes:
        commands: the agent's slash commands, as last announced.
        status: the content of the status line.
    """

    def __init__(self, output: Output, agent: str = "") -> None:
        self._output = output
        self._calls: dict[str, tuple[str, str]] = {}
        self._plan: tuple[PlanEntry, ...] = ()
        self._speaker = ""
        self._is_colored = wants_color()
        self._text: MarkdownStream | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self.commands: tuple[SlashCommand, ...] = ()
        self.status = ChatStatus(agent)

    def update(self, params: Any) -> None:
        members = as_object(params)
        event = read_event(members.get("update"))
        match event:
            case Text("user"):
                pass  # an echo of the user's input
            case Text(speaker, text):
                self._say(speaker, text)
            case ToolCall():
                self._tool_call(event)
            case AgentPlan(entries):
                self._show_plan(entries)
            case Commands(commands):
                self.commands = commands
            case PolicyNote(text):
                for line in note_lines(text):
                    self.detail(line)
            case Other(kind, note):
                self.line(f"[{kind}] {note}")
            case _:
                if change := self.status.reported(event):
                    self.line(change)

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Show how a permission was decided."""
        answer = decision.option.name if isinstance(decision, ChosenOption) else "no answer"
        shown = one_line(summarize(permission.tool_call).text, width=SUMMARY_WIDTH)
        self.line(f"[permission] {shown}: {answer}")

    def line(self, text: str) -> None:
        """Show one line that is not the agent's text."""
        line = one_line(text, width=WIDTH)
        for each in _broken(line) if self._is_colored else [line]:
            self.detail(each)

    def detail(self, line: str) -> None:
        """Show a line unchanged; it must be safe for a terminal."""
        self.end_text()
        self._output.write(self._dim(line) + "\n")

    def turn_over(self, stop_reason: str) -> None:
        """Show the stop reason, unless the turn ended normally."""
        self.end_turn()
        if stop_reason != "end_turn":
            self.line(f"[stopped: {stop_reason}]")

    def clear_line(self) -> None:
        """Clear the echo of a line that the user continues at the prompt."""
        if self._is_colored:
            # Up and down again: the cursor is at the start of an empty line.
            self._output.write("\r\x1b[K\x1b[A\n")

    def end_turn(self) -> None:
        """Show the rest of the agent's text at the end of a turn."""
        self.end_text()
        self._plan = ()

    def _say(self, speaker: str, text: str) -> None:
        if speaker != self._speaker:
            self.end_text()
            self._speaker = speaker
            if speaker == "thought":
                end = "\n" if self._is_colored else " "
                self._output.write(self._dim("[thinking]") + end)
            if self._is_colored:
                self._text = MarkdownStream(_columns, _DIM if speaker == "thought" else "")
        if self._text is None:
            self._output.write(plain_text(text))
            return
        self._output.write(self._text.feed(text))
        self._stop_waiting()
        self._waiting = asyncio.get_running_loop().call_later(PAUSE, self._show_paused)

    def _show_paused(self) -> None:
        if self._text is not None:
            self._output.write(self._text.pause())

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def end_text(self) -> None:
        """Show the rest of a text; further output starts a new line."""
        self._stop_waiting()
        if self._text is not None:
            self._output.write(self._text.finish())
            self._text = None
        self._output.end_line()
        self._speaker = ""

    def _tool_call(self, call: ToolCall) -> None:
        title, status = self._calls.get(call.id, ("", ""))
        now = (call.title or title or f"call {call.id}", call.status or status or "pending")
        if now == (title, status):
            return
        self._calls[call.id] = now
        self.line(f"{MARKS.get(now[1], '·')} {now[0]}: {now[1]}")
        if now[1] in {"completed", "failed"}:
            for text in plain_text(call.output).splitlines()[:OUTPUT_LINES]:
                self.line(f"    {text}")

    def _show_plan(self, entries: tuple[PlanEntry, ...]) -> None:
        if entries == self._plan:
            return
        self._plan = entries
        self.line("[plan]")
        for entry in entries:
            self.line(f"  {MARKS.get(entry.status, '·')} {entry.content}: {entry.status}")

    def _dim(self, text: str) -> str:
        return click.style(text, dim=True) if self._is_colored else text


def _columns() -> int:
    return shutil.get_terminal_size().columns


def _broken(line: str) -> list[str]:
    """Wrap a line to the width of the terminal, with the indent of the first line."""
    text = line.lstrip(" ")
    indent = " " * (len(line) - len(text))
    lines = wrapped([MarkdownSpan(text)], max(_columns() - len(indent), NARROWEST))
    return [indent + "".join(span.text for span in each) for each in lines]
