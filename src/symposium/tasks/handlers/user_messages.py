"""Handlers of bus messages from users about tasks."""

from pathlib import Path
from uuid import uuid4

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    AnswerInbox,
    CreateTaskspace,
    FindTaskspace,
    GuidanceReading,
    InboxAnswered,
    ListInbox,
    ListTaskspaces,
    PutOffInbox,
    RenameTaskspace,
    RetryTaskspace,
    ShowTaskspace,
    TaskMade,
    Tasks,
    TaskShown,
)
from symposium.bus.messages.tasks import Inbox as InboxListed
from symposium.tasks.budget import read_budget
from symposium.tasks.creation import UNBOUND, CreateRequest
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.approvals import SetUpTrust, shown_lines
from symposium.tasks.handlers.inbox import TaskInbox
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.handlers.task_views import TaskViewing, log_view, snapshot_view
from symposium.tasks.model import Taskspace, TaskState
from symposium.tasks.queries import Page
from symposium.tasks.recipe import SetUpRecipe


class TaskHandlers:
    """Handlers for one engine.

    Args:
        engine: the taskspaces.
        agents: their agents.
        trust: store of trusted content.
        inbox: the inbox.
        viewing: makes views of tasks.
    """

    def __init__(
        self,
        engine: Engine,
        agents: TaskAgents,
        trust: SetUpTrust,
        inbox: TaskInbox,
        viewing: TaskViewing,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._trust = trust
        self._inbox = inbox
        self._viewing = viewing

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(CreateTaskspace, self._create)
        answers.on_request(AdoptTaskspace, self._adopt)
        answers.on_request(ListTaskspaces, self._list)
        answers.on_request(FindTaskspace, self._find)
        answers.on_request(ShowTaskspace, self._show)
        answers.on_request(RetryTaskspace, self._retry)
        answers.on_request(RenameTaskspace, self._rename)
        answers.on_request(ListInbox, self._list_inbox)
        answers.on_request(AnswerInbox, self._answer_inbox)
        answers.on_request(PutOffInbox, self._snooze_inbox)
        return answers

    async def _create(self, message: CreateTaskspace, asked: RequestContext) -> TaskMade:
        agent = await self._agents.chosen(message.agent)
        if agent is not None and agent.note:
            asked.progress(agent.note)
        id_ = str(uuid4())
        await self._agents.environments.take(id_, message.environment)
        made = await self._engine.create(
            CreateRequest(
                id=id_,
                project=Path(message.project),
                name=message.name,
                task=message.task,
                description=message.description,
                agent=None if agent is None else agent.spec,
                base=message.base,
                collaborator=message.collaborator,
                ports=message.ports,
                is_name_locked=message.is_name_locked,
                limits=read_budget(message.budget) if message.budget else UNBOUND,
            )
        )
        return TaskMade(taskspace=await self._viewing.view(made))

    async def _adopt(self, message: AdoptTaskspace, asked: RequestContext) -> TaskMade:
        del asked
        adopted = await self._engine.adopt(Path(message.worktree), message.name)
        return TaskMade(taskspace=await self._viewing.view(adopted))

    async def _list(self, message: ListTaskspaces, asked: RequestContext) -> Tasks:
        del asked
        page = Page(
            project=message.project,
            after=message.after,
            limit=message.limit,
            first=await self._waiting() if message.is_urgent_first else (),
            is_archived=message.is_archived,
        )
        found, total = await self._engine.queries.page(page)
        return Tasks(taskspaces=tuple(await self._viewing.views(found)), total=total)

    async def _waiting(self) -> list[str]:
        """Ids of the tasks with an item in the inbox, the most urgent first."""
        return list(dict.fromkeys(item.taskspace for item in await self._inbox.items()))

    async def _find(self, message: FindTaskspace, asked: RequestContext) -> Tasks:
        del asked
        found = await self._engine.queries.named(message.named)
        return Tasks(taskspaces=tuple(await self._viewing.views(found)), total=len(found))

    async def _show(self, message: ShowTaskspace, asked: RequestContext) -> TaskShown:
        del asked
        taskspace = await self._engine.queries.checked(message.taskspace_uuid)
        entries = await self._engine.logs.latest(taskspace.id, message.log)
        is_gone = taskspace.standing in {TaskState.ARCHIVED, TaskState.MISSING}
        is_there = message.is_whole and not is_gone
        snapshots = await self._engine.history.snapshots(taskspace.id) if is_there else []
        recipe = await self._engine.recipe(taskspace.id) if is_there else SetUpRecipe()
        guesses = () if recipe.recipes else recipe.guesses
        readings = await self._engine.guidance.of(taskspace.id)
        return TaskShown(
            taskspace=await self._viewing.view(taskspace),
            log=tuple(log_view(entry) for entry in entries),
            snapshots=tuple(snapshot_view(each) for each in snapshots),
            recipe=tuple(shown_lines(recipe)),
            digest=recipe.digest,
            guesses=tuple(f"{each.command} ({each.source})" for each in guesses),
            guidance=tuple(
                GuidanceReading(each.id, each.layer, each.sha256, each.at, each.count)
                for each in readings
            ),
        )

    async def _retry(self, message: RetryTaskspace, asked: RequestContext) -> TaskMade:
        taskspace = await self._engine.get(message.taskspace_uuid)
        if message.agent is not None:
            taskspace = await self._assign(taskspace, message.agent, asked)
        await self._agents.environments.take(taskspace.id, message.environment)
        if message.trusted:
            recipe = await self._engine.recipe(taskspace.id)
            if message.trusted != recipe.digest:
                text = (
                    "its setup files have changed since you saw them; "
                    "check them in `symposium inbox`"
                )
                raise BusRefusedError(text, "changed")
            self._trust.grant(taskspace.project, recipe)
        if message.trusted or taskspace.standing is TaskState.SETUP_FAILED:
            taskspace = await self._engine.retry(taskspace.id)
        elif taskspace.standing is not TaskState.READY:
            raise BusRefusedError(f"{taskspace.name!r} is {taskspace.standing.value}", "refused")
        else:
            await self._engine.resume(taskspace.id)
        return TaskMade(taskspace=await self._viewing.view(await self._engine.get(taskspace.id)))

    async def _assign(self, taskspace: Taskspace, written: str, asked: RequestContext) -> Taskspace:
        """Assign an agent, unless the task has a session: only its own agent can use that."""
        agent = await self._agents.chosen(written)
        if agent is None or agent.spec == taskspace.agent:
            return taskspace
        if agent.note:
            asked.progress(agent.note)
        if self._agents.is_running(taskspace.id):
            text = f"its agent is running; stop it with `symposium task stop {taskspace.id[:8]}`"
            raise BusRefusedError(text, "refused")
        if self._agents.has_worked(taskspace.id):
            text = (
                "its agent has a session already; `symposium handoff` passes that "
                "session to another agent"
            )
            raise BusRefusedError(text, "refused")
        self._agents.forget(taskspace.id)
        return await self._engine.records.assign(taskspace.id, agent.spec)

    async def _rename(self, message: RenameTaskspace, asked: RequestContext) -> TaskMade:
        del asked
        renamed = await self._engine.records.rename(message.taskspace_uuid, message.name)
        return TaskMade(taskspace=await self._viewing.view(renamed))

    async def _list_inbox(self, message: ListInbox, asked: RequestContext) -> InboxListed:
        del message, asked
        return InboxListed(items=tuple(await self._inbox.items()))

    async def _answer_inbox(self, message: AnswerInbox, asked: RequestContext) -> InboxAnswered:
        by = message.by or asked.by
        if message.environment is not None:
            for each in await self._inbox.items():
                if each.id == message.item:
                    await self._agents.environments.take(each.taskspace, message.environment)
        return InboxAnswered(text=await self._inbox.answer(message.item, message.answer, by))

    async def _snooze_inbox(self, message: PutOffInbox, asked: RequestContext) -> InboxAnswered:
        del asked
        return InboxAnswered(text=await self._inbox.snooze(message.item))
