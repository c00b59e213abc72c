"""A kept agent that dies, and a keeper that is ended at that very moment."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symposium.agent_sessions.session import SessionKind, SessionSpec, SessionState, Status
from symposium.client.permissions import Decision, Declined, Permission
from symposium.keepers.agent_life import AgentLife, Around
from symposium.keepers.before_tools import NothingKept
from symposium.keepers.notes import NoNotes
from symposium.keepers.prompt_queue import PromptQueue
from symposium.keepers.purse import NoBudget, Purse


class Nobody:
    async def decide(self, permission: Permission) -> Decision:
        del permission
        return Declined()


class LastTurn(Purse):
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
    around = Around(NothingKept(), LastTurn(tmp_path, NoBudget()), NoNotes())
    life = AgentLife(spec, SessionState(Status.RUNNING), prompts, tell, around)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(45):
            await life.run(Nobody(), lambda _: None)

    assert told == ["started", "prompt"]
