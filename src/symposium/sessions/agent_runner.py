"""Run one agent: start it, give it prompts, and restart it when it exits."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import structs
from msgspec.structs import replace

from localio.errors import ExplainedError, ProgramNotFoundError
from localio.processes import reachable
from peerwire.errors import ErrorBoundary, PeerwireError, RpcError
from peerwire.jsonrpc.transport import Transport
from peerwire.jsonrpc.values import as_object
from peerwire.task_group import flat_task_group
from symposium.catalog import agent_label
from symposium.chain.blueprint import Program
from symposium.chain.conductor import Settings
from symposium.chain.restart_policy import SESSION_SERVER, FailureWindow, resume_methods
from symposium.client.conversation import ClientTurn, Conversation, ConversationConfig, converse
from symposium.client.permissions import ChosenOption, Decider, Decision, Permission, summarize
from symposium.errors import NotFoundError, StepError
from symposium.permissions.audit_entries import with_audit
from symposium.permissions.verdict import PolicyError
from symposium.planning.chain_spec import ChainSpec, read_chain
from symposium.sessions.agent_exit import exit_reason, login_of, wants_login
from symposium.sessions.budget import SpendingMeter
from symposium.sessions.server import OnState, PromptQueue
from symposium.sessions.session import ServerSessionState, SessionSpec, Status
from symposium.sessions.session_announcements import Notes
from symposium.sessions.tool_call_snapshots import Listening, ToolCallHooks

MAX_SUMMARY: Final = 1024
"""Longest summary of a permission request in an event, in characters."""

LOGIN: Final = "the agent requires you to log in first"

RESUME_PROMPT: Final = "You were stopped because your budget was used up. It was raised: continue."


@dataclass(frozen=True, slots=True)
class TurnHooks:
    """Hooks of a turn.

    Attributes:
        tools: run before and after tool calls.
        spending: meter of the agent's spending.
        notes: announces events on the bus.
    """

    tools: ToolCallHooks
    spending: SpendingMeter
    notes: Notes


class AgentRunner:
    """Run one agent, and restart it until it fails too often.

    Args:
        spec: the agent, and its directory.
        state: last state of an earlier server.
        prompts: queue of prompts.
        publish: records an event and sends it to viewers.
        hooks: run before, during, and after turns.

    Attributes:
        state: current state.
        turn: the current one, or None.
        is_open: whether the agent has a session and can take prompts.
        more: set when there is another prompt.
    """

    def __init__(
        self,
        spec: SessionSpec,
        state: ServerSessionState,
        prompts: PromptQueue,
        publish: Callable[[str, dict[str, Any]], None],
        hooks: TurnHooks,
    ) -> None:
        self.state = state
        self.turn: ClientTurn | None = None
        self.is_open = False
        self.more = asyncio.Event()
        self._spec = spec
        self._prompts = prompts
        self._publish = publish
        self._before_tools = hooks.tools
        self._notes = hooks.notes
        self._spending = hooks.spending
        self._is_replay = False
        self._initialize_result: Mapping[str, Any] = {}
        self._argv: Sequence[str] = ()
        self._failures = FailureWindow(SESSION_SERVER)

    async def run(self, decider: Decider, on_state: OnState) -> ServerSessionState:
        """Run until the agent has failed too often; return the final state."""
        self._on_state = on_state
        on_state(self.state)
        self._publish(
            "started", {"agent": agent_label(self._spec.command[0]), "cwd": self._spec.cwd}
        )
        if len(self._prompts):
            self.more.set()
        async with self._before_tools, self._notes:
            while True:
                try:
                    await self._live(decider, on_state)
                except (ExplainedError, PeerwireError, OSError) as error:
                    self.is_open = False
                    if _is_cancelled():
                        raise asyncio.CancelledError from error
                    if isinstance(error, StepError) and wants_login(error):
                        return self._waiting_for_login(error)
                    if not self._may_restart(error):
                        return replace(self.state, status=Status.EXITED, reason=exit_reason(error))

    async def _live(self, decider: Decider, on_state: OnState) -> None:
        chain = await _with_path(read_chain(self._spec.mods, self._spec.command[0]))
        chain = with_variables(chain, self._spec.env)
        chain = structs.replace(chain, before_yes=self._save_first)
        self._argv = chain.agent.command.argv if isinstance(chain.agent, Program) else ()
        servers = (_symposium_server(self._spec),)
        directory = Path(self._spec.cwd)
        config = ConversationConfig(
            directory, decider, self._updated, self._decided, servers=servers
        )
        settings = Settings(
            tap=partial(self._tap, chain.agent.name if chain.agent else None),
            beside_agent=with_audit(chain.agent_name, chain.secrets),
        )
        async with converse(lambda _: chain.blueprint(), config, settings) as conversation:
            session = await self._open(conversation, on_state)
            self.is_open = True
            while True:
                await conversation.until_ended(self.more.wait())
                self.more.clear()
                while len(self._prompts):
                    await conversation.until_ended(self._spending.allowed(self._paused))
                    if problem := await conversation.until_ended(self._before_tools.begin_turn()):
                        self._notice(problem)
                    if (text := self._prompts.take()) is not None:
                        await self._answer(conversation, session, text)

    async def _open(self, conversation: Conversation, on_state: OnState) -> str:
        """Resume the agent's session, or open a new one and report that."""
        self._initialize_result = await conversation.initialize()
        if self.state.login is not None and self.state.login.chosen:
            await conversation.log_in(self.state.login.chosen)
        known = self.state.acp_session
        method = next(iter(resume_methods(self._initialize_result)), None)
        if known is not None and method is not None and await self._resumed(conversation, method):
            self.state = replace(self.state, login=None)
            on_state(self.state)
            return known
        session = await conversation.new_session(lambda _: None)
        if known is not None:
            self._publish(
                "notice", {"text": "fresh context: the agent does not know the conversation so far"}
            )
        is_fresh = known is not None
        self.state = replace(self.state, acp_session=session, is_fresh=is_fresh, login=None)
        on_state(self.state)
        return session

    async def _resumed(self, conversation: Conversation, method: str) -> bool:
        self._is_replay = True
        try:
            await conversation.continue_session(self.state.acp_session or "", method)
        except StepError as error:
            if _has_exited(error) or wants_login(error):
                raise
            self._publish("notice", {"text": f"the agent could not resume its session: {error}"})
            return False
        finally:
            self._is_replay = False
        return True

    async def _answer(self, conversation: Conversation, session: str, text: str) -> None:
        self._publish("prompt", {"text": text})
        self.turn = ClientTurn(conversation, session)
        self._spending.begun()
        try:
            reason = await self._within_budget(self.turn, text)
        except StepError as error:
            if wants_login(error):
                self._prompts.requeue()
            if _has_exited(error) or wants_login(error):
                raise
            # The agent still runs; it only rejected this prompt.
            reason = f"error: {error.reason}"
        finally:
            self.turn = None
            self._spending.ended()
        self._prompts.done()
        if problem := await self._before_tools.save("the turn is over"):
            self._notice(problem)
        if self._before_tools.has_changed:
            self.state = replace(self.state, changed_at=time.time())
            self._on_state(self.state)
        self._publish("result", {"stopReason": reason})
        await self._spending.shown()

    async def _within_budget(self, turn: ClientTurn, text: str) -> str:
        async def watch() -> None:
            with ErrorBoundary() as failed:
                self._paused(await self._spending.spent())
                # Queued like any prompt; it waits until the budget is raised.
                self._prompts.add(RESUME_PROMPT)
                turn.stop()
            if failed.error is not None:
                self._publish("notice", {"text": f"the budget is not monitored: {failed.error}"})

        async with flat_task_group() as tasks:
            watching = tasks.create_task(watch())
            try:
                return await turn.run(text)
            finally:
                watching.cancel()

    async def _save_first(self, call: Mapping[str, Any]) -> None:
        """Save the worktree before a tool call that a rule allows without asking the user."""
        if problem := await self._before_tools.save(f"asked: {call.get('title')}"):
            self._notice(problem)

    def _paused(self, reason: str) -> None:
        self._notice(f"paused: budget: {reason}")

    def _notice(self, text: str) -> None:
        self._publish("notice", {"text": text})

    def _tap(self, agent: str | None, transport: Transport, index: int, name: str) -> Transport:
        """Tap the transport of the agent, to see its tool calls."""
        del index
        listening = Listening(lambda: self._is_replay, self._notice)
        return self._before_tools.listen(transport, listening) if name == agent else transport

    def _waiting_for_login(self, error: StepError) -> ServerSessionState:
        """Final state when a login is required: the prompts stay in the queue."""
        login = login_of(error, self._initialize_result, self._argv)
        reason = f"{LOGIN}: {login.said}"
        self._notice(reason)
        self._notes.login(reason)
        return replace(self.state, status=Status.EXITED, reason=reason, login=login)

    def _may_restart(self, error: Exception) -> bool:
        self._publish("notice", {"text": f"the agent exited: {exit_reason(error)}"})
        if isinstance(error, NotFoundError | ProgramNotFoundError | PolicyError):
            # The user has to install the program or fix the rules.
            return False
        self._failures.add()
        if self._failures.is_full:
            minutes = SESSION_SERVER.window / 60
            text = f"the agent exited {len(self._failures)} times within {minutes:.0f} minutes"
            self._publish("notice", {"text": f"{text}; not restarting it again"})
            return False
        interrupted = self._prompts.interrupt()
        if interrupted is not None:
            self._publish("interrupted", {"text": interrupted})
        if len(self._prompts):
            self.more.set()
        return True

    def _updated(self, params: Any) -> None:
        if self._is_replay:
            return
        update = as_object(as_object(params).get("update"))
        self._spending.updated(self.state.acp_session or "", update)
        self._publish("update", dict(update))

    def _decided(self, permission: Permission, decision: Decision) -> None:
        chosen = decision.option.id if isinstance(decision, ChosenOption) else None
        call = permission.tool_call
        summary = summarize(call, Path(self._spec.cwd)).text[:MAX_SUMMARY]
        self._publish("permission", {"title": call.title, "wish": summary, "optionId": chosen})


async def _with_path(chain: ChainSpec) -> ChainSpec:
    """Extend PATH so that the agent's program and its interpreter are found.

    Raises:
        NotFoundError: the program does not exist.
    """
    agent = chain.agent
    if not isinstance(agent, Program) or "PATH" in agent.command.env:
        return chain
    command = await reachable(agent.command, os.environ)
    return structs.replace(chain, agent=structs.replace(agent, command=command))


def with_variables(chain: ChainSpec, variables: Mapping[str, str]) -> ChainSpec:
    """Add environment variables for the agent; those of its SPEC take precedence."""
    agent = chain.agent
    if not isinstance(agent, Program):
        return chain
    command = structs.replace(agent.command, env={**variables, **agent.command.env})
    return structs.replace(chain, agent=structs.replace(agent, command=command))


def _is_cancelled() -> bool:
    """Whether this task is being canceled while the agent exits.

    Before Python 3.13, a task group then raises the agent's error instead of the cancellation.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _has_exited(error: StepError) -> bool:
    """Whether the chain has ended, or the conductor reports that a component has."""
    if not isinstance(error.reason, RpcError):
        return True
    reason = as_object(error.reason.data).get("reason")
    return reason in {"component_exited", "component_start_failed"}


def _symposium_server(spec: SessionSpec) -> Mapping[str, Any]:
    """ACP declaration of Symposium's MCP server, with the agent's environment."""
    named = {**spec.env, "SYMPOSIUM_TASKSPACE": spec.id}
    kept = {name: value for name, value in named.items() if name.startswith("SYMPOSIUM_")}
    return {
        "name": "symposium",
        "command": sys.executable,
        "args": ["-P", "-m", "symposium", "mcp"],
        "env": [{"name": name, "value": value} for name, value in kept.items()],
    }
