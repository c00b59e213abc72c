"""The status of hosts, the daemon, and agents, as text."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localio.text import minute_of, one_line
from peerwire.jsonrpc.values import as_object, as_objects
from symposium.bus.daemon_start import daemon_address
from symposium.config.paths import paths
from symposium.sessions.session import SessionStore

_WIDTH = 120


def overview(hosts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """List every host with its chains, and nested hosts below their parents."""
    known = {host.get("pid") for host in hosts}
    for host in hosts:
        if host.get("parent") not in known:
            yield from _host(host, hosts, "")


def servers(hosts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """List how the MCP servers of each session reach its agent."""
    for host in hosts:
        for chain in as_objects(host.get("chains")):
            for session in as_objects(chain.get("sessions")):
                yield one_line(f"{chain.get('agent')} session {session.get('id')}", width=_WIDTH)
                for server in as_objects(session.get("mcp")):
                    yield "  " + _server(server)


def in_short(hosts: Sequence[Mapping[str, Any]]) -> str:
    """Format one line for a shell prompt or a status bar."""
    sessions = sum(
        len(as_objects(chain.get("sessions")))
        for host in hosts
        for chain in as_objects(host.get("chains"))
    )
    return f"{_count(len(hosts), 'host')}, {_count(sessions, 'session')}"


def _host(
    host: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]], indent: str
) -> Iterator[str]:
    since = minute_of(str(host.get("started", "?")))
    yield indent + one_line(f"{host.get('kind')} pid {host.get('pid')} since {since}", width=_WIDTH)
    for chain in as_objects(host.get("chains")):
        names = [str(mod.get("name")) for mod in as_objects(chain.get("mods"))]
        way = " → ".join(["editor", *names, str(chain.get("agent"))])
        yield f"{indent}  {one_line(way, width=_WIDTH)}"
        for mod in as_objects(chain.get("mods")):
            yield f"{indent}    {one_line(_mod(mod), width=_WIDTH)}"
        yield f"{indent}    {_count(len(as_objects(chain.get('sessions'))), 'session')}"
    for inner in hosts:
        if inner.get("parent") == host.get("pid"):
            yield from _host(inner, hosts, indent + "    ")


def _mod(mod: Mapping[str, Any]) -> str:
    latency = as_object(mod.get("latencyMs"))
    if not latency:
        return f"{mod.get('name')}: no messages yet"
    figures = f"p50 {latency.get('p50')} ms, p95 {latency.get('p95')} ms"
    return f"{mod.get('name')}: {figures} ({_count(int(latency.get('count', 0)), 'message')})"


def _server(server: Mapping[str, Any]) -> str:
    return one_line(
        f"{server.get('name')} ({server.get('kind')}): {server.get('reaching')}, "
        f"{server.get('why')}",
        width=_WIDTH,
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def running_daemon() -> int | None:
    """Return the pid of the daemon from its lock file, without a connection."""
    lock = daemon_address().life_lock
    try:
        pid = int(lock.read_text(encoding="utf-8"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def held_agents() -> Sequence[str]:
    """List the sessions whose agents run without a host."""
    store = SessionStore(paths())
    return [each for each in store.ids() if store.is_kept(each)]
