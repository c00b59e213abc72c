"""Tables of agents and mods to pick from."""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from localio.text import near_names
from peerwire.transports.command import Command, CommandError, parse_command
from symposium.config.component_source import ComponentSource, shown_agent
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.chat import Dialog
from symposium.run_mode.menu_ports import AgentChoice, MenuPort, ModChoice

_SHOWN_NUMBERS: Final = 5
_WAYS_OUT: Final = {"back": "`back` to return", "cancel": "`cancel` to leave"}
"""Words for leaving a screen; each screen accepts both."""

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
    return [
        "**Ready**",
        "",
        *ready,
        "",
        "**Not installed yet** (installed at the first start)",
        "",
        *others,
    ]


def render_mods(mods: Sequence[ModChoice]) -> str:
    """Format the mods that can be added."""
    rows = [(mod.name, mod.description) for mod in mods]
    select = "Enter a number, a name, the command line of your own mod, or `back` to return."
    return _screen("# Add a Mod", "Mod", rows, "No more mods available.", select)


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
    longest_run = max(len(run) for run in re.findall(r"`+", text))
    fence = "`" * (longest_run + 1)
    return f"{fence} {text} {fence}"


def _numbers(count: int) -> str:
    if count <= _SHOWN_NUMBERS:
        return ", ".join(f"`{at}`" for at in range(1, count + 1))
    return f"`1`, `2`, ..., `{count}`"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


Agent: TypeAlias = str | ComponentSource

WayOut: TypeAlias = Literal["back", "cancel"]
"""Words for leaving a screen; each screen accepts both."""

LEAVES = frozenset({"back", "cancel", "b", "c"})

SHOWS = frozenset({"list", "l"})

MAX_REPEATED = 8
"""Maximum agents shown again after a mistake; more would push the error off the screen."""

AGAIN = "`list` shows the agents again."


async def choose_agent(talk: Dialog, catalog: MenuPort, *, way_out: WayOut) -> Agent | None:
    """Offer the agents until the user chooses one; None if the user leaves.

    A long list is shown once: after a typo, the user learns how to see it again. It is
    repeated in the first turn, for editors that show no text sent before it.
    """
    is_shown = is_fresh = False
    while True:
        choices = await catalog.agents(is_fresh=is_fresh)
        if not is_shown:
            if choices.warning is not None:
                talk.say(f"Warning: {choices.warning}")
            talk.say(render_agents(choices.agents, way_out))
        text = await talk.read()
        if text.lower() in LEAVES:
            return None
        at = _chosen(text, choices.agents)
        is_asked = text.lower() in SHOWS
        if at is None and not is_number(text) and not is_asked:
            # The agent may be newer than the list.
            choices = await catalog.agents(is_fresh=True)
            at = _chosen(text, choices.agents)
        if at is not None:
            talk.say(f"Agent set to {code(choices.agents[at].name)}.")
            return choices.agents[at].agent
        is_fresh = is_asked
        is_shown = len(choices.agents) > MAX_REPEATED and not is_asked and not talk.is_first_turn
        if not is_asked:
            answer = await catalog.own_answer(text)
            said = _no_agent(talk, text, choices.agents, way_out) if answer is None else answer
            # An answer is a separate screen, a refusal one line.
            gap = " " if answer is None else "\n"
            talk.say(f"{said}{gap}{AGAIN}" if is_shown else said)


def _chosen(text: str, agents: Sequence[AgentChoice]) -> int | None:
    return numbered(text, len(agents)) if is_number(text) else _agent_named(text, agents)


def _no_agent(talk: Dialog, text: str, agents: Sequence[AgentChoice], way_out: WayOut) -> str:
    names = [each.name for each in agents]
    if is_number(text):
        return _invalid(len(names), "No agents available.")
    if (near := near_names(text, names)) and " " not in text:
        return f"Unknown input: {code(text)}. Did you mean {code(near[0])}?"
    unknown = f"Unknown input: {code(text)}. Enter a number or `{way_out}`."
    return keep_question(talk, text) or unknown


async def choose_mod(talk: Dialog, catalog: MenuPort, taken: Sequence[str]) -> ModEntry | None:
    """Offer more mods until the user chooses one; None if the user leaves."""
    while True:
        choices = await catalog.mods()
        if choices.warning is not None:
            talk.say(f"Warning: {choices.warning}")
        left = [each for each in choices.mods if each.name not in taken]
        talk.say(render_mods(left))
        text = await talk.read()
        if text.lower() in LEAVES:
            return None
        found = mod_of(text, left)
        if isinstance(found, ModEntry):
            return found
        talk.say(found)


def mod_of(text: str, offered: Sequence[ModChoice]) -> ModEntry | str:
    """The mod that a text names by number, name, or command line; otherwise an error text."""
    if is_number(text):
        at = numbered(text, len(offered))
        return (
            _invalid(len(offered), "No more mods available.") if at is None else offered[at].entry
        )
    for each in offered:
        if text.lower() == each.name.lower():
            return each.entry
    if " " in text or "/" in text:
        try:
            return _own_mod(parse_command(text))
        except CommandError as error:
            return f"{code(text)} is not a command line: {error}"
    near = near_names(text, [each.name for each in offered])
    guess = f" Did you mean {code(near[0])}?" if near else ""
    return f"Unknown mod: {code(text)}.{guess}"


def keep_question(talk: Dialog, text: str) -> str | None:
    """Save an unknown input for the agent if it looks like a question; return the report."""
    is_question = " " in text or (talk.inputs_read == 1 and not is_number(text))
    return talk.keep() if is_question and not text.startswith("/") else None


def is_number(text: str) -> bool:
    """Whether the text has only digits."""
    return text.isascii() and text.isdigit()


def numbered(text: str, count: int) -> int | None:
    """Convert a number to an index; None if it is out of range, or not a number."""
    if not is_number(text):
        return None
    # A very long number is an invalid index like others.
    if len(text) > len(str(count)) + 20:
        text = text.lstrip("0")[:20] or "0"
    at = int(text)
    return at - 1 if 1 <= at <= count else None


def _agent_named(text: str, agents: Sequence[AgentChoice]) -> int | None:
    word = text.lower()
    for at, each in enumerate(agents):
        names = {each.name.lower(), *(label.lower() for label in each.labels)}
        if isinstance(each.agent, str):
            names.add(each.agent.lower())
        if word in names:
            return at
    return None


def _own_mod(command: Command) -> ModEntry:
    program, *arguments = command.argv
    # For `python my_mod.py`, the file is a better name than the interpreter.
    files = [word for word in arguments if word.endswith((".py", ".js", ".ts", ".mjs"))]
    name = (files or [program])[0].rpartition("/")[2].partition(".")[0]
    value = {
        "command": program,
        "args": arguments,
        **({"env": dict(command.env)} if command.env else {}),
    }
    return ModEntry(command.name or name, source=ComponentSource("local", value))


def _invalid(count: int, none: str) -> str:
    return f"Invalid index. Please enter 1-{count}." if count else none
