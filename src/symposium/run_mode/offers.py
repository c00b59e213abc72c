"""The open offers of a connection.

An input answers an offer only right after it was shown; any other input goes to the agent.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from localio.errors import ExplainedError
from peerwire.jsonrpc.values import as_object, decode_value
from symposium.config.paths import paths
from symposium.run_mode.chat import RECOMMENDATIONS, text_line
from symposium.run_mode.sessions import Session, Sessions

_log = logging.getLogger(__name__)

NO_OFFERS: Final = "There is nothing to decide and nothing to recommend for this workspace.\n"


class Offer(Protocol):
    """A question in a chat, such as an offer to trust a workspace."""

    def text(self) -> str:
        """Format the question as Markdown."""
        ...

    def takes(self, answer: str) -> bool:
        """Whether this is an answer to it."""
        ...

    def do(self, answer: str) -> str:
        """Carry out the answer and return a message about it."""
        ...


class OfferSource(Protocol):
    """Source of offers; its methods read and write files without waiting."""

    def offer(self, directory: str, *, include_postponed: bool) -> Offer | None:
        """Return the next offer for a session's directory.

        Args:
            directory: the session's directory.
            include_postponed: include postponed offers.
        """
        ...

    async def refresh(self) -> None:
        """Update the sources in the background."""
        ...


class _Open(Struct):
    offer: Offer
    is_said: bool = False


class OpenOffers:
    """Open offers by session; does nothing without a source of offers."""

    def __init__(
        self,
        sessions: Sessions,
        write: Callable[[bytes], None],
        spawn: Callable[[str, Callable[[], Coroutine[Any, Any, None]]], None],
        source: OfferSource | None,
    ) -> None:
        self._sessions = sessions
        self._write = write
        self._spawn = spawn
        self._source = source
        self._open: dict[str, _Open] = {}
        self._begun: set[str] = set()

    def begin(self, session: Session) -> None:
        """Look for offers in the background when a session has its agent."""
        if self._source is not None and session.id not in self._begun:
            self._begun.add(session.id)
            self._spawn("recommendations", lambda: self._begin(session))
            self._spawn("recommendations of others", self._source.refresh)

    def takes(self, session: Session, text: str) -> bool:
        """Whether the input answers the open offer."""
        if self._source is None:
            return False
        is_open = self._open.get(session.id)
        answers = is_open is not None and is_open.is_said and is_open.offer.takes(text)
        return answers or text in RECOMMENDATIONS

    async def answer(self, session: Session, text: str) -> str:
        """Carry out the answer; return a message for the user."""
        is_open = self._open.pop(session.id, None)
        if text in RECOMMENDATIONS or is_open is None:
            return await self._next(session, include_postponed=True) or NO_OFFERS
        try:
            message = await asyncio.to_thread(is_open.offer.do, text)
        except ExplainedError as error:
            return f"Nothing was changed: {error}\n\n"
        return message + await self._next(session, include_postponed=False)

    def before_turn(self, session: Session) -> None:
        """Close the open offer and drop the pending one before a turn of the agent."""
        is_open = self._open.get(session.id)
        if is_open is None:
            return
        if is_open.is_said:
            del self._open[session.id]
        else:
            self._say(session, is_open)

    def is_open(self, session_id: str) -> bool:
        """Whether an offer is open or pending in the session."""
        return session_id in self._open

    async def _begin(self, session: Session) -> None:
        is_open = await self._look(session, include_postponed=False)
        is_known = self._sessions.find(session.id) is session
        if is_open is None or session.menu is not None or not is_known:
            return
        self._open[session.id] = is_open
        if not session.open_turns:
            self._say(session, is_open)

    async def _next(self, session: Session, *, include_postponed: bool) -> str:
        is_open = await self._look(session, include_postponed=include_postponed)
        if is_open is None:
            return ""
        is_open.is_said = True
        self._open[session.id] = is_open
        return is_open.offer.text()

    async def _look(self, session: Session, *, include_postponed: bool) -> _Open | None:
        assert self._source is not None
        directory = _directory_of(session)
        if not directory:
            return None
        try:
            offer = await asyncio.to_thread(
                self._source.offer, directory, include_postponed=include_postponed
            )
        except (ExplainedError, OSError) as error:
            _log.warning("cannot look for recommendations: %s", error)
            return None
        return None if offer is None else _Open(offer)

    def _say(self, session: Session, is_open: _Open) -> None:
        is_open.is_said = True
        self._write(text_line(session.id, is_open.offer.text()))


def _directory_of(session: Session) -> str:
    origin = session.state.origin
    directory = as_object(decode_value(origin) if origin else None).get("cwd")
    return directory if isinstance(directory, str) else ""


class WorkspaceOfferSource:
    """Offer mods that suit a workspace, and trust in what it stores."""

    def __init__(self, config: Path, *, is_offline: bool = False) -> None:
        self._config = config
        self._env: Mapping[str, str] = os.environ
        self._passed: set[str] = set()
        self._is_asked = is_offline

    def offer(self, directory: str, *, include_postponed: bool) -> Offer | None:
        """Return the next offer for a session's directory."""
        from symposium.run_mode.workspace_offers import (
            adviser_for,
            next_offer,
        )

        adviser = adviser_for(paths(self._env), self._env)
        return next_offer(
            adviser, directory, self._config, self._passed, include_postponed=include_postponed
        )

    async def refresh(self) -> None:
        """Update the recommendations if they are older than a day, for the next session."""
        if self._is_asked:
            return
        self._is_asked = True
        from symposium.run_mode.workspace_offers import refreshed

        await refreshed(paths(self._env), self._env)
