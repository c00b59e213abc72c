"""Status line of a chat: agent, model, mode, usage, and directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from localio.text import one_line
from peerwire.jsonrpc.values import as_object
from symposium.client.events import ModeChange, OptionsChange, SessionState, Title, Usage
from symposium.client.session_settings import MODE, MODEL, SessionSettings

SEPARATOR: Final = " · "
NAME_WIDTH: Final = 40
PERCENT: Final = 100


@dataclass(slots=True)
class ChatStatus:
    """The state of a chat's session, as last reported.

    Attributes:
        agent: the name of the agent.
        directory: where the agent works.
        settings: its models and modes.
        usage: tokens and cost; None until the agent reports them.
    """

    agent: str
    directory: Path | None = None
    settings: SessionSettings = field(default_factory=SessionSettings)
    usage: Usage | None = None

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
            case Usage():
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


def usage_text(usage: Usage) -> str:
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
