"""Port of tools to the bus, implemented by `symposium.bus.client.BusClient`."""

from typing import Protocol, TypeVar

from symposium.bus.endpoint import OnProgress
from symposium.bus.envelope import Address
from symposium.bus.protocol import Request

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
