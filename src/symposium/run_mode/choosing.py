"""Screens of the menu that offer a table: an agent, or a mod to be added (acp-host §4.7)."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from localio.text import near_names
from peerwire.transports.command import Command, CommandError, parse_command
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry
from symposium.run_mode.choices import AgentChoice, AgentChoices, ModChoice, ModChoices
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.menu_text import code, render_agents, render_mods
from symposium.run_mode.trouble import KEPT

Agent: TypeAlias = str | ComponentSource

WayOut: TypeAlias = Literal["back", "cancel"]
"""The word that a screen offers for leaving it; both are understood everywhere."""

LEAVES = frozenset({"back", "cancel", "b", "c"})

SHOWS = frozenset({"list", "l"})

LONG = 8
"""Agents that are shown again behind each mistake; more push what was wrong off the screen."""

AGAIN = "`list` shows the agents again."


class Catalogue(Protocol):
    """Source of the offered agents and mods."""

    async def agents(self, *, is_fresh: bool = False) -> AgentChoices:
        """The agents on offer; looked up again if `is_fresh`."""
        ...

    async def mods(self) -> ModChoices:
        """The mods on offer."""
        ...

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command that changes nothing; None for anything else."""
        ...


async def choose_agent(
    talk: Conversation, catalogue: Catalogue, *, way_out: WayOut
) -> Agent | None:
    """Offer the agents until the user chooses one; None if the user leaves.

    A long list is shown once: after a typo, the user learns how to see it again. It is
    repeated in the first turn, for editors that show no text sent before it.
    """
    is_shown = is_fresh = False
    while True:
        choices = await catalogue.agents(is_fresh=is_fresh)
        is_fresh = False
        if not is_shown:
            if choices.warning is not None:
                talk.say(f"Warning: {choices.warning}")
            talk.say(render_agents(choices.agents, way_out))
        text = await talk.hear()
        if text.lower() in LEAVES:
            return None
        at = _chosen(text, choices.agents)
        is_asked = text.lower() in SHOWS
        if at is None and not is_number(text) and not is_asked:
            # It may have been added since the list was shown.
            choices = await catalogue.agents(is_fresh=True)
            at = _chosen(text, choices.agents)
        if at is not None:
            talk.say(f"Agent set to {code(choices.agents[at].name)}.")
            return choices.agents[at].agent
        is_fresh = is_asked
        is_shown = len(choices.agents) > LONG and not is_asked and not talk.is_first_turn
        if not is_asked:
            answer = await catalogue.own_answer(text)
            said = _no_agent(talk, text, choices.agents, way_out) if answer is None else answer
            # An answer is a screen of its own, a refusal one line.
            gap = " " if answer is None else "\n"
            talk.say(f"{said}{gap}{AGAIN}" if is_shown else said)


def _chosen(text: str, agents: Sequence[AgentChoice]) -> int | None:
    return numbered(text, len(agents)) if is_number(text) else _agent_named(text, agents)


def _no_agent(talk: Conversation, text: str, agents: Sequence[AgentChoice], way_out: WayOut) -> str:
    names = [each.name for each in agents]
    if is_number(text):
        return _invalid(len(names), "No agents available.")
    if (near := near_names(text, names)) and " " not in text:
        return f"Unknown input: {code(text)}. Did you mean {code(near[0])}?"
    if keep_question(talk, text):
        return KEPT
    return f"Unknown input: {code(text)}. Enter a number or `{way_out}`."


async def choose_mod(
    talk: Conversation, catalogue: Catalogue, taken: Sequence[str]
) -> ModEntry | None:
    """Offer more mods until the user chooses one; None if the user leaves."""
    while True:
        choices = await catalogue.mods()
        if choices.warning is not None:
            talk.say(f"Warning: {choices.warning}")
        left = [each for each in choices.mods if each.name not in taken]
        talk.say(render_mods(left))
        text = await talk.hear()
        if text.lower() in LEAVES:
            return None
        found = mod_of(text, left)
        if isinstance(found, ModEntry):
            return found
        talk.say(found)


def mod_of(text: str, offered: Sequence[ModChoice]) -> ModEntry | str:
    """The mod that a text names: by number, by name, or by its command line; else why not."""
    if is_number(text):
        at = numbered(text, len(offered))
        return (
            _invalid(len(offered), "No more mods are known.") if at is None else offered[at].entry
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


def keep_question(talk: Conversation, text: str) -> bool:
    """Keep what no menu understands for the agent, where it is a question rather than a slip."""
    is_question = " " in text or (talk.heard == 1 and not is_number(text))
    return is_question and not text.startswith("/") and talk.keep()


def is_number(text: str) -> bool:
    """Whether it is written in digits alone."""
    return text.isascii() and text.isdigit()


def numbered(text: str, count: int) -> int | None:
    """Convert a number to an index; None if it is out of range."""
    # Digits without end are an index like any other, only never a valid one.
    if len(text) > len(str(count)) + 20:
        text = text.lstrip("0")[:20] or "0"
    at = int(text) if text.isdigit() else 0
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
    # Of `python my_mod.py` the file says more than the interpreter.
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
