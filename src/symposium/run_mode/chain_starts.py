"""Attempts to start a chain, and their results."""

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
from symposium.chain.running_chain import ChainSettings, RunningChain
from symposium.config.user_config import Config, ModEntry
from symposium.planning.planned_chain import (
    NO_PREFERENCES,
    ModPreferences,
    Refine,
    as_planned,
    planned_chain,
)
from symposium.run_mode.editor_route_end import EditorRouteEnd
from symposium.run_mode.open_chain import HostRequest, OpenChain
from symposium.run_mode.settings import Composition, RunSettings


class EditorInitialize:
    """The editor's initialize request, and the protocol version in the answer.

    Attributes:
        promised: the version in the answer to the editor; None before the answer.
    """

    def __init__(self, request: ChainMessage) -> None:
        self._request = request
        self._asked = select_version(request.params)
        self.promised: int | None = None

    def again(self) -> ChainMessage:
        """Make the request for one more agent, with the version of the editor."""
        again = ChainMessage(INITIALIZE, self._request.encoded(), is_request=True)
        again.extra = self._request.extra
        pin_version(again, self.promised or self._asked)
        return again

    def check(self, asked: ChainMessage, answer: Answer, agent: str) -> None:
        """Compare an agent's version with the one in the answer to the editor.

        Raises:
            RpcError: the agent speaks another version.
            OutdatedError: the request had another version; the agent may support this one.
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
        # With this agent running, the editor could have negotiated this version.
        hint = "restart Symposium from your editor, so that both agree on a version"
        return RpcError(error.code, {**data, "hint": f"{hint}, or choose another agent"})


class OutdatedError(Exception):
    """The answer to the editor has another version than the request to the agent."""


class RetryWithoutModsError(Exception):
    """The agent's answer shows that some mods are not useful.

    Attributes:
        dropped: names of these mods.
    """

    def __init__(self, dropped: AbstractSet[str]) -> None:
        self.dropped = dropped
        super().__init__(", ".join(sorted(dropped)))


class ChainStart(Struct, frozen=True):
    """Parameters of an attempt to start a chain.

    Attributes:
        editor: the editor's link to the chain.
        tasks: the group for the chain's tasks.
        config: the config of the chain.
        composition: the components of the config.
        initialize: the editor's `initialize`; None before the request.
        preferences: the settings of the config for its mods.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    config: Config
    composition: Composition
    initialize: EditorInitialize | None
    preferences: ModPreferences = NO_PREFERENCES

    async def run(
        self,
        settings: ChainSettings,
        on_death: Callable[[OpenChain, RpcError], None],
        refine: Refine = as_planned,
    ) -> OpenChain:
        """Start and initialize the components; stop them again if the attempt fails.

        Raises:
            RpcError: a component could not be started, or refused to initialize.
            RetryWithoutModsError: the chain must be restarted without some of its mods.
            OutdatedError: the chain must be restarted with the editor's protocol version.
        """
        editor = _required(self.initialize)
        asked = editor.again()
        request = HostRequest(asked)

        def died(death: RpcError) -> None:
            if chain.initialize_result:
                on_death(chain, death)
            else:
                request.give_up(Answer(error=death))

        end = EditorRouteEnd(self.editor)
        settings = replace(settings, client_end=end)
        running = RunningChain(self.editor, self.tasks, settings, died)
        chain = OpenChain(self.config, self.composition, running)
        try:
            chain_spec, params = self.composition.chain, as_object(asked.params)
            planned = planned_chain(chain_spec, params, "agent-first", preferences=self.preferences)
            chain.open(await self._started(running, end, asked, planned.blueprint), end)
            answer = await request.answer(chain.entrance)
            editor.check(asked, running.checked(answer), running.agent_name)
            result = as_object(answer.result)
            _check_refined(planned.dropped(result, refine))
        except BaseException:
            await running.end()
            raise
        chain.entrance.steps[INITIALIZE] = (Step(0, _refuse, "conductor"),)
        chain.planned(planned.plan)
        chain.initialize_result = planned.advertised(result)
        # After the answer: no message of a component may precede it.
        asyncio.get_running_loop().call_soon(running.opened)
        return chain

    async def _started(
        self, running: RunningChain, end: EditorRouteEnd, asked: ChainMessage, made: Blueprint
    ) -> Route:
        before = list(self.editor.feeders)
        entrance = await running.start(lambda _: made, asked, select_version(asked.params))
        end.read_from([link for link in self.editor.feeders if link not in before])
        return entrance


def _required(editor: EditorInitialize | None) -> EditorInitialize:
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
        editor: the editor's link to the chain.
        tasks: the group for the chain's tasks.
        settings: settings of the chain.
        initialize: the editor's `initialize`; None before the request.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    settings: RunSettings
    initialize: EditorInitialize | None

    async def chain(
        self, config: Config, on_death: Callable[[OpenChain, RpcError], None]
    ) -> OpenChain:
        """Start the chain of this config; omit optional mods that do not start (R8).

        Raises:
            RpcError: the chain could not be started, or refused to initialize.
            ExplainedError: its agent cannot be found or installed.
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
                self.editor, self.tasks, config, composition, self.initialize, preferences
            )
            settings = self.settings.chain_settings(composition.chain)
            try:
                return await start.run(settings, on_death, self.settings.refine)
            except RetryWithoutModsError as refined:
                _log.info("restarting the chain without %s", refined)
                dropped |= refined.dropped
            except OutdatedError:
                _log.info("restarting the chain with the editor's protocol version")
            except RpcError as error:
                name = str(as_object(error.data).get("component"))
                if not optional.get(name):
                    raise
                _log.warning("omitting the mod %s: %s", name, error)
                from symposium.run_mode.failure_text import failure_manner

                left_out[name] = (
                    f"_Symposium left out the mod `{name}`. It {failure_manner(error)}_\n\n"
                )


def _needs(mod: ModEntry) -> Needs:
    """Read the requirements and capabilities that the config declares for a mod."""
    kind = "adapter" if mod.kind == "adapter" else "component"
    return Needs(kind, requires=mod.requires, provides=mod.provides)
