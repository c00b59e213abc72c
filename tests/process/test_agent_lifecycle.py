"""A kept agent that dies, and a keeper that is ended at that very moment."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symposium.client.permissions import Decision, Declined, Permission
from symposium.sessions.agent_runner import RESUME_PROMPT, AgentRunner, TurnHooks
from symposium.sessions.budget import NoBudget, SpendingMeter
from symposium.sessions.notes import NoNotes
from symposium.sessions.server import PromptQueue
from symposium.sessions.session import ServerSessionState, SessionKind, SessionSpec, Status
from symposium.sessions.snapshots import NoSnapshots


class Nobody:
    async def decide(self, permission: Permission) -> Decision:
        del permission
        return Declined()


class LastTurn(SpendingMeter):
    """Somebody ends the keeper while the chain of the dead agent is put away."""

    def ended(self) -> None:
        super().ended()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


@pytest.mark.requirement("agent-sessions.ended-while-it-dies")
async def test_a_keeper_that_is_ended_while_its_agent_dies_does_not_start_it_again(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Die")
    told: list[str] = []

    def tell(kind: str, data: dict[str, Any]) -> None:
        del data
        told.append(kind)

    agent = scripted("prompt=kill")
    spec = SessionSpec("s", SessionKind.ACP, (agent,), str(tmp_path))
    around = TurnHooks(NoSnapshots(), LastTurn(tmp_path, NoBudget()), NoNotes())
    life = AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, around)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(45):
            await life.run(Nobody(), lambda _: None)

    assert told == ["started", "prompt"]


class Unkept(NoSnapshots):
    """No snapshot can be made when a turn begins."""

    async def begin_turn(self) -> str:
        return "the disk is full"


class SpentAtOnce(SpendingMeter):
    """The budget is spent as soon as a turn runs, and there is never more."""

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
    """What an agent's life reports up to the first event of this kind."""
    told: list[tuple[str, dict[str, Any]]] = []
    is_over = asyncio.Event()

    def tell(kind: str, data: dict[str, Any]) -> None:
        told.append((kind, data))
        if kind == last:
            is_over.set()

    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(life(tell).run(Nobody(), lambda _: None))
        await is_over.wait()
        running.cancel()
    return told


@pytest.mark.requirement("snapshots.stands-still")
async def test_an_agent_whose_worktree_could_not_be_kept_before_a_turn_says_so(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Work")
    spec = SessionSpec("s", SessionKind.ACP, (scripted(),), str(tmp_path))
    around = TurnHooks(Unkept(), SpendingMeter(tmp_path, NoBudget()), NoNotes())
    told = await events_until(
        lambda tell: AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, around),
        "result",
    )

    kinds = [kind for kind, _ in told]
    assert ("notice", {"text": "the disk is full"}) in told
    assert kinds.index("notice") < kinds.index("prompt")


@pytest.mark.requirement("tasks.budget")
async def test_a_turn_is_canceled_once_the_budget_is_spent_and_goes_on_with_more(
    tmp_path: Path, scripted: Callable[..., str]
) -> None:
    prompts = PromptQueue(tmp_path)
    prompts.add("Work for ever")
    spec = SessionSpec("s", SessionKind.ACP, (scripted("prompt=wait"),), str(tmp_path))
    around = TurnHooks(NoSnapshots(), SpentAtOnce(tmp_path), NoNotes())
    told = await events_until(
        lambda tell: AgentRunner(spec, ServerSessionState(Status.RUNNING), prompts, tell, around),
        "result",
    )

    assert ("notice", {"text": "paused: budget: 1 turn of 1turns"}) in told
    assert told[-1] == ("result", {"stopReason": "cancelled"})
    assert prompts.take() == RESUME_PROMPT
