"""Answers of the chat commands that only show something."""

from collections.abc import Sequence

from symposium.config.user_config import ConfigError, ModEntry, load
from symposium.run_mode.chat_commands import AGENTS, HELP, MODS, STATUS
from symposium.run_mode.floor import Floor
from symposium.run_mode.prompts import help_text, status_text
from symposium.run_mode.running_text import running_text
from symposium.run_mode.sessions import Session


async def overview(text: str, session: Session, floor: Floor) -> str | None:
    """Answer a command that changes nothing; None for anything else."""
    if text in HELP:
        return help_text()
    if text in STATUS:
        status = status_text(session, floor.sessions)
        return "\n".join([status.rstrip(), "", running_text(session)])
    if text in AGENTS:
        return await _agents(floor)
    return await _mods_overview(floor) if text in MODS else None


async def _agents(floor: Floor) -> str:
    from symposium.run_mode.menu_text import agent_label, agent_tables  # noqa: PLC0415 - seldom needed

    choices = await floor.settings.directory.choices()
    try:
        loaded = load(floor.settings.config)
    except ConfigError:
        loaded = None
    chosen = "none yet" if loaded is None else agent_label(loaded.config.agent, choices.agents)
    warning = [f"Warning: {choices.warning}", ""] if choices.warning else []
    lines = [
        "## Agents",
        "",
        *warning,
        *agent_tables(choices.agents),
        "",
        f"**Agent of new sessions:** {chosen}",
        "",
        "To choose another, type `/symposium:config`, then `A`.",
        "",
    ]
    return "\n".join(lines)


async def _mods_overview(floor: Floor) -> str:
    from symposium.run_mode.menu_text import table  # noqa: PLC0415 - seldom needed

    choices = await floor.settings.directory.mods()
    configured = _configured(floor)
    names = {mod.name for mod in configured}
    rows = [(mod.name, mod.description) for mod in choices.mods if mod.name not in names]
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(configured, 1)]
    warning = [f"Warning: {choices.warning}", ""] if choices.warning else []
    more = ["**More mods:**", "", *table("Mod", rows), ""] if rows else []
    lines = [
        "## Mods",
        "",
        *warning,
        "**Mods of new sessions:**",
        *(mods or ["(none configured)"]),
        "",
        *more,
        "In the menu of `/symposium:config`, `ADD` adds a mod; its number turns it on or off.",
        "",
    ]
    return "\n".join(lines)


def _configured(floor: Floor) -> Sequence[ModEntry]:
    try:
        loaded = load(floor.settings.config)
    except ConfigError:
        return ()
    return () if loaded is None else loaded.config.mods
