"""Show what a save changes, as a diff, and which sessions use it."""

from collections.abc import Sequence

from symposium.config.user_config import Config
from symposium.run_mode.choices import AgentChoice
from symposium.run_mode.menu_text import agent_label


def differences(before: Config | None, after: Config, agents: Sequence[AgentChoice]) -> str:
    """Format the removed and added lines; empty if nothing changes.

    Args:
        before: the earlier config.
        after: the saved config.
        agents: the known agents, for their names.
    """
    if before is None or before.key() == after.key():
        return ""
    old, new = _lines(before, agents), _lines(after, agents)
    if old[0] == new[0] and not _is_same_agent(before, after):
        # Do not show the command: it may contain keys.
        new[0] += ", with a different command"
    gone = [f"- {line}" for line in old if line not in new]
    come = [f"+ {line}" for line in new if line not in old]
    return "\n".join(["```diff", *gone, *come, "```", "", ""]) if gone or come else ""


def for_whom(here: Config, saved: Config, agents: Sequence[AgentChoice]) -> str:
    """Explain which sessions use the saved config; empty if this session does.

    Args:
        here: the config of this session's chain.
        saved: the config of new sessions.
        agents: the known agents, for their names.
    """
    if here.key() == saved.key():
        return ""
    theirs, ours = agent_label(saved.agent, agents), agent_label(here.agent, agents)
    if theirs != ours:
        text = f"New sessions use {theirs}; this session continues with {ours}."
    elif _is_same_agent(here, saved):
        text = "New sessions use these mods; this session keeps its mods."
    else:
        text = "New sessions use this configuration; this session does not change."
    return f"{text} To use it, open a new thread or session."


def _is_same_agent(one: Config, other: Config) -> bool:
    return one.with_mods().key() == other.with_mods().key()


def _lines(config: Config, agents: Sequence[AgentChoice]) -> list[str]:
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(config.mods, 1)]
    return [f"agent {agent_label(config.agent, agents)}", *mods]
