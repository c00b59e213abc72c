"""Serve the editor: attach each session to the chain of its config, or run its dialog.

The first of the seed's three actors, with the supervisor and the running chains. Nothing
here waits for a process: slow work runs in a separate task while other sessions continue.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from peerwire.jsonrpc.transport import Transport
from symposium.chain.calls import SHUTTING_DOWN
from symposium.chain.conductor import CLOSE_GRACE
from symposium.chain.intake import Intake
from symposium.chain.link import Link, PeerState, abandon, cancel_serving, fail_serving
from symposium.chain.running_chain import ComponentTasks, overflow
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.menu.config_mode import ConfigMode
from symposium.run_mode.new_sessions import NewSessions
from symposium.run_mode.offers import OfferSource
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.router import RequestRouter
from symposium.run_mode.session_requests import AgentRecovery, SessionRequests
from symposium.run_mode.sessions import Session
from symposium.run_mode.settings import RunSettings
from symposium.run_mode.supervisor import Supervisor

_log = logging.getLogger(__name__)


class ConfigAgent(EditorConnection):
    """Serve one editor. `run` owns every chain and task behind it."""

    def __init__(
        self, editor: Transport, settings: RunSettings, offers: OfferSource | None = None
    ) -> None:
        super().__init__(settings, offers)
        self.sessions.on_named = self._named
        self.editor = Link("editor", editor, self)
        self.editor.state = PeerState.READY
        self._over = asyncio.Event()

    async def run(self) -> int:
        """Serve the editor until it disconnects.

        Returns:
            The exit code, always 0: a failure behind a session is reported in that session.
        """
        async with asyncio.TaskGroup() as tasks:
            self.stage = ComponentTasks(tasks, self, None)
            self.supervisor = Supervisor(self.editor, tasks, self.settings, self._chain_died)
            self._recovery = AgentRecovery(self)
            config_mode = ConfigMode(self)
            new_sessions = NewSessions(self, config_mode, self._initialized)
            self._session_requests = SessionRequests(
                self, config_mode, self._recovery, lambda: new_sessions.offered
            )
            queues = (self.stage.queues_for(self.editor), self.stage.queues_for(self.editor))
            self.editor.plain = self._router = RequestRouter(
                queues, new_sessions, self._session_requests
            )
            self.editor.transport.start(Intake(self.editor))
            try:
                await self._over.wait()
            finally:
                await self._end()
        return 0

    def reports(self) -> list[dict[str, Any]]:
        """Report the state of each chain, for `symposium status`."""
        from symposium.chain.running_chain import chain_report

        return [chain_report(chain.running, chain.sessions) for chain in self.supervisor.chains()]

    def _named(self, session: Session) -> None:
        """Store the editor's id of a session for the time after a restart."""
        folder, chain = self.settings.names, session.chain
        if folder is None or chain is None:
            return
        from symposium.run_mode.session_names import (
            SessionNames,
        )

        try:
            # Save now: the editor may disconnect right after the response.
            SessionNames(folder, chain.config).keep(session.id, session.inner_id)
        except OSError as error:
            _log.warning("cannot store the id of a session for a restart: %s", error)

    def _initialized(self) -> None:
        self._router.open()

    def link_ended(self, link: Link, error: Exception | None) -> None:
        """Handle the end of the editor's input."""
        del link, error
        self._over.set()

    def link_overflowed(self, link: Link) -> None:
        """Treat an editor that does not read its input as disconnected."""
        if not self._over.is_set():
            overflow(link)
            self._over.set()

    def _chain_died(self, chain: OpenChain) -> None:
        """Start recovery of the chain's sessions, after its last messages."""
        if chain.death is not None:
            self._recovery.chain_died(chain, chain.death)
        for gate in (chain.end.gate, chain.to_agent):
            gate.open_all()

    async def _end(self) -> None:
        self._router.close()
        self._recovery.end()
        self._session_requests.close_all()
        await self._wait_until_quiet()
        cancel_serving(self.editor)
        fail_serving(self.editor, SHUTTING_DOWN)
        try:
            await self.supervisor.end()
        finally:
            await self.editor.transport.aclose(grace=CLOSE_GRACE)
            abandon(self.editor)
            self.stage.stop()

    async def _wait_until_quiet(self) -> None:
        """Wait a limited time for the answers to open requests."""
        if not self.editor.open:
            return
        quiet = asyncio.Event()
        self.editor.on_quiet = quiet.set
        with suppress(TimeoutError):
            async with asyncio.timeout(self.settings.quiet_grace):
                await quiet.wait()
