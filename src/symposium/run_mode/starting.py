"""Starts one chain: its components, and the greeting that the editor gave."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from peerwire.acp.names import INITIALIZE
from peerwire.jsonrpc.errors import INVALID_REQUEST, RpcError
from symposium.conductor.call import Step
from symposium.conductor.chain import Way
from symposium.conductor.component import Answer, Crossing, Outcome, Refuse
from symposium.conductor.conductor import ALREADY_ANSWERED
from symposium.conductor.gate import members_of
from symposium.conductor.handshake import select_version
from symposium.conductor.link import Link
from symposium.conductor.running_chain import ChainSettings, RunningChain
from symposium.config.user_config import Config
from symposium.run_mode.editor_end import EditorEnd
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.own_request import OwnRequest
from symposium.run_mode.settings import Composition


@dataclass(frozen=True, slots=True)
class Start:
    """One attempt.

    Attributes:
        editor: the link that the chain begins at.
        tasks: the group that its tasks run in.
        config: what it is made from.
        composition: what of it.
        greeting: the editor's `initialize`; None before there was one.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    config: Config
    composition: Composition
    greeting: Crossing | None

    async def run(
        self, settings: ChainSettings, on_death: Callable[[OpenChain, RpcError], None]
    ) -> OpenChain:
        """Start the components, and greet them; those of an attempt that fails are ended.

        Raises:
            RpcError: one could not be started, or has refused the greeting.
        """
        greeting = OwnRequest(self._greeting_again())

        def died(death: RpcError) -> None:
            if chain.greeting:
                on_death(chain, death)
            else:
                greeting.give_up(Answer(error=death))

        end = EditorEnd(self.editor)
        settings = replace(settings, client_end=end)
        running = RunningChain(self.editor, self.tasks, settings, died)
        chain = OpenChain(self.config, self.composition, running)
        try:
            chain.open(await self._started(running, end), end)
            answer = await greeting.answer(chain.entrance)
            _check(answer)
        except BaseException:
            await running.end()
            raise
        chain.entrance.steps[INITIALIZE] = (Step(0, _refuse, "conductor"),)
        chain.greeting = members_of(answer.result)
        # After the answer: nothing of theirs may come before it.
        asyncio.get_running_loop().call_soon(running.opened)
        return chain

    async def _started(self, running: RunningChain, end: EditorEnd) -> Way:
        crossing = self._greeting_again()
        make = self.composition.chain.blueprint
        before = list(self.editor.feeders)
        entrance = await running.start(lambda _: make(), crossing, select_version(crossing.params))
        end.sources = [link for link in self.editor.feeders if link not in before]
        return entrance

    def _greeting_again(self) -> Crossing:
        if self.greeting is None:
            raise RpcError(INVALID_REQUEST, "`initialize` has not been answered yet")
        again = Crossing(INITIALIZE, self.greeting.encoded(), is_request=True)
        again.extra = self.greeting.extra
        return again


def _check(answer: Answer) -> None:
    if answer.error is not None:
        raise answer.error


def _refuse(_: Crossing) -> Outcome:
    return Refuse(ALREADY_ANSWERED)
