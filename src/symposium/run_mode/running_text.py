"""Show the latency of a session's mods, and how its MCP servers are reached."""

from symposium.chain.monitoring import Latency
from symposium.chain.runner import reaches
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.sessions import Session


def running_text(session: Session) -> str:
    """Format the session's part of `symposium status`."""
    chain = session.chain
    return "" if chain is None else "\n".join([*_mod_latencies(chain), *_servers(chain, session)])


def _mod_latencies(chain: OpenChain) -> list[str]:
    rows = [f"- `{name}`: {_added(latency)}" for name, latency in chain.running.latencies]
    return ["**Latency of each mod:**", "", *rows, "", ""] if rows else []


def _servers(chain: OpenChain, session: Session) -> list[str]:
    found = reaches(chain.running.ledger, session.inner_id)
    rows = [f"- `{each.name}` ({each.kind}): {each.reaching}, {each.why}" for each in found]
    return ["**MCP servers of this session:**", "", *rows, "", ""] if rows else []


def _added(latency: Latency | None) -> str:
    if latency is None:
        return "no messages yet"
    return f"p50 {latency.p50:g} ms, p95 {latency.p95:g} ms"
