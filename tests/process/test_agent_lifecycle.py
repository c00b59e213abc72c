"""Agent that crashes while its session server stops, and other edges of its lifecycle."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symposium.client.permissions import Decision, Declined, Permission
from symposium.sessions.agent_runner import RESUME_PROMPT, AgentRunner, TurnHooks
from symposium.sessions.budget import NoBudget, SpendingMeter
from symposium.sessions.server import PromptQueue
from symposium.sessions.session import ServerSessionState, SessionKind, SessionSpec, Status
from symposium.sessions.session_announcements import NoNotes
from symposium.sessions.tool_call_snapshots import NoSnapshots


class Decliner:
    async def decide(self, permission: Permission) -> Decision:
        del permission
        return Declined()


class LastTurn(SpendingMeter):
    """The session server is stopped while the chain of the crashed agent is closed."""

    def ended(self) -> None:
        super().ended()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


@pytest.mark.requirement("agent-sessions.ended-while-it-dies")
async def test_agent_is_not_restarted_when_its_session_server_stops_during_the_crash(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Die")
    messages: list[str] = []

    def tell(kind: str, data: dict[str, Any]) -> None:
        del data
        messages.append(kind)

    agent = scripted("prompt=kill")
    spec = SessionSpec("s", SessionKind.ACP, (agent,), str(tmp_path))
    hooks = TurnHooks(NoSnapshots(), LastTurn(tmp_path, NoBudget()), NoNotes())
    life = AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, hooks)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(45):
            await life.run(Decliner(), lambda _: None)

    assert messages == ["started", "prompt"]


class Unkept(NoSnapshots):
    """Fails to make a snapshot when a turn begins."""

    async def begin_turn(self) -> str:
        return "the disk is full"


class SpentAtOnce(SpendingMeter):
    """Budget that is spent as soon as a turn runs, with no more to come."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, NoBudget())
        self._turns = 0

    async def allowed(self, paused: Callable[[str], None]) -> None:
        del paused
        if self._turns:
            await asyncio.get_running_loop().create_future()

    async def spent(self) -> str:
        self._turns += 1
        return "1 turn of 1turns"


async def events_until(
    life: Callable[[Callable[[str, dict[str, Any]], None]], AgentRunner], last: str
) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of an agent up to the first event of this kind."""
    messages: list[tuple[str, dict[str, Any]]] = []
    is_over = asyncio.Event()

    def tell(kind: str, data: dict[str, Any]) -> None:
        messages.append((kind, data))
        if kind == last:
            is_over.set()

    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(life(tell).run(Decliner(), lambda _: None))
        await is_over.wait()
        running.cancel()
    return messages


@pytest.mark.requirement("snapshots.stands-still")
async def test_failed_snapshot_before_a_turn_is_reported(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Work")
    spec = SessionSpec("s", SessionKind.ACP, (scripted(),), str(tmp_path))
    hooks = TurnHooks(Unkept(), SpendingMeter(tmp_path, NoBudget()), NoNotes())
    messages = await events_until(
        lambda tell: AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, hooks),
        "result",
    )

    kinds = [kind for kind, _ in messages]
    assert ("notice", {"text": "the disk is full"}) in messages
    assert kinds.index("notice") < kinds.index("prompt")


@pytest.mark.requirement("tasks.budget")
async def test_turn_is_canceled_when_the_budget_is_spent_and_continues_with_more(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Work without end")
    spec = SessionSpec("s", SessionKind.ACP, (scripted("prompt=wait"),), str(tmp_path))
    hooks = TurnHooks(NoSnapshots(), SpentAtOnce(tmp_path), NoNotes())
    messages = await events_until(
        lambda tell: AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, hooks),
        "result",
    )

    assert ("notice", {"text": "paused: budget: 1 turn of 1turns"}) in messages
    assert messages[-1] == ("result", {"stopReason": "cancelled"})
    assert prompts.take() == RESUME_PROMPT
