"""State of a session that survives an agent restart."""

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
        health: the state of the agent.
        config: the config of its agent, after a crash.
        death: how it crashed, as text for the user.
        origin: the unchanged params of the request that opened the session.
        turns: the unanswered prompts, with their content blocks.
        interrupted: the content blocks of the prompt that a crash interrupted.
        held: answers that wait until the user is informed of the crash.
        is_told: whether the user is informed.
        waiting: requests that wait for the restart of the agent, in order.
        memory: the transcript of the session.
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
        """Forward an answer after the user is informed; at once if they already are."""
        if self.is_told:
            answer()
        else:
            self.held.append(answer)

    def told(self) -> None:
        """Forward the held answers after the user was informed."""
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
