"""What can be told of a running chain: its mods and what they add, its sessions and their servers.

No secret is in it: of a server only its name, its kind, and how it is reached.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from symposium.conductor.bridge.reach import Reach, reach
from symposium.conductor.ledger import Ledger
from symposium.conductor.running_chain import RunningChain


def reaches(ledger: Ledger, session: str) -> list[Reach]:
    """How each server of a session reaches the agent."""
    known = ledger.sessions.get(session)
    servers = () if known is None else known.servers
    return [reach(server, ledger.mode, ledger.greeting) for server in servers]


def chain_report(running: RunningChain, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A chain as JSON.

    Args:
        running: the chain.
        names: the editor's ids of its sessions by the agent's, where they can differ.
    """
    sessions = [
        {
            "id": known if names is None else names.get(known, known),
            "cwd": session.cwd,
            "mcp": [asdict(reach) for reach in reaches(running.ledger, known)],
        }
        for known, session in running.ledger.sessions.items()
        if names is None or known in names
    ]
    mods = [
        {"name": name, "latencyMs": None if latency is None else asdict(latency)}
        for name, latency in running.latencies
    ]
    return {"agent": running.agent_name, "mods": mods, "sessions": sessions}
