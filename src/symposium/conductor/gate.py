"""What a client meets while no chain stands behind it: at first, after a failure, at the end."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from peerwire.acp.names import INITIALIZE, PROXY_INITIALIZE
from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.values import as_object
from symposium.conductor.call import Call, Step
from symposium.conductor.chain import Way, join
from symposium.conductor.component import Crossing, Direction, Drop, Outcome
from symposium.conductor.lanes import Lanes

EXPECTED_INITIALIZE: Final = RpcError(
    INVALID_REQUEST, "expected `initialize` request", message="Invalid Request"
)
EXPECTED_PROXY_INITIALIZE: Final = RpcError(
    INVALID_REQUEST,
    "proxies must be initialized with `_proxy/initialize`",
    message="Invalid Request",
)
NOT_ANSWERED_YET: Final = RpcError(
    INVALID_REQUEST, "`initialize` has not been answered yet", message="Invalid Request"
)
SHUTTING_DOWN: Final = RpcError(INTERNAL_ERROR, {"reason": "shutting_down"})


class Nowhere:
    """The end of a way that leads nowhere."""

    def forward(self, message: Message, line: bytes) -> None:
        """Let it end here."""

    def notify(self, crossing: Crossing) -> None:
        """Let it end here."""

    def ask(self, call: Call) -> None:
        """Nobody will answer."""
        call.fail(SHUTTING_DOWN)

    def cancel(self, call: Call) -> None:
        """Nobody was asked."""


class Gate(Way):
    """Stands in the client's way and answers for the chain that is not there.

    Attributes:
        refusal: what every request but the expected one is answered; None while the first request
            is awaited.
    """

    is_open = False

    def __init__(
        self, lanes: tuple[Lanes, Lanes], *, is_proxy: bool, on_initialize: Callable[[Call], None]
    ) -> None:
        super().__init__(Direction.TO_AGENT, (), Nowhere(), lanes[0])
        join(self, Way(Direction.TO_CLIENT, (), Nowhere(), lanes[1]))
        # Never the short way: everything is to be looked at.
        self.other = (Step(0, _stop),)
        self.refusal: RpcError | None = None
        self._is_proxy = is_proxy
        self._on_initialize = on_initialize

    def take(self, crossing: Crossing, call: Call | None = None, *, after: int = -1) -> None:
        """Begin, or refuse; a notification has nobody to go to."""
        del after
        if call is None:
            return
        if self.refusal is not None:
            call.fail(self.refusal)
        elif self._is_greeting(crossing):
            self.refusal = NOT_ANSWERED_YET
            self._on_initialize(call)
        else:
            self.refusal = EXPECTED_PROXY_INITIALIZE if self._is_proxy else EXPECTED_INITIALIZE
            call.fail(self.refusal)

    def _is_greeting(self, crossing: Crossing) -> bool:
        if not self._is_proxy:
            return crossing.method == INITIALIZE
        return crossing.method in PROXY_INITIALIZE or (
            crossing.method == INITIALIZE and is_flagged(crossing.params)
        )


def is_flagged(params: object) -> bool:
    """Whether the params of `initialize`, or its result, carry `_meta.proxy`, as of old."""
    return as_object(as_object(params).get("_meta")).get("proxy") is True


def unflagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same params or result without that flag."""
    meta = {name: item for name, item in as_object(params["_meta"]).items() if name != "proxy"}
    rest = {name: item for name, item in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def flagged(params: Mapping[str, Any]) -> dict[str, Any]:
    """The same params or result with that flag."""
    return {**params, "_meta": {**as_object(params.get("_meta")), "proxy": True}}


def _stop(_: Crossing) -> Outcome:
    return Drop()
