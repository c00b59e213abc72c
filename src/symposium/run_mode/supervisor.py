"""Keep one chain for each distinct config: start it once, share it, and drop it after a crash."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from localio.errors import ExplainedError
from peerwire.errors import INTERNAL_ERROR, ErrorBoundary, RpcError, rpc_error_of
from symposium.chain.calls import SHUTTING_DOWN
from symposium.chain.conductor import RELAY_GRACE
from symposium.chain.link import Link
from symposium.config.user_config import Config
from symposium.permissions.verdict import PolicyError
from symposium.run_mode.chain_starts import ChainStarter, EditorInitialize
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.settings import RunSettings

_log = logging.getLogger(__name__)


class Supervisor:
    """The chains of one editor connection, by config."""

    def __init__(
        self,
        editor: Link,
        tasks: asyncio.TaskGroup,
        settings: RunSettings,
        on_death: Callable[[OpenChain], None],
    ) -> None:
        self._editor = editor
        self._tasks = tasks
        self._settings = settings
        self._on_death = on_death
        self._starts: dict[str, asyncio.Task[OpenChain | RpcError]] = {}
        self._due: dict[str, float] = {}
        self._initialize: EditorInitialize | None = None

    def initialize_with(self, initialize: EditorInitialize) -> None:
        """Send every chain the editor's initialize request."""
        self._initialize = initialize

    async def chain_for(self, config: Config) -> OpenChain:
        """Return the chain of this config; the first caller starts it, and a failure is not stored.

        Raises:
            RpcError: the chain could not be started, or refused to initialize.
        """
        key = config.key()
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._tasks.create_task(self._open(config))
            start.add_done_callback(lambda done: self._started(key, done))
        outcome = await asyncio.shield(start)
        if isinstance(outcome, RpcError):
            raise outcome
        if outcome.death is not None:
            raise outcome.death
        return outcome

    async def chain_within_timeout(self, config: Config) -> OpenChain | None:
        """Return the chain, or None if its start takes too long; the start continues.

        Raises:
            RpcError: the chain could not be started, or refused to initialize.
        """
        key = config.key()
        start = self._starts.get(key)
        if start is not None and start.done():
            return await self.chain_for(config)
        loop = asyncio.get_running_loop()
        due = self._due.setdefault(key, loop.time() + self._settings.start_timeout)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                return await self.chain_for(config)
        # A chain that just started does not know the answer to the editor.
        start = self._starts.get(key)
        return None if start is None else _chain_of(start)

    def chains(self) -> list[OpenChain]:
        """Chains whose start has succeeded."""
        return [chain for start in self._starts.values() if (chain := _chain_of(start))]

    async def end(self) -> None:
        """Stop all chains concurrently."""
        starts, self._starts = self._starts, {}
        async with asyncio.TaskGroup() as tasks:
            for start in starts.values():
                chain = _chain_of(start)
                if chain is not None:
                    tasks.create_task(chain.running.end())
                else:
                    start.cancel()
        if starts:
            await asyncio.wait(starts.values())

    def _started(self, key: str, start: asyncio.Task[OpenChain | RpcError]) -> None:
        self._due.pop(key, None)
        if _chain_of(start) is None and self._starts.get(key) is start:
            del self._starts[key]

    def _evict(self, chain: OpenChain) -> None:
        for key, start in list(self._starts.items()):
            if _chain_of(start) is chain:
                del self._starts[key]

    async def _open(self, config: Config) -> OpenChain | RpcError:
        """Start a chain; return a failure, which must not end other starts."""
        with ErrorBoundary() as caught:
            attempts = ChainStarter(self._editor, self._tasks, self._settings, self._initialize)
            chain = await attempts.chain(config, self._died)
            chain.on_empty = lambda: self._empty(chain)
            return chain
        assert caught.error is not None
        return _start_error(caught.error)

    def _died(self, chain: OpenChain, death: RpcError) -> None:
        if chain.death is not None:
            return
        chain.death = death
        self._evict(chain)
        self._on_death(chain)
        self._tasks.create_task(self._close(chain, death))

    async def _close(self, chain: OpenChain, death: RpcError) -> None:
        # Let live components deliver the error responses first.
        try:
            await chain.wait_idle(RELAY_GRACE)
            chain.fail_open(death)
            await chain.running.end()
        finally:
            chain.stopped.set()

    def _empty(self, chain: OpenChain) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._settings.idle_timeout, self._end_if_idle, chain)

    def _end_if_idle(self, chain: OpenChain) -> None:
        if chain.sessions or chain not in self.chains():
            return
        if chain.is_busy:
            self._empty(chain)
            return
        _log.info("stopping a chain without sessions")
        self._evict(chain)
        self._tasks.create_task(self._stop_chain(chain))

    async def _stop_chain(self, chain: OpenChain) -> None:
        chain.fail_open(SHUTTING_DOWN)
        await chain.running.end()


def _start_error(error: Exception) -> RpcError:
    if isinstance(error, ExplainedError):
        reason = "policy" if isinstance(error, PolicyError) else "config"
        return RpcError(INTERNAL_ERROR, {"reason": reason, "detail": str(error)})
    if not isinstance(error, RpcError):
        _log.error("could not start a chain", exc_info=error)
    return rpc_error_of(error, {"reason": "chain_not_made"})


def _chain_of(start: asyncio.Task[OpenChain | RpcError]) -> OpenChain | None:
    if not start.done() or start.cancelled():
        return None
    outcome = start.result()
    return outcome if isinstance(outcome, OpenChain) else None
