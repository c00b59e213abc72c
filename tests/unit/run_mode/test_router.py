"""Requests of an editor before and after its connection is open."""

from typing import Any, cast

import pytest

from peerwire.errors import RpcError
from symposium.chain.calls import SHUTTING_DOWN, ModCall
from symposium.chain.conductor import EXPECTED_INITIALIZE
from symposium.chain.messages import ChainMessage
from symposium.chain.ordering import OrderedQueues
from symposium.run_mode.router import RequestRouter


class Failed:
    """Records the error of a request."""

    def __init__(self) -> None:
        self.errors: list[RpcError] = []

    def fail(self, error: RpcError) -> None:
        self.errors.append(error)


def router() -> RequestRouter:
    """A router whose handlers are never reached."""

    def queues() -> OrderedQueues:
        return OrderedQueues(lambda work: pytest.fail(str(work)), lambda _: None)

    nothing: Any = None
    return RequestRouter((queues(), queues()), nothing, nothing)


def refusals(given: RequestRouter, *methods: str) -> list[RpcError]:
    call = Failed()
    for method in methods:
        given.take(ChainMessage(method, b"{}", is_request=True), cast("ModCall", cast("Any", call)))
    return call.errors


@pytest.mark.requirement("run-mode.initialize-order")
def test_requests_before_initialize_are_refused() -> None:
    assert refusals(router(), "session/new") == [EXPECTED_INITIALIZE]


@pytest.mark.requirement("run-mode.initialize-order")
def test_every_request_of_a_closed_connection_is_refused() -> None:
    closed = router()
    closed.open()
    closed.close()

    assert refusals(closed, "session/new", "initialize") == [SHUTTING_DOWN] * 2
