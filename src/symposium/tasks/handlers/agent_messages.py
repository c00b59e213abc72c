"""Handlers of bus messages from agents."""

from collections.abc import Callable

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import (
    Decided,
    DeleteTaskspace,
    Ended,
    FinishTaskspace,
    GuidanceRead,
    LogProgress,
    Recorded,
    SignalUser,
    Spawned,
    SpawnTaskspace,
    TaskResult,
    TaskspaceInfo,
    TaskspaceState,
    UpdateTaskspace,
    WaitForTaskspaces,
)
from symposium.bus.messages.editor import Registered, RegisterTaskspaceWindow
from symposium.bus.protocol import Ack
from symposium.tasks.budget import family
from symposium.tasks.deletion.trash import DeletionDecision
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import refuse_archived
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.model import Category, RefusedNameError, Taskspace, UnknownTaskspaceError
from symposium.tasks.records import Update
from symposium.tasks.spawning import SpawnRequest

CANCELLED = "Taskspace deletion was cancelled by user"
"""Messages for agents of the first Symposium (bus §3.7)."""


class AgentMessageHandlers:
    """Handlers for one engine.

    Args:
        engine: the taskspaces.
        agents: their agents.
        watchers: number of connected views that could show a taskspace.
        register_window: notes that a connection shows a taskspace, in a window of that title.
    """

    def __init__(
        self,
        engine: Engine,
        agents: TaskAgents,
        watchers: Callable[[], int],
        register_window: Callable[[str, str, str], None],
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._watchers = watchers
        self._register_window = register_window

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(TaskspaceState, self._state)
        answers.on_request(UpdateTaskspace, self._update)
        answers.on_request(SpawnTaskspace, self._spawn)
        answers.on_request(LogProgress, self._log)
        answers.on_request(SignalUser, self._signal)
        answers.on_request(DeleteTaskspace, self._delete)
        answers.on_request(RegisterTaskspaceWindow, self._register)
        answers.on_request(GuidanceRead, self._guidance)
        return answers

    async def _state(self, message: TaskspaceState, asked: RequestContext) -> TaskspaceInfo:
        del asked
        update = Update(
            name=message.name,
            description=message.description,
            collaborator=message.collaborator,
        )
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        reply = await self._engine.records.state(taskspace.id, update)
        return TaskspaceInfo(
            name=reply.name,
            description=reply.description,
            initial_prompt=reply.initial_prompt,
            agent_command=tuple(reply.agent_command),
            collaborator=reply.collaborator,
        )

    async def _update(self, message: UpdateTaskspace, asked: RequestContext) -> Ack:
        del asked
        update = Update(
            name=message.name,
            description=message.description,
            collaborator=message.collaborator,
        )
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        await self._engine.records.state(taskspace.id, update)
        return Ack()

    async def _spawn(self, message: SpawnTaskspace, asked: RequestContext) -> Spawned:
        parent = await self._live(message.taskspace_uuid, message.project_path)
        agent = await self._agents.chosen_here(message.agent)
        asked.progress("making a worktree")
        wanted = SpawnRequest(
            message.name,
            message.initial_prompt,
            message.task_description,
            message.collaborator,
            agent,
        )
        made = await self._engine.spawning.spawn(parent.id, wanted)
        return Spawned(new_taskspace_uuid=made.id)

    async def _log(self, message: LogProgress, asked: RequestContext) -> Recorded:
        del asked
        category = message.category.value
        records = self._engine.records
        try:
            await records.log(message.taskspace_uuid, message.message, category, is_live=True)
        except (UnknownTaskspaceError, RefusedNameError):
            # Find a task that only its project files list, or one named by its directory.
            taskspace = await self._live(message.taskspace_uuid, message.project_path)
            await records.log(taskspace.id, message.message, category, is_live=True)
        return Recorded(watchers=self._watchers())

    async def _signal(self, message: SignalUser, asked: RequestContext) -> Recorded:
        del asked
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        await self._engine.records.signal(taskspace.id, message.message)
        return Recorded(watchers=self._watchers())

    async def _delete(self, message: DeleteTaskspace, asked: RequestContext) -> Decided:
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        asked.progress("waiting for the user to decide; `symposium inbox` shows the question")
        decision = await self._engine.trash.requests.ask(taskspace.id)
        if decision is DeletionDecision.CANCELLED:
            raise BusRefusedError(CANCELLED, "cancelled")
        return Decided(outcome=decision.value)

    async def _guidance(self, message: GuidanceRead, asked: RequestContext) -> Ack:
        del asked
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        id_, layer, sha256 = message.id[:200], message.layer[:20], message.sha256[:64]
        await self._engine.guidance.note(taskspace.id, id_, layer, sha256)
        return Ack()

    async def _register(
        self, message: RegisterTaskspaceWindow, asked: RequestContext
    ) -> Registered:
        taskspace = await self._live(message.taskspace_uuid)
        self._register_window(asked.by, taskspace.id, message.window_title)
        return Registered()

    async def _live(self, id_: str, project: str = "") -> Taskspace:
        """The task that a message is about, unless it is archived.

        Raises:
            UnknownTaskspaceError: it does not exist.
            TaskspaceError: it is archived.
        """
        taskspace = await self._engine.records.locate(id_, project)
        refuse_archived(taskspace)
        return taskspace


class ChildTaskHandlers:
    """Handlers for one engine.

    Args:
        engine: the taskspaces.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(FinishTaskspace, self._finish)
        answers.on_request(WaitForTaskspaces, self._wait)
        return answers

    async def _finish(self, message: FinishTaskspace, asked: RequestContext) -> Ack:
        del asked
        id_, result = message.taskspace_uuid, message.result
        milestone = Category.MILESTONE.value
        await self._engine.records.log(id_, result, milestone, message.evidence)
        await self._engine.spawning.finish(id_, result)
        return Ack()

    async def _wait(self, message: WaitForTaskspaces, asked: RequestContext) -> Ended:
        parent = await self._engine.get(message.taskspace_uuid)
        theirs = family(parent, await self._engine.queries.family(parent.id))[1:]
        for child in message.children:
            if child.lower() not in theirs:
                text = f"{child} is not a child of this task; name children only"
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
