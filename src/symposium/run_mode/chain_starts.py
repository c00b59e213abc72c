"""Attempts to start a chain, and what each has found out."""

import asyncio
import logging
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
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Needs, Outcome, Refuse
from symposium.chain.routing import Route
from symposium.chain.runner import ChainSettings, RunningChain
from symposium.config.user_config import Config, ModEntry
from symposium.planning.planned_chain import (
    NO_PREFERENCES,
    ModPreferences,
    Refine,
    as_planned,
    planned_chain,
)
from symposium.run_mode.editor_end import EditorRouteEnd
from symposium.run_mode.open_chain import HostRequest, OpenChain
from symposium.run_mode.settings import Composition, RunSettings


class EditorGreeting:
    """The editor's initialize request, and the protocol version that it was answered.

    Attributes:
        promised: the version that the editor was answered; None before that.
    """

    def __init__(self, request: ChainMessage) -> None:
        self._request = request
        self._asked = select_version(request.params)
        self.promised: int | None = None

    def again(self) -> ChainMessage:
        """The request for one more agent: it asks for the version that the editor speaks."""
        again = ChainMessage(INITIALIZE, self._request.encoded(), is_request=True)
        again.extra = self._request.extra
        pin_version(again, self.promised or self._asked)
        return again

    def check(self, asked: ChainMessage, answer: Answer, agent: str) -> None:
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


class RetryWithoutModsError(Exception):
    """The agent's answer shows that some mods are better left out.

    Attributes:
        dropped: their names.
    """

    def __init__(self, dropped: AbstractSet[str]) -> None:
        self.dropped = dropped
        super().__init__(", ".join(sorted(dropped)))


class ChainStart(Struct, frozen=True):
    """One attempt.

    Attributes:
        editor: the link that the chain begins at.
        tasks: the group that its tasks run in.
        config: what it is made from.
        composition: what of it.
        greeting: the editor's `initialize`; None before there was one.
        preferences: what the config says of its mods.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    config: Config
    composition: Composition
    greeting: EditorGreeting | None
    preferences: ModPreferences = NO_PREFERENCES

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
        greeting = HostRequest(asked)

        def died(death: RpcError) -> None:
            if chain.greeting:
                on_death(chain, death)
            else:
                greeting.give_up(Answer(error=death))

        end = EditorRouteEnd(self.editor)
        settings = replace(settings, client_end=end)
        running = RunningChain(self.editor, self.tasks, settings, died)
        chain = OpenChain(self.config, self.composition, running)
        try:
            chain_spec, params = self.composition.chain, as_object(asked.params)
            planned = planned_chain(chain_spec, params, "agent-first", preferences=self.preferences)
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
        self, running: RunningChain, end: EditorRouteEnd, asked: ChainMessage, made: Blueprint
    ) -> Route:
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
        raise RetryWithoutModsError(dropped)


def _refuse(_: ChainMessage) -> Outcome:
    return Refuse(ALREADY_ANSWERED)


_log = logging.getLogger(__name__)


class ChainStarter(Struct, frozen=True):
    """Values that all attempts share.

    Attributes:
        editor: the link that the chain begins at.
        tasks: the group that its tasks run in.
        settings: how to make it.
        greeting: the editor's `initialize`; None before there was one.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    settings: RunSettings
    greeting: EditorGreeting | None

    async def chain(
        self, config: Config, on_death: Callable[[OpenChain, RpcError], None]
    ) -> OpenChain:
        """The chain of this config; an optional mod that does not start is left out (R8).

        Raises:
            RpcError: it could not be started, or has refused the greeting.
            ExplainedError: its agent cannot be had.
        """
        left_out: dict[str, str] = {}
        dropped: frozenset[str] = frozenset()
        while True:
            mods = [mod for mod in config.mods if mod.name not in left_out]
            composition = await self.settings.compose(config.with_mods(*mods))
            notes = [*composition.notes, *left_out.values()]
            composition = replace(composition, notes=notes)
            optional = {mod.name: mod.optional for mod in mods if mod.optional is not None}
            preferences = ModPreferences(optional, dropped, {mod.name: _needs(mod) for mod in mods})
            start = ChainStart(
                self.editor, self.tasks, config, composition, self.greeting, preferences
            )
            settings = self.settings.chain_settings(composition.chain)
            try:
                return await start.run(settings, on_death, self.settings.refine)
            except RetryWithoutModsError as refined:
                _log.info("the chain is started again without %s", refined)
                dropped |= refined.dropped
            except OutdatedError:
                _log.info("the chain is started again for the version that the editor speaks")
            except RpcError as error:
                name = str(as_object(error.data).get("component"))
                if not optional.get(name):
                    raise
                _log.warning("the mod %s is left out: %s", name, error)
                from symposium.run_mode.failure_text import failure_manner  # noqa: PLC0415 - seldom needed

                left_out[name] = f"_The mod `{name}` is left out: it {failure_manner(error)}_\n\n"


def _needs(mod: ModEntry) -> Needs:
    """Read the requirements and capabilities that the config declares for a mod."""
    kind = "adapter" if mod.kind == "adapter" else "component"
    return Needs(kind, requires=mod.requires, provides=mod.provides)
