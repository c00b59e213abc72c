"""What a save changes, as a diff to read, and who gets it."""

from collections.abc import Sequence

from symposium.config.user_config import Config
from symposium.run_mode.choices import AgentChoice
from symposium.run_mode.menu_text import agent_label


def differences(before: Config | None, after: Config, agents: Sequence[AgentChoice]) -> str:
    """The lines that go and those that come; empty where nothing changes.

    Args:
        before: what the file said.
        after: what it says now.
        agents: those on offer, by whose names agents are called.
    """
    if before is None or before.key() == after.key():
        return ""
    old, new = _lines(before, agents), _lines(after, agents)
    if old[0] == new[0] and not _is_same_agent(before, after):
        # Not as it is written: that may hold keys.
        new[0] += ", started in another way"
    gone = [f"- {line}" for line in old if line not in new]
    come = [f"+ {line}" for line in new if line not in old]
    return "\n".join(["```diff", *gone, *come, "```", "", ""]) if gone or come else ""


def for_whom(here: Config, saved: Config, agents: Sequence[AgentChoice]) -> str:
    """Who uses what was saved, where the session at hand does not; empty where it does.

    Args:
        here: what the chain of this session was made from.
        saved: what new sessions get.
        agents: those on offer, by whose names agents are called.
    """
    if here.key() == saved.key():
        return ""
    theirs, ours = agent_label(saved.agent, agents), agent_label(here.agent, agents)
    if theirs != ours:
        told = f"New sessions use {theirs}; this one stays with {ours}."
    elif _is_same_agent(here, saved):
        told = "New sessions use these mods; this one keeps its own."
    else:
        told = "New sessions use this; this one stays as it is."
    return f"{told} Open a new thread or session to use it."


def _is_same_agent(one: Config, other: Config) -> bool:
    return one.with_mods().key() == other.with_mods().key()


def _lines(config: Config, agents: Sequence[AgentChoice]) -> list[str]:
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(config.mods, 1)]
    return [f"agent {agent_label(config.agent, agents)}", *mods]
