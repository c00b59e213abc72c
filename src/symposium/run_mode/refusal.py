"""A prompt that its agent wants a login for."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from peerwire.errors import RpcError
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.sessions import Session


class Refusal(Struct, frozen=True):
    """A prompt that an agent wants a login for.

    Attributes:
        session: where.
        chain: whose agent.
        error: what it said.
        blocks: the content blocks of the prompt.
        answered: ends the turn with that error.
    """

    session: Session
    chain: OpenChain
    error: RpcError
    blocks: Sequence[Any]
    answered: Callable[[], None]
