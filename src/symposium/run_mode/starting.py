"""Start one chain: its components, and the `initialize` request of the editor."""

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from peerwire.acp.names import INITIALIZE
from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.blueprint import Blueprint
from symposium.chain.calls import Step
from symposium.chain.conductor import ALREADY_ANSWERED
from symposium.chain.handshake import (
    VERSION_MISMATCH,
    answered_version,
    pin_version,
    select_version,
)
from symposium.chain.link import Link
from symposium.chain.messages import Answer, Crossing
from symposium.chain.mod import Outcome, Refuse
from symposium.chain.routing import Way
from symposium.chain.runner import ChainSettings, RunningChain
from symposium.config.user_config import Config
from symposium.planning.planned_chain import NO_WISHES, Refine, Wishes, as_planned, planned_chain
from symposium.run_mode.editor_end import EditorEnd
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.own_request import OwnRequest
from symposium.run_mode.settings import Composition


class EditorGreeting:
    """The editor's initialize request, and the protocol version that it was answered.

    Attributes:
        promised: the version that the editor was answered; None before that.
    """

    def __init__(self, request: Crossing) -> None:
        self._request = request
        self._asked = select_version(request.params)
        self.promised: int | None = None

    def again(self) -> Crossing:
        """The request for one more agent: it asks for the version that the editor speaks."""
        again = Crossing(INITIALIZE, self._request.encoded(), is_request=True)
        again.extra = self._request.extra
        pin_version(again, self.promised or self._asked)
        return again

    def check(self, asked: Crossing, answer: Answer, agent: str) -> None:
        """Compare an agent's version with the one that the editor was answered meanwhile.

        Raises:
            RpcError: the agent speaks another version.
            OutdatedError: the agent was asked for another version, and may speak this one.
        """
        if answer.error is not None:
            raise self._explained(answer.error)
        version, promised = answered_version(answer), self.promised
        if promised is None or version == promised:
            return
        if select_version(asked.params) != promised:
            raise OutdatedError
        data = {"reason": VERSION_MISMATCH, "component": agent, "selected": promised}
        raise self._explained(RpcError(INTERNAL_ERROR, {**data, "answered": version}))

    def _explained(self, error: RpcError) -> RpcError:
        data = as_object(error.data)
        version = data.get("answered")
        if data.get("reason") != VERSION_MISMATCH or not isinstance(version, int):
            return error
        if self.promised is None or version > self._asked:
            return error
        # The editor could have been answered this version, had the agent been there.
        hint = "reconnect in your editor to negotiate the version with this agent"
        return RpcError(error.code, {**data, "hint": f"{hint}, or choose another agent"})


class OutdatedError(Exception):
    """The editor was answered another version than the agent was asked for."""


class RefinedError(Exception):
    """The agent's answer shows that some mods are better left out.

    Attributes:
        dropped: their names.
    """

    def __init__(self, dropped: AbstractSet[str]) -> None:
        self.dropped = dropped
        super().__init__(", ".join(sorted(dropped)))


class Start(Struct, frozen=True):
    """One attempt.

    Attributes:
        editor: the link that the chain begins at.
        tasks: the group that its tasks run in.
        config: what it is made from.
        composition: what of it.
        greeting: the editor's `initialize`; None before there was one.
        wishes: what the config says of its mods.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    config: Config
    composition: Composition
    greeting: EditorGreeting | None
    wishes: Wishes = NO_WISHES

    async def run(
        self,
        settings: ChainSettings,
        on_death: Callable[[OpenChain, RpcError], None],
        refine: Refine = as_planned,
    ) -> OpenChain:
        """Start the components, and greet them; those of an attempt that fails are ended.

        Raises:
            RpcError: one could not be started, or has refused the greeting.
            RefinedError: the chain is to be started without some of its mods.
            OutdatedError: the chain is to be started for the version that the editor speaks now.
        """
        editor = _greeted(self.greeting)
        asked = editor.again()
        greeting = OwnRequest(asked)

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
            chain_spec, params = self.composition.chain, as_object(asked.params)
            planned = planned_chain(chain_spec, params, "agent-first", wishes=self.wishes)
            chain.open(await self._started(running, end, asked, planned.blueprint), end)
            answer = await greeting.answer(chain.entrance)
            editor.check(asked, running.checked(answer), running.agent_name)
            result = as_object(answer.result)
            _check_refined(planned.dropped(result, refine))
        except BaseException:
            await running.end()
            raise
        chain.entrance.steps[INITIALIZE] = (Step(0, _refuse, "conductor"),)
        chain.planned(planned.plan)
        chain.greeting = planned.advertised(result)
        # After the answer: nothing of theirs may come before it.
        asyncio.get_running_loop().call_soon(running.opened)
        return chain

    async def _started(
        self, running: RunningChain, end: EditorEnd, asked: Crossing, made: Blueprint
    ) -> Way:
        before = list(self.editor.feeders)
        entrance = await running.start(lambda _: made, asked, select_version(asked.params))
        end.read_from([link for link in self.editor.feeders if link not in before])
        return entrance


def _greeted(editor: EditorGreeting | None) -> EditorGreeting:
    if editor is None:
        raise RpcError(INVALID_REQUEST, "`initialize` has not been answered yet")
    return editor


def _check_refined(dropped: AbstractSet[str]) -> None:
    if dropped:
        raise RefinedError(dropped)


def _refuse(_: Crossing) -> Outcome:
    return Refuse(ALREADY_ANSWERED)
