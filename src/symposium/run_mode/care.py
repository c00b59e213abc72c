"""What is kept of a session so that it outlives the agent that runs it."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from symposium.chain.calls import Call
from symposium.config.user_config import Config
from symposium.run_mode.memory import Memory

Health: TypeAlias = Literal["well", "reviving", "stopped"]
"""Whether a session has its agent, is being given a new one, or has none until the user says so."""


class Waiting(Struct, frozen=True):
    """A request that waits for the agent to be back.

    Attributes:
        call: the request.
        go: takes it up again.
    """

    call: Call
    go: Callable[[], None]


class Care(Struct):
    """The part of a session that does not die with its agent.

    Attributes:
        health: how it is.
        config: what its agent was made from, once that has died.
        death: how it died, for people.
        origin: the params that the session was made with, as they came.
        turns: the prompts that are open, with their content blocks.
        interrupted: the content blocks of the prompt that a death has ended.
        held: answers that wait until the user has been told of the death.
        is_told: whether that is so.
        waiting: requests that wait for the agent to be back, in order.
        memory: what was said.
    """

    health: Health = "well"
    config: Config | None = None
    death: str = ""
    origin: bytes = b""
    turns: dict[Call, Sequence[Any]] = field(default_factory=dict[Call, Sequence[Any]])
    interrupted: Sequence[Any] | None = None
    held: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    is_told: bool = False
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    memory: Memory = field(default_factory=Memory)

    def hold(self, answer: Callable[[], None]) -> None:
        """Give an answer once the user has been told; at once if that is so."""
        if self.is_told:
            answer()
        else:
            self.held.append(answer)

    def told(self) -> None:
        """The user knows: what was held goes on."""
        self.is_told = True
        held, self.held = self.held, []
        for answer in held:
            answer()

    def go_on(self) -> None:
        """Take up what has waited."""
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if not one.call.is_settled:
                one.go()
