"""Answers the messages of the seed's protocol: what agents and editors ask of taskspaces."""

from collections.abc import Callable

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import Answers, Asked
from symposium.bus.messages.agents import (
    Decided,
    DeleteTaskspace,
    GuidanceRead,
    LogProgress,
    Recorded,
    SignalUser,
    Spawned,
    SpawnTaskspace,
    TaskspaceInfo,
    TaskspaceState,
    UpdateTaskspace,
)
from symposium.bus.messages.editor import Registered, RegisterTaskspaceWindow
from symposium.bus.protocol import Done
from symposium.daemon.tasks.task_agents import TaskAgents
from symposium.taskspaces.deletion.requests import Decision
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.failures import RefusedNameError, UnknownTaskspaceError
from symposium.taskspaces.ground import refuse_archived
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.records import Update
from symposium.taskspaces.spawning import SpawnOrder

CANCELLED = "Taskspace deletion was cancelled by user"
"""What the seed's agents hear (bus §3.7)."""


class SeedDesk:
    """Answers for one engine.

    Args:
        engine: the taskspaces.
        agents: their agents.
        watchers: how many views are connected that could show a taskspace.
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

    def answers(self) -> Answers:
        """All of them."""
        answers = Answers()
        answers.to(TaskspaceState, self._state)
        answers.to(UpdateTaskspace, self._update)
        answers.to(SpawnTaskspace, self._spawn)
        answers.to(LogProgress, self._log)
        answers.to(SignalUser, self._signal)
        answers.to(DeleteTaskspace, self._delete)
        answers.to(RegisterTaskspaceWindow, self._register)
        answers.to(GuidanceRead, self._guidance)
        return answers

    async def _state(self, message: TaskspaceState, asked: Asked) -> TaskspaceInfo:
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

    async def _update(self, message: UpdateTaskspace, asked: Asked) -> Done:
        del asked
        update = Update(
            name=message.name,
            description=message.description,
            collaborator=message.collaborator,
        )
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        await self._engine.records.state(taskspace.id, update)
        return Done()

    async def _spawn(self, message: SpawnTaskspace, asked: Asked) -> Spawned:
        parent = await self._live(message.taskspace_uuid, message.project_path)
        agent = await self._agents.chosen_here(message.agent)
        asked.progress("making a worktree")
        wanted = SpawnOrder(
            message.name,
            message.initial_prompt,
            message.task_description,
            message.collaborator,
            agent,
        )
        made = await self._engine.spawning.spawn(parent.id, wanted)
        return Spawned(new_taskspace_uuid=made.id)

    async def _log(self, message: LogProgress, asked: Asked) -> Recorded:
        del asked
        category = message.category.value
        records = self._engine.records
        try:
            await records.log(message.taskspace_uuid, message.message, category, is_live=True)
        except (UnknownTaskspaceError, RefusedNameError):
            # Only the files of its project know it, or it is named by its directory.
            taskspace = await self._live(message.taskspace_uuid, message.project_path)
            await records.log(taskspace.id, message.message, category, is_live=True)
        return Recorded(watchers=self._watchers())

    async def _signal(self, message: SignalUser, asked: Asked) -> Recorded:
        del asked
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        await self._engine.records.signal(taskspace.id, message.message)
        return Recorded(watchers=self._watchers())

    async def _delete(self, message: DeleteTaskspace, asked: Asked) -> Decided:
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        asked.progress("waiting for the user to decide; `symposium inbox` shows the question")
        decision = await self._engine.trash.requests.ask(taskspace.id)
        if decision is Decision.CANCELLED:
            raise BusRefusedError(CANCELLED, "cancelled")
        return Decided(outcome=decision.value)

    async def _guidance(self, message: GuidanceRead, asked: Asked) -> Done:
        del asked
        taskspace = await self._live(message.taskspace_uuid, message.project_path)
        id_, layer, sha256 = message.id[:200], message.layer[:20], message.sha256[:64]
        await self._engine.guidance.note(taskspace.id, id_, layer, sha256)
        return Done()

    async def _register(self, message: RegisterTaskspaceWindow, asked: Asked) -> Registered:
        taskspace = await self._live(message.taskspace_uuid)
        self._register_window(asked.by, taskspace.id, message.window_title)
        return Registered()

    async def _live(self, id_: str, project: str = "") -> Taskspace:
        """The taskspace that a message is about; an archived one takes no part any more.

        Raises:
            UnknownTaskspaceError: there is none.
            TaskspaceError: it is archived.
        """
        taskspace = await self._engine.records.locate(id_, project)
        refuse_archived(taskspace)
        return taskspace
