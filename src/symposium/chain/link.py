"""The connection of one component, with back-pressure.

What arrives is read by `intake`; here is what is written, in order and with a bound, and what
becomes of it all when the connection ends.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Protocol

from peerwire.acp.names import CANONICAL, Dialect
from peerwire.errors import RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.transport import OversizedLine, Transport
from symposium.chain.calls import ModCall
from symposium.chain.messages import Answer
from symposium.chain.monitoring import Passing
from symposium.chain.routing import Route


class LineBuffer:
    """Keeps what is to be written until it may be.

    Attributes:
        size: bytes that it holds.
        write: takes the next line: keeps it, or writes it at once.
    """

    def __init__(self, send: Callable[[bytes], None], on_growth: Callable[[], None]) -> None:
        self.size = 0
        self.write = send
        self._send = send
        self._on_growth = on_growth
        self._lines: list[bytes] = []

    def keep(self) -> None:
        """From now on write nothing."""
        self.write = self._keep

    def release(self) -> None:
        """Write what was kept, in order, and from now on all at once."""
        lines, self._lines = self._lines, []
        self.size = 0
        self.write = self._send
        for line in lines:
            self._send(line)

    def drop(self) -> None:
        """Forget what was kept; from now on lines are written, to a peer that is gone."""
        self._lines.clear()
        self.release()

    def _keep(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line) + 1
        self._on_growth()


BACK_PRESSURE: Final = 16 * 1024 * 1024
"""Bytes waiting for a component before writers from the client's side must wait.

Far above the mark for the stream towards the client: requests and answers must not wait for each
other (R4).
"""

MAX_OPEN: Final = 10_000
"""Requests of one peer that may wait for their answers at a time, as in `Connection`."""

OVERFLOW: Final = 128 * 1024 * 1024
"""Bytes waiting for a peer that reads nothing before it counts as lost: two longest lines."""


class PeerState(Enum):
    """States of a connection (acp-host §1.10)."""

    SPAWNING = "spawning"
    INITIALIZING = "initializing"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"
    CLOSED = "closed"


class Waiter(Protocol):
    """Waiter for a response of this link's peer: a call, or the handshake."""

    @property
    def request_id(self) -> bytes:
        """The JSON text of the id that the request had where it came from."""
        ...

    def settle(self, answer: Answer) -> None:
        """Take the response."""
        ...


class Greeting(Protocol):
    """The handshake with this link's peer, while it lasts."""

    def wait_for(self, call: ModCall) -> None:
        """The peer has greeted its successor: until that has answered, its time stands still."""
        ...

    def go_on(self, call: ModCall, answer: Answer) -> None:
        """A request of the peer has been answered."""
        ...


class LinkOwner(Protocol):
    """Owner of a link, notified when it has ended or cannot continue."""

    def link_ended(self, link: "Link", error: Exception | None) -> None:
        """The peer has written its last line."""
        ...

    def link_overflowed(self, link: "Link") -> None:
        """The peer has stopped reading, and too much waits for it."""
        ...


class Pressure:
    """Why a writer is held: its reader has very much to read. One for each link."""


class Link:
    """One peer over one transport, and the ways that its messages take.

    Attributes:
        plain: where its plain messages go: for the client towards the agent, for all others
            towards the client.
        wrapped: where the messages in its envelopes go; None for a peer without successor.
        feeders: links whose stream towards the client ends here; they wait while this peer is slow.
        writers: links whose messages towards the agent end here; they wait when very much waits
            for this peer.
        asked: who waits for which answer of the peer.
        serving: the peer's open requests by their ids.
        open: all of them; an id may be in use twice.
        failure: what every request to the peer is answered, once it is gone.
        from_predecessor: the lines for it that are no answers and come from the client's side.
        from_successor: the same from the agent's side.
        passing: measures a mod by its requests; None for the client and the agent.
        on_lines: shown what each read gave, before any of it is on its way.
    """

    plain: Route
    wrapped: Route | None = None

    def __init__(self, name: str, transport: Transport, owner: LinkOwner) -> None:
        self.name = name
        self.transport = transport
        self.state = PeerState.SPAWNING
        self.dialect: Dialect = CANONICAL
        self.feeders: list[Link] = []
        self.writers: list[Link] = []
        self.asked: dict[bytes, Waiter] = {}
        self.serving: dict[bytes, ModCall] = {}
        self.open: dict[ModCall, int] = {}
        self.open_size = 0
        self.is_slow = False
        self.failure: RpcError | None = None
        self.greeting: Greeting | None = None
        self.on_quiet: Callable[[], None] | None = None
        self.last_id = 0
        self.passing: Passing | None = None
        self.on_lines: Callable[[Sequence[bytes | OversizedLine]], None] | None = None
        self.from_predecessor = LineBuffer(transport.send, self._check_backlog)
        self.from_successor = LineBuffer(transport.send, self._check_backlog)
        self._owner = owner
        self._holds: set[object] = set()
        self._pressure = Pressure()

    @property
    def backlog(self) -> int:
        """Bytes that wait for the peer, here and in its transport."""
        return self.transport.backlog + self.from_predecessor.size + self.from_successor.size

    # -- asking

    def ask(self, waiter: Waiter) -> bytes:
        """A fresh id of this hop, under which `waiter` gets the response."""
        self.last_id += 1
        key = b"%d" % self.last_id
        self.asked[key] = waiter
        return key

    # -- marks

    def hold(self, reason: object) -> None:
        """Stop reading this peer; it reads on when every reason has gone."""
        if not self._holds:
            self.transport.pause_reading()
        self._holds.add(reason)

    def let_go(self, reason: object) -> None:
        """Undo `hold` for this reason."""
        if reason in self._holds:
            self._holds.discard(reason)
            if not self._holds:
                self.transport.resume_reading()

    def writing_paused(self) -> None:
        """The peer is slow: those who stream to it wait, and others once very much has piled up."""
        self.is_slow = True
        for feeder in self.feeders:
            feeder.hold(self)
        # Held as a writer and full itself, it may wait for what its reader writes: no circles.
        for reason in [one for one in self._holds if isinstance(one, Pressure)]:
            self.let_go(reason)
        self._check_backlog()

    def _check_backlog(self) -> None:
        backlog = self.backlog
        if backlog > BACK_PRESSURE:
            for writer in self.writers:
                if not writer.is_slow:
                    writer.hold(self._pressure)
        if backlog > OVERFLOW:
            self._owner.link_overflowed(self)

    def writing_resumed(self) -> None:
        """The peer has caught up."""
        self.is_slow = False
        for feeder in self.feeders:
            feeder.let_go(self)
        for writer in self.writers:
            writer.let_go(self._pressure)

    # -- answering

    def serve(self, call: ModCall) -> None:
        """Take note of a request of this peer."""
        self.serving[wire.id_key(call.request_id)] = call
        self.open[call] = size = call.crossing.size
        self.open_size += size

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Write the answer to a request of this peer."""
        self.forget(call, answer)
        self.transport.send(answer.line(call.request_id))

    def forget(self, call: ModCall, answer: Answer) -> None:
        """The call is answered: its id may come again."""
        self.open_size -= self.open.pop(call, 0)
        key = wire.id_key(call.request_id)
        if self.serving.get(key) is call:
            del self.serving[key]
        if self.greeting is not None:
            self.greeting.go_on(call, answer)
        if not self.open and self.on_quiet is not None:
            self.on_quiet()

    def ended(self, error: Exception | None) -> None:
        """The peer has written its last line."""
        self._owner.link_ended(self, error)


def keep_until_greeted(link: Link) -> None:
    """Keep what is for the peer, but for answers and what the handshake writes."""
    link.from_predecessor.keep()
    link.from_successor.keep()


def begin_greeting(link: Link, greeting: Greeting) -> None:
    """The handshake with the peer begins."""
    link.state = PeerState.INITIALIZING
    link.greeting = greeting


def greets_successor(link: Link, call: ModCall) -> None:
    """The peer greets its successor and so is ready to hear from it, whatever else it waits for."""
    if link.greeting is not None:
        link.greeting.wait_for(call)
        link.from_successor.release()


def end_greeting(link: Link, failure: RpcError | None) -> None:
    """The peer has answered its greeting; for one that has failed nothing is kept any longer."""
    link.greeting = None
    if failure is None:
        link.state = PeerState.READY
        link.from_predecessor.release()
        link.from_successor.release()
    else:
        fail(link, failure)
    if not link.is_slow:
        link.writing_resumed()


def fail(link: Link, error: RpcError) -> None:
    """The peer is of no use any more: what waits for it and what will ask it gets this error."""
    if link.state not in {PeerState.DRAINING, PeerState.CLOSED}:
        link.state = PeerState.FAILED
    link.failure = link.failure or error
    link.from_predecessor.drop()
    link.from_successor.drop()
    fail_asked(link, error)


def fail_asked(link: Link, error: RpcError) -> None:
    """Answer everything that waits for this link's peer with an error (R7)."""
    asked, link.asked = link.asked, {}
    for waiter in asked.values():
        waiter.settle(Answer(error=error))


def fail_serving(link: Link, error: RpcError) -> None:
    """Answer everything that this link's peer still waits for with an error."""
    for call in list(link.open):
        call.fail(error)


def cancel_serving(link: Link) -> None:
    """The peer does not wait any more: its handler is notified (acp-host §1.8)."""
    for call in list(link.open):
        call.cancel()


def abandon(link: Link) -> None:
    """The peer is gone: cancel its requests to others, and stop holding writers back."""
    cancel_serving(link)
    link.open.clear()
    link.open_size = 0
    link.serving.clear()
    link.writing_resumed()
