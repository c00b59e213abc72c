"""The lives of one agent: it is started, given its prompts, and brought back when it dies."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.processes import reachable
from peerwire.errors import ErrorBoundary, PeerwireError, RpcError
from peerwire.jsonrpc.transport import Transport
from peerwire.jsonrpc.values import as_object
from symposium.catalog import agent_label
from symposium.chain.blueprint import Program
from symposium.chain.conductor import Settings
from symposium.chain.recovery import FailureWindow, RestartPolicy, resume_methods
from symposium.client.conversation import ClientTurn, Conversation, ConversationConfig, converse
from symposium.client.permissions import ChosenOption, Decider, Decision, Permission, summarize
from symposium.errors import NotFoundError, StepError
from symposium.permissions.recorder import with_audit
from symposium.permissions.verdict import PolicyError
from symposium.planning.chain_spec import ChainSpec, read_chain
from symposium.sessions.agent_exit import exit_reason, login_of, wants_login
from symposium.sessions.budget import SpendingMeter
from symposium.sessions.notes import Notes
from symposium.sessions.server import OnState, PromptQueue
from symposium.sessions.session import ServerSessionState, SessionSpec, Status
from symposium.sessions.snapshots import Listening, ToolCallHooks

RESTARTS: Final = RestartPolicy(max_failures=4, window=300.0)
"""The agent is restarted after each of three failures within five minutes (users A-4)."""

MAX_SUMMARY: Final = 1024
"""Characters of what an agent has asked for that stand beside the answer."""

LOGIN: Final = "the agent wants you to log in first"

RESUME_PROMPT: Final = "You were stopped since your budget was spent. There is more now: go on."


@dataclass(frozen=True, slots=True)
class TurnHooks:
    """What is done around turns.

    Attributes:
        tools: done before a tool runs, and after it has.
        purse: what the agent spends.
        notes: announces what happens.
    """

    tools: ToolCallHooks
    purse: SpendingMeter
    notes: Notes


class AgentRunner:
    """Runs one agent for as long as it can be brought back.

    Args:
        spec: which agent, and where.
        state: how it stood when an earlier keeper ended.
        prompts: what it is to be told.
        tell: keeps an event, and tells whoever looks on.
        around: what is done around turns.

    Attributes:
        state: how it stands.
        turn: the one that it is in; None while it waits.
        is_open: whether it has a session, old or new; it may be asked for prompts.
        more: set when there is another prompt.
    """

    def __init__(
        self,
        spec: SessionSpec,
        state: ServerSessionState,
        prompts: PromptQueue,
        tell: Callable[[str, dict[str, Any]], None],
        around: TurnHooks,
    ) -> None:
        self.state = state
        self.turn: ClientTurn | None = None
        self.is_open = False
        self.more = asyncio.Event()
        self._spec = spec
        self._prompts = prompts
        self._tell = tell
        self._before_tools = around.tools
        self._notes = around.notes
        self._purse = around.purse
        self._is_replay = False
        self._greeting: Mapping[str, Any] = {}
        self._argv: Sequence[str] = ()
        self._failures = FailureWindow(RESTARTS)

    async def run(self, decider: Decider, on_state: OnState) -> ServerSessionState:
        """Live until the agent has died too often; how it stands then."""
        self._on_state = on_state
        on_state(self.state)
        self._tell("started", {"agent": agent_label(self._spec.command[0]), "cwd": self._spec.cwd})
        if len(self._prompts):
            self.more.set()
        async with self._before_tools, self._notes:
            while True:
                try:
                    await self._live(decider, on_state)
                except (ExplainedError, PeerwireError, OSError) as error:
                    self.is_open = False
                    if _is_asked_to_end():
                        raise asyncio.CancelledError from error
                    if isinstance(error, StepError) and wants_login(error):
                        return self._waiting_for_login(error)
                    if not self._may_try_again(error):
                        return replace(self.state, status=Status.EXITED, reason=exit_reason(error))

    async def _live(self, decider: Decider, on_state: OnState) -> None:
        chain = await _reached(read_chain(self._spec.mods, self._spec.command[0]))
        chain = with_variables(chain, self._spec.env)
        chain = structs.replace(chain, before_yes=self._keep_first)
        self._argv = chain.agent.command.argv if isinstance(chain.agent, Program) else ()
        servers = (_our_server(self._spec),)
        directory = Path(self._spec.cwd)
        terms = ConversationConfig(
            directory, decider, self._updated, self._decided, servers=servers
        )
        settings = Settings(
            tap=partial(self._heard, chain.agent.name if chain.agent else None),
            beside_agent=with_audit(chain.agent_name, chain.secrets),
        )
        async with converse(lambda _: chain.blueprint(), terms, settings) as conversation:
            session = await self._open(conversation, on_state)
            self.is_open = True
            while True:
                await conversation.until_ended(self.more.wait())
                self.more.clear()
                while len(self._prompts):
                    await conversation.until_ended(self._purse.allowed(self._paused))
                    if trouble := await conversation.until_ended(self._before_tools.begin_turn()):
                        self._notice(trouble)
                    if (text := self._prompts.take()) is not None:
                        await self._answer(conversation, session, text)

    async def _open(self, conversation: Conversation, on_state: OnState) -> str:
        """Go on with the session that the agent had, or say that it knows nothing of it."""
        self._greeting = await conversation.initialize()
        if self.state.login is not None and self.state.login.chosen:
            await conversation.log_in(self.state.login.chosen)
        known = self.state.acp_session
        method = next(iter(resume_methods(self._greeting)), None)
        if known is not None and method is not None and await self._goes_on(conversation, method):
            self.state = replace(self.state, login=None)
            on_state(self.state)
            return known
        session = await conversation.new_session(lambda _: None)
        if known is not None:
            self._tell("notice", {"text": "fresh context: the agent knows nothing of before"})
        is_fresh = known is not None
        self.state = replace(self.state, acp_session=session, is_fresh=is_fresh, login=None)
        on_state(self.state)
        return session

    async def _goes_on(self, conversation: Conversation, method: str) -> bool:
        self._is_replay = True
        try:
            await conversation.continue_session(self.state.acp_session or "", method)
        except StepError as error:
            if _has_died(error) or wants_login(error):
                raise
            self._tell("notice", {"text": f"the agent no longer knows its session: {error}"})
            return False
        finally:
            self._is_replay = False
        return True

    async def _answer(self, conversation: Conversation, session: str, text: str) -> None:
        self._tell("prompt", {"text": text})
        self.turn = ClientTurn(conversation, session)
        self._purse.begun()
        try:
            reason = await self._within_budget(self.turn, text)
        except StepError as error:
            if wants_login(error):
                self._prompts.put_back()
            if _has_died(error) or wants_login(error):
                raise
            # The agent lives, and has refused this one.
            reason = f"error: {error.reason}"
        finally:
            self.turn = None
            self._purse.ended()
        self._prompts.done()
        if trouble := await self._before_tools.keep("the turn is over"):
            self._notice(trouble)
        if self._before_tools.has_changed:
            self.state = replace(self.state, changed_at=time.time())
            self._on_state(self.state)
        self._tell("result", {"stopReason": reason})
        await self._purse.shown()

    async def _within_budget(self, turn: ClientTurn, text: str) -> str:
        async def watch() -> None:
            with ErrorBoundary() as failed:
                self._paused(await self._purse.spent())
                # It waits like any prompt until there is more to spend.
                self._prompts.add(RESUME_PROMPT)
                turn.stop()
            if failed.error is not None:
                self._tell("notice", {"text": f"its budget is not watched: {failed.error}"})

        reason = ""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watch())
            with ErrorBoundary() as ended:
                reason = await turn.run(text)
            watching.cancel()
        if ended.error is not None:
            raise ended.error
        return reason

    async def _keep_first(self, call: Mapping[str, Any]) -> None:
        """Keep what a tool call may destroy that a rule allows; the user is not asked about it."""
        if trouble := await self._before_tools.keep(f"asked: {call.get('title')}"):
            self._notice(trouble)

    def _paused(self, over: str) -> None:
        self._notice(f"paused: budget: {over}")

    def _notice(self, text: str) -> None:
        self._tell("notice", {"text": text})

    def _heard(self, agent: str | None, transport: Transport, index: int, name: str) -> Transport:
        """Each component's transport; the agent's tool calls are heard on its own."""
        del index
        listening = Listening(lambda: self._is_replay, self._notice)
        return self._before_tools.listen(transport, listening) if name == agent else transport

    def _waiting_for_login(self, error: StepError) -> ServerSessionState:
        """How it stands until a person has logged in: what was to be said is kept for then."""
        login = login_of(error, self._greeting, self._argv)
        reason = f"{LOGIN}: {login.said}"
        self._notice(reason)
        self._notes.login(reason)
        return replace(self.state, status=Status.EXITED, reason=reason, login=login)

    def _may_try_again(self, error: Exception) -> bool:
        self._tell("notice", {"text": f"the agent has ended: {exit_reason(error)}"})
        if isinstance(error, NotFoundError | ProgramNotFoundError | PolicyError):
            # Its program is missing, or your rules cannot be read: the user must fix that.
            return False
        self._failures.add()
        if self._failures.is_full:
            minutes = RESTARTS.window / 60
            text = f"the agent has ended {len(self._failures)} times within {minutes:.0f} minutes"
            self._tell("notice", {"text": f"{text}; it is not started again"})
            return False
        interrupted = self._prompts.interrupt()
        if interrupted is not None:
            self._tell("interrupted", {"text": interrupted})
        if len(self._prompts):
            self.more.set()
        return True

    def _updated(self, params: Any) -> None:
        if self._is_replay:
            return
        update = as_object(as_object(params).get("update"))
        self._purse.updated(self.state.acp_session or "", update)
        self._tell("update", dict(update))

    def _decided(self, permission: Permission, decision: Decision) -> None:
        chosen = decision.option.id if isinstance(decision, ChosenOption) else None
        call = permission.tool_call
        wish = summarize(call, Path(self._spec.cwd)).text[:MAX_SUMMARY]
        self._tell("permission", {"title": call.title, "wish": wish, "optionId": chosen})


async def _reached(chain: ChainSpec) -> ChainSpec:
    """The chain with what its agent's program needs of PATH, as an editor's has it.

    Raises:
        NotFoundError: the program is nowhere.
    """
    agent = chain.agent
    if not isinstance(agent, Program) or "PATH" in agent.command.env:
        return chain
    command = await reachable(agent.command, os.environ)
    return structs.replace(chain, agent=structs.replace(agent, command=command))


def with_variables(chain: ChainSpec, variables: Mapping[str, str]) -> ChainSpec:
    """The same chain, its agent with these in its environment; those of its own SPEC win."""
    agent = chain.agent
    if not isinstance(agent, Program):
        return chain
    command = structs.replace(agent.command, env={**variables, **agent.command.env})
    return structs.replace(chain, agent=structs.replace(agent, command=command))


def _is_asked_to_end() -> bool:
    """Whether somebody ends us while the agent dies: a task group of before 3.13 tells the death.

    Then the cancellation is counted and never raised.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _has_died(error: StepError) -> bool:
    """Whether the chain has ended, or the conductor answers in place of what has."""
    if not isinstance(error.reason, RpcError):
        return True
    reason = as_object(error.reason.data).get("reason")
    return reason in {"component_exited", "component_start_failed"}


def _our_server(spec: SessionSpec) -> Mapping[str, Any]:
    """The MCP server that tells the agent where it is, as ACP declares one."""
    named = {**spec.env, "SYMPOSIUM_TASKSPACE": spec.id}
    kept = {name: value for name, value in named.items() if name.startswith("SYMPOSIUM_")}
    return {
        "name": "symposium",
        "command": sys.executable,
        "args": ["-P", "-m", "symposium", "mcp"],
        "env": [{"name": name, "value": value} for name, value in kept.items()],
    }
