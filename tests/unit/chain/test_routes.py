"""The routing table, row by row, without a loop, a task or a byte of I/O (acp-host §2.1)."""

from collections.abc import Coroutine
from typing import Any, NamedTuple

import pytest

from peerwire.jsonrpc.transport import Listener
from symposium.chain.assembly import AssemblyContext, assemble
from symposium.chain.blueprint import Blueprint, Program, Served
from symposium.chain.handshake import VersionSelection
from symposium.chain.link import Link
from symposium.chain.messages import ChainMessage
from symposium.chain.ordering import OrderedQueues, Started


class Paper:
    """A transport that only remembers."""

    backlog = 0

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def start(self, listener: Listener) -> None: ...

    def send(self, line: bytes) -> None:
        self.lines.append(line)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    async def drain(self) -> None: ...

    async def aclose(self, *, grace: float = 1.0) -> None: ...


class NoOwner:
    def link_ended(self, link: Link, error: Exception | None) -> None: ...

    def link_overflowed(self, link: Link) -> None: ...


async def serve(_: Any) -> None: ...


def no_tasks(_: Coroutine[Any, Any, None]) -> Started:
    raise AssertionError("nothing here takes time")


PLAIN = b'{"jsonrpc":"2.0","method":"m","params":{"n":1}}'
WRAPPED = b'{"jsonrpc":"2.0","method":"_proxy/successor","params":{"method":"m","params":{"n":1}}}'


class Chain:
    """A chain on paper: what arrives where."""

    def __init__(self, proxies: int, *, has_agent: bool) -> None:
        self.papers: dict[str, Paper] = {"client": Paper()}
        client = Link("client", self.papers["client"], NoOwner())
        components = [Served(f"P{at}", serve) for at in range(proxies)]
        agent = Served("A", serve) if has_agent else None
        workshop = AssemblyContext(client, self._open, self._lanes, VersionSelection(1))
        assembly = assemble(workshop, Blueprint(components, agent))
        client.plain = assembly.entrance
        self.links = {"client": client, **{link.name: link for link in assembly.links}}

    def _open(self, component: Program | Served, _: int) -> Link:
        paper = self.papers[component.name] = Paper()
        return Link(component.name, paper, NoOwner())

    def _lanes(self, _: Link) -> OrderedQueues:
        return OrderedQueues(no_tasks, lambda _: None)

    def arrivals(self, source: str, *, in_envelope: bool) -> list[tuple[str, bytes]]:
        """Receivers of a notification of this component, and its form there."""
        link = self.links[source]
        route = link.wrapped if in_envelope else link.plain
        assert route is not None
        route.take(ChainMessage("m", b'{"n":1}', is_request=False))
        return [(name, line) for name, paper in self.papers.items() for line in paper.lines]


AGENT, PROXY = "agent mode", "proxy mode"
ITSELF, SUCCESSOR = "plain", "in an envelope"


class Row(NamedTuple):
    """A chain, who writes in which form, and what arrives where."""

    proxies: int
    mode: str
    source: str
    of: str
    target: str
    line: bytes


@pytest.mark.requirement("conductor.route-pure")
@pytest.mark.parametrize(
    "row",
    [
        Row(0, AGENT, "client", ITSELF, "A", PLAIN),
        Row(0, AGENT, "A", ITSELF, "client", PLAIN),
        Row(2, AGENT, "client", ITSELF, "P0", PLAIN),
        Row(2, AGENT, "P0", SUCCESSOR, "P1", PLAIN),
        Row(2, AGENT, "P1", SUCCESSOR, "A", PLAIN),
        Row(2, AGENT, "A", ITSELF, "P1", WRAPPED),
        Row(2, AGENT, "P1", ITSELF, "P0", WRAPPED),
        Row(2, AGENT, "P0", ITSELF, "client", PLAIN),
        Row(2, PROXY, "client", ITSELF, "P0", PLAIN),
        Row(2, PROXY, "P1", SUCCESSOR, "client", WRAPPED),
        Row(2, PROXY, "client", SUCCESSOR, "P1", WRAPPED),
        Row(2, PROXY, "P0", ITSELF, "client", PLAIN),
        Row(0, PROXY, "client", ITSELF, "client", WRAPPED),
        Row(0, PROXY, "client", SUCCESSOR, "client", PLAIN),
    ],
)
def test_each_message_has_one_place_to_go_and_one_form(row: Row) -> None:
    chain = Chain(row.proxies, has_agent=row.mode == AGENT)
    arrivals = chain.arrivals(row.source, in_envelope=row.of == SUCCESSOR)
    assert arrivals == [(row.target, row.line)]
