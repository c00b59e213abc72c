"""The editor connection, as the parts of run mode use it."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from symposium.chain.calls import ModCall
from symposium.run_mode.sessions import Session, Sessions
from symposium.run_mode.settings import RunSettings
from symposium.run_mode.supervisor import Supervisor


class SuggestionsPort(Protocol):
    """Source of offers in the chat."""

    def takes(self, session: Session, text: str) -> bool:
        """Whether what was typed is an answer."""
        ...

    async def answer(self, session: Session, text: str) -> str:
        """Do what was answered; what to tell."""
        ...

    def before_turn(self, session: Session) -> None:
        """The agent gets the word."""
        ...


class EditorConnection(Protocol):
    """The editor connection, as those see it who work on it."""

    @property
    def sessions(self) -> Sessions:
        """The sessions that the editor knows."""
        ...

    @property
    def supervisor(self) -> Supervisor:
        """The chains."""
        ...

    @property
    def offers(self) -> SuggestionsPort:
        """The offers in the chat."""
        ...

    @property
    def settings(self) -> RunSettings:
        """Settings of run mode."""
        ...

    def write(self, line: bytes) -> None:
        """Write a line to the editor."""
        ...

    def spawn(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task of the connection; it may fail alone."""
        ...

    def handle_request(self, call: ModCall, work: Coroutine[Any, Any, None]) -> None:
        """Work on a request for as long as it takes; the editor may cancel it."""
        ...
