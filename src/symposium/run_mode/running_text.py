"""What a session's chain adds and how its MCP servers are reached, as the chat shows it."""

from symposium.chain.monitoring import Latency
from symposium.chain.runner import reaches
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.sessions import Session


def running_text(session: Session) -> str:
    """The same as `symposium status` says of it."""
    chain = session.chain
    return "" if chain is None else "\n".join([*_mod_latencies(chain), *_servers(chain, session)])


def _mod_latencies(chain: OpenChain) -> list[str]:
    rows = [f"- `{name}`: {_added(latency)}" for name, latency in chain.running.latencies]
    return ["**What each mod adds:**", "", *rows, "", ""] if rows else []


def _servers(chain: OpenChain, session: Session) -> list[str]:
    found = reaches(chain.running.ledger, session.inner_id)
    rows = [f"- `{each.name}` ({each.kind}): {each.reaching}, {each.why}" for each in found]
    return ["**MCP servers of this session:**", "", *rows, "", ""] if rows else []


def _added(latency: Latency | None) -> str:
    if latency is None:
        return "nothing has passed it yet"
    return f"p50 {latency.p50:g} ms, p95 {latency.p95:g} ms"
