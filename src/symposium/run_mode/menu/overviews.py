"""Status, help, agents, and mods as text."""

from collections.abc import Sequence
from typing import Final

from symposium.chain.monitoring import Latency
from symposium.chain.running_chain import reaches
from symposium.config.component_source import shown_agent
from symposium.config.user_config import ConfigError, ModEntry, load
from symposium.run_mode.chat import AGENTS, COMMANDS, HELP, MODS, STATUS
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.sessions import Session, Sessions

_MENU_HINT: Final = (
    "In the menu of `/symposium:config`, `ADD` adds a mod, and a mod's number turns it on or off."
)
_UNREADABLE: Final = "the config file cannot be read"


def running_text(session: Session) -> str:
    """Format the session's part of `symposium status`."""
    chain = session.chain
    return "" if chain is None else "\n".join([*_mod_latencies(chain), *_servers(chain, session)])


def _mod_latencies(chain: OpenChain) -> list[str]:
    rows = [f"- `{name}`: {_added(latency)}" for name, latency in chain.running.latencies]
    return ["**Latency of each mod:**", "", *rows, "", ""] if rows else []


def _servers(chain: OpenChain, session: Session) -> list[str]:
    found = reaches(chain.running.sessions, session.inner_id)
    rows = [f"- `{each.name}` ({each.kind}): {each.reaching}, {each.why}" for each in found]
    return ["**MCP servers of this session:**", "", *rows, "", ""] if rows else []


def _added(latency: Latency | None) -> str:
    if latency is None:
        return "no messages yet"
    return f"p50 {latency.p50:g} ms, p95 {latency.p95:g} ms"


async def overview(text: str, session: Session, connection: EditorConnection) -> str | None:
    """Answer a command that changes nothing; None for anything else."""
    if text in HELP:
        return help_text()
    if text in STATUS:
        status = status_text(session, connection.sessions)
        return "\n".join([status.rstrip(), "", running_text(session)])
    if text in AGENTS:
        return await _agents(connection)
    return await _mods_overview(connection) if text in MODS else None


async def _agents(connection: EditorConnection) -> str:
    from symposium.run_mode.menu.pickers import agent_label, agent_tables

    choices = await connection.settings.directory.choices()
    try:
        loaded = load(connection.settings.config)
        chosen = "none yet"
        if loaded is not None:
            chosen = agent_label(loaded.config.agent, choices.agents)
    except ConfigError:
        chosen = _UNREADABLE
    warning = [f"Warning: {choices.warning}", ""] if choices.warning else []
    lines = [
        "## Agents",
        "",
        *warning,
        *agent_tables(choices.agents),
        "",
        f"**Agent for new sessions:** {chosen}",
        "",
        "To choose another, type `/symposium:config`, then `A`.",
        "",
    ]
    return "\n".join(lines)


async def _mods_overview(connection: EditorConnection) -> str:
    from symposium.run_mode.menu.pickers import table

    choices = await connection.settings.directory.mods()
    try:
        configured, missing = _configured(connection), "none configured"
    except ConfigError:
        configured, missing = (), _UNREADABLE
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
        "**Mods for new sessions:**",
        *(mods or [f"({missing})"]),
        "",
        *more,
        _MENU_HINT,
        "",
    ]
    return "\n".join(lines)


def _configured(connection: EditorConnection) -> Sequence[ModEntry]:
    loaded = load(connection.settings.config)
    return () if loaded is None else loaded.config.mods


def help_text() -> str:
    """List the Symposium commands."""
    lines = [f"- `/{command['name']}` - {command['description']}" for command in COMMANDS]
    return "\n".join(["## Symposium", "", *lines, "", "Everything else goes to the agent.", ""])


def status_text(session: Session, sessions: Sessions) -> str:
    """Describe the chain of a session, and the other sessions of this connection."""
    chain = session.chain
    if chain is None:
        return "This session has no agent; `/symposium:config` chooses one.\n"
    config = chain.config
    agent = shown_agent(config.agent)
    servers = [mod.name for mod in config.mods if mod.enabled and mod.kind == "mcp"]
    others = [each for each in sessions.all() if each.chain is not chain]
    shared = len(sessions.of(chain))
    lines = [
        "## Status",
        "",
        f"**Chain:** {' → '.join(['editor', *chain.mods, agent])}",
        *([f"**MCP servers:** {', '.join(servers)}"] if servers else []),
        f"**Sessions with this agent and these mods:** {shared}; other sessions: {len(others)}",
        "",
    ]
    return "\n".join([*lines, *chain.notes])
