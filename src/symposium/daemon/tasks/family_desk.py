"""Answers agents that finish their work, and those that wait for others (users B-13)."""

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import Answers, Asked
from symposium.bus.messages.agents import Ended, FinishTaskspace, TaskResult, WaitForTaskspaces
from symposium.bus.protocol import Done
from symposium.taskspaces.budget import family
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.model import Category


class FamilyDesk:
    """Answers for one engine.

    Args:
        engine: the taskspaces.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def answers(self) -> Answers:
        """All of them."""
        answers = Answers()
        answers.to(FinishTaskspace, self._finish)
        answers.to(WaitForTaskspaces, self._wait)
        return answers

    async def _finish(self, message: FinishTaskspace, asked: Asked) -> Done:
        del asked
        id_, result = message.taskspace_uuid, message.result
        milestone = Category.MILESTONE.value
        await self._engine.records.log(id_, result, milestone, message.evidence)
        await self._engine.spawning.finish(id_, result)
        return Done()

    async def _wait(self, message: WaitForTaskspaces, asked: Asked) -> Ended:
        parent = await self._engine.get(message.taskspace_uuid)
        theirs = family(parent, await self._engine.queries.family(parent.id))[1:]
        for child in message.children:
            if child.lower() not in theirs:
                text = f"{child} was not spawned here: only what was can be waited for"
                raise BusRefusedError(text, "forbidden")
        asked.progress(f"waiting for {len(message.children)} taskspaces")
        found = await self._engine.spawning.wait_for(message.children)
        return Ended(
            results=tuple(
                [
                    TaskResult(
                        each.id,
                        each.name,
                        each.branch,
                        each.standing.value,
                        each.result,
                        await self._engine.logs.evidence(each.id),
                    )
                    for each in found
                ]
            )
        )
