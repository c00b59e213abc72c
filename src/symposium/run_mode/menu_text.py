"""What the menus look like: Markdown that reads well where nothing renders it (acp-host §4.7)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config

_SHOWN_NUMBERS: Final = 5


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """One agent that can be chosen.

    Attributes:
        name: what the menu shows.
        description: one line.
        agent: what the config will say; always something that can be started.
        labels: other writings of the same choice, by which the menu recognizes it.
    """

    name: str
    description: str
    agent: str | ComponentSource
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentChoices:
    """The agents on offer; `warning` says why some may be missing."""

    agents: Sequence[AgentChoice]
    warning: str | None = None


def render(config: Config, agents: Sequence[AgentChoice]) -> str:
    """The main menu as the seed prints it."""
    numbers = _numbers(len(config.mods))
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(config.mods, 1)]
    lines = [
        "## Current Configuration",
        "",
        f"**Agent:** {agent_label(config.agent, agents)}",
        "",
        "**Mods:**",
        *(mods or ["(none configured)"]),
        "",
        "## Commands",
        "",
        "- `SAVE` - Save changes and exit",
        "- `CANCEL` - Discard changes and exit",
        "- `A` or `AGENT` - Change agent",
    ]
    if mods:
        lines += [f"- {numbers} - Toggle mod on/off", "- `move X to Y` - Reorder mods"]
    return "\n".join(lines) + "\n"


def render_agents(agents: Sequence[AgentChoice]) -> str:
    """The agent submenu."""
    rows = [
        f"| {at} | {_cell(agent.name)} | {_cell(agent.description)} |"
        for at, agent in enumerate(agents, 1)
    ]
    table = ["| # | Agent | Description |", "|---|-------|-------------|", *rows]
    shown = table if rows else ["No agents available."]
    end = "Enter a number to select, or `back` to return."
    return "\n".join(["# Select Agent", "", *shown, "", end, ""])


def agent_label(agent: str | ComponentSource, agents: Sequence[AgentChoice]) -> str:
    """How the menu names the agent: by the name of a known one, else as it is written."""
    for choice in agents:
        if agent == choice.agent or (isinstance(agent, str) and agent in choice.labels):
            return choice.name
    shown = agent if isinstance(agent, str) else agent.display_name
    return shown or "(not configured)"


def code(text: str) -> str:
    """A text as inline code, whatever backticks it holds (CommonMark §6.1)."""
    if "`" not in text:
        return f"`{text}`"
    longest = max(len(run) for run in re.findall(r"`+", text))
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}"


def _numbers(count: int) -> str:
    if count <= _SHOWN_NUMBERS:
        return ", ".join(f"`{at}`" for at in range(1, count + 1))
    return f"`1`, `2`, ..., `{count}`"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
