"""Whom tools ask over the bus; `symposium.bus.client.BusClient` is one, a test's peer another."""

from typing import Any, Protocol, TypeVar

from symposium.bus.envelope import Address
from symposium.bus.errors import BusUnreachableError
from symposium.bus.exchange import OnProgress
from symposium.bus.vocabulary import Request

_Answer = TypeVar("_Answer")


class Bus(Protocol):
    """Asks, and waits for the answer."""

    async def request(
        self,
        message: Request[_Answer],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        patience: float | None = None,
    ) -> _Answer:
        """The data of the answer.

        Args:
            message: of any type that agents may send.
            to: whom; by the message's class if None.
            on_progress: takes news meanwhile.
            patience: seconds to wait; the class's budget if None.

        Raises:
            BusError: there is no answer, or a refusal.
        """
        ...


class NoBus:
    """Nobody is there."""

    async def request(
        self,
        message: Request[Any],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        patience: float | None = None,
    ) -> Any:
        """Refuse.

        Raises:
            BusUnreachableError: always.
        """
        del to, on_progress, patience
        raise BusUnreachableError(
            f"{message.about.type}: this server is not connected to the daemon",
            "start it with `symposium daemon start`",
        )
