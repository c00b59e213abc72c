"""Recorded traffic of real agents and clients through chains of all kinds (acceptance 2).

Every message arrives once, in order, and equal as JSON, including the order of its members; only
the ids differ on each hop.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import Peer, bare, chain_harness, inner, mods

from symposium.chain.blueprint import Component
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, from_agent, from_client

TRACES = sorted((Path(__file__).parents[1] / "golden" / "traces").glob("*.jsonl"))

Row = dict[str, Any]


class Rewrites(Mod):
    """Reads every message, and writes it again with equal content."""

    @from_client("*")
    def down(self, message: ChainMessage) -> Forward:
        return Forward(message.params)

    @from_agent("*")
    def up(self, message: ChainMessage) -> Forward:
        return Forward(message.params)


def rewriting(number: int) -> Callable[[], list[Component]]:
    return lambda: [*mods(*(Rewrites() for _ in range(number)))]


def proxies(number: int) -> Callable[[], list[Component]]:
    return lambda: [inner(*mods(Rewrites()), name=f"p{at}") for at in range(number)]


CHAINS = [
    *(pytest.param(rewriting(number), id=f"{number} mods") for number in (0, 1, 3, 10)),
    *(pytest.param(proxies(number), id=f"{number} proxies") for number in (1, 3, 10)),
    pytest.param(lambda: [inner(inner(*mods(Rewrites()), inner()), bare()[0])], id="nested"),
    pytest.param(
        lambda: [bare("a", era="sacp")[0], *mods(Rewrites()), bare("b", era="p1")[0]], id="mixed"
    ),
]


def conversations(path: Path) -> Iterator[list[Row]]:
    """Return the messages of each agent process in a trace."""
    rows: list[Row] = []
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "meta" in row and rows:
            yield rows
            rows = []
        if "msg" in row:
            rows.append(row)
    if rows:
        yield rows


@dataclass
class Side:
    """One end of the replay, with its ids for the requests of the other."""

    peer: Peer
    names: dict[str, Any] = field(default_factory=dict[str, Any])

    def write(self, message: Row) -> None:
        """Write a recorded message; a response has the id that its request had here."""
        if "method" not in message:
            message = {**message, "id": self.names[json.dumps(message["id"])]}
        self.peer.write(message)

    async def read(self, recorded: Row, asked: "Side") -> None:
        """Read a message; it must be this recorded one."""
        message = await self.peer.read()
        if "method" in recorded and "id" in recorded:
            self.names[json.dumps(recorded["id"])] = message["id"]
        elif "method" not in recorded:
            assert message["id"] == recorded["id"], (message, asked)
        assert message.keys() == recorded.keys()
        for member in ("method", "params", "result", "error"):
            assert json.dumps(message.get(member)) == json.dumps(recorded.get(member))


@pytest.mark.requirement("conductor.replay-chains", "conductor.replay-nested")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
@pytest.mark.parametrize("chain", CHAINS)
async def test_recorded_traffic_arrives_once_in_order_and_equal(
    path: Path, chain: Callable[[], list[Component]]
) -> None:
    for rows in conversations(path):
        async with chain_harness(*chain()) as it:
            client = Side(it.client)
            first, *rest = rows
            client.write(first["msg"])
            agent = Side(await it.agent())
            await agent.read(first["msg"], client)
            for direction, group in groupby(rest, key=lambda row: row["dir"]):
                messages = [row["msg"] for row in group]
                writer, reader = (client, agent) if direction == "c2a" else (agent, client)
                for message in messages:
                    writer.write(message)
                for message in messages:
                    await reader.read(message, writer)
            assert not client.peer.unread
            assert not agent.peer.unread


@pytest.mark.requirement("house.samples-present")
def test_recorded_traffic_is_present() -> None:
    lengths = [len(rows) for path in TRACES for rows in conversations(path)]

    assert len(TRACES) == 7
    assert sum(lengths) > 550
