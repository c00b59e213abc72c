"""The editor connection, as the parts of run mode use it."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from peerwire.errors import ErrorBoundary, RpcError, rpc_error_of
from symposium.chain.calls import ModCall
from symposium.chain.link import Link
from symposium.chain.running_chain import ComponentTasks, log_failures
from symposium.run_mode.offers import OfferSource, OpenOffers
from symposium.run_mode.sessions import Sessions
from symposium.run_mode.settings import RunSettings
from symposium.run_mode.supervisor import Supervisor

_log = logging.getLogger(__name__)


class EditorConnection:
    """Shared state of one editor connection; `ConfigAgent` owns and runs it.

    Attributes:
        editor: the link to the editor.
        settings: settings of run mode.
        sessions: the sessions that the editor knows.
        offers: open offers, for example to trust a workspace or to add mods.
        supervisor: the chains; set by `ConfigAgent.run`.
        stage: the tasks of the connection; set by `ConfigAgent.run`.
    """

    editor: Link
    supervisor: Supervisor
    stage: ComponentTasks

    def __init__(self, settings: RunSettings, offer_source: OfferSource | None) -> None:
        self.settings = settings
        self.sessions = Sessions()
        self.offers = OpenOffers(self.sessions, self.write, self.spawn, offer_source)
        self.sessions.on_begun = self.offers.begin

    def write(self, line: bytes) -> None:
        self.editor.transport.send(line)

    def spawn(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task of the connection; it may fail alone."""
        self.stage.start(log_failures(name, work))

    def handle_request(self, call: ModCall, work: Coroutine[Any, Any, None]) -> None:
        """Handle a request in a task that the editor may cancel."""

        async def serving() -> None:
            with ErrorBoundary() as caught:
                await work
            error = caught.error
            if error is None:
                return
            if not isinstance(error, RpcError):
                _log.error("%s failed", call.message.method, exc_info=error)
            call.fail(rpc_error_of(error, {"reason": "run_mode_failed"}))

        task = self.stage.start(serving())
        call.started(task)
        # A task that was canceled before its first step has not even begun the work.
        task.add_done_callback(lambda _: work.close())
