"""Text of the menus: Markdown that is readable without rendering (acp-host §4.7)."""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from symposium.config.component_source import ComponentSource, shown_agent
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.choices import AgentChoice, ModChoice

_SHOWN_NUMBERS: Final = 5
_WAYS_OUT: Final = {"back": "`back` to return", "cancel": "`cancel` to leave"}
"""The word that a screen offers for leaving it; each screen accepts both."""

SuitedMod: TypeAlias = tuple[ModEntry, str]
"""A mod, with its summary and its cost in one line."""

_NAMES: Final = "You can also enter a name."


def render(config: Config, agents: Sequence[AgentChoice]) -> str:
    """Format the main menu: exactly the reference's text, then Symposium's additions."""
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
    lines.append("- `M` or `ADD` - Add a mod")
    if mods:
        lines.append("- `remove X` - Remove a mod")
    return "\n".join(lines) + "\n"


def render_older(older: Config, agents: Sequence[AgentChoice]) -> str:
    """Format the config of an older layout, and the question whether to import it."""
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(older.mods, 1)]
    lines = [
        "# Older Configuration",
        "",
        "This is the configuration of an earlier version. An import does not change it.",
        "",
        f"**Agent:** {agent_label(older.agent, agents)}",
        "",
        "**Mods:**",
        *(mods or ["(none configured)"]),
        "",
        "- `1` or `IMPORT` - Import it",
        "- `2` or `NEW` - Start with a new configuration",
        "- `CANCEL` - Leave",
    ]
    return "\n".join(lines) + "\n"


def render_suited(mods: Sequence[SuitedMod]) -> str:
    """Format the mods that a first config enables, with summary and cost."""
    lines = [f"- `{entry.name}`: {text}" if text else f"- `{entry.name}`" for entry, text in mods]
    turn_off = "They are on. To turn one off, type its number in the menu below, then `SAVE`."
    return "\n".join(["**Mods for this workspace**", "", *lines, "", turn_off])


def choices_line(count: int) -> str:
    """List the inputs of the main menu on one line.

    Args:
        count: number of the mods in it.
    """
    of_mods = [_numbers(count), "`move X to Y`"] if count else []
    removing = ["`remove X`"] if count else []
    words = ["`SAVE`", "`CANCEL`", "`A`", *of_mods, "`M`", *removing]
    return f"You can type {', '.join(words)}."


def render_agents(agents: Sequence[AgentChoice], way_out: str = "back") -> str:
    """Format the agent submenu."""
    select = f"Enter a number to select, or {_WAYS_OUT[way_out]}."
    more = [_NAMES] if agents else []
    shown = agent_tables(agents) or ["No agents available."]
    return "\n".join(["# Select Agent", "", *shown, "", select, *more, ""])


def agent_tables(agents: Sequence[AgentChoice]) -> list[str]:
    """Format one table of agents, or two: installed agents, and agents to install.

    Args:
        agents: the agents, installed ones first.
    """
    rows = [(agent.name, agent.description) for agent in agents]
    here = sum(agent.is_here for agent in agents)
    if here in {0, len(rows)}:
        return table("Agent", rows) if rows else []
    ready, others = table("Agent", rows[:here]), table("Agent", rows[here:], first=here + 1)
    return ["**Ready**", "", *ready, "", "**To install**, at the first start", "", *others]


def render_mods(mods: Sequence[ModChoice]) -> str:
    """Format the mods that can be added."""
    rows = [(mod.name, mod.description) for mod in mods]
    select = "Enter a number, a name, the command line of your own mod, or `back` to return."
    return _screen("# Add a Mod", "Mod", rows, "No more mods are known.", select)


def table(what: str, rows: Sequence[tuple[str, str]], *, first: int = 1) -> list[str]:
    """Format a table of names and descriptions, numbered from `first`."""
    cells = [
        f"| {at} | {_cell(name)} | {_cell(text)} |" for at, (name, text) in enumerate(rows, first)
    ]
    return [f"| # | {what} | Description |", f"|---|{'-' * (len(what) + 2)}|-------------|", *cells]


def _screen(title: str, what: str, rows: Sequence[tuple[str, str]], none: str, end: str) -> str:
    shown = table(what, rows) if rows else [none]
    return "\n".join([title, "", *shown, "", end, ""])


def agent_label(agent: str | ComponentSource, agents: Sequence[AgentChoice]) -> str:
    """Name the agent in the menu: by the name of a known one, else as written."""
    written = agent
    if isinstance(agent, ComponentSource) and agent.kind in {"builtin", "registry"}:
        written = agent.display_name
    for choice in agents:
        if agent == choice.agent or written in {choice.agent, *choice.labels}:
            return choice.name
    if isinstance(agent, str):
        plain = _without_versions(agent)
        for choice in agents:
            labels = [each for each in (choice.agent, *choice.labels) if isinstance(each, str)]
            if plain in map(_without_versions, labels):
                return choice.name
    return shown_agent(agent) or "(not configured)"


def _without_versions(command: str) -> str:
    """Remove versions of packages from a command line, as in `npx -y name@1.2`."""
    return re.sub(r"(?<=[^\s@])@[\w.^~-]+(?=\s|$)", "", command)


def code(text: str) -> str:
    """Format a text as inline code, also if it contains backticks (CommonMark §6.1)."""
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
