"""The tool that creates a taskspace for another agent."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import SpawnTaskspace
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.task_lookup import look_up
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class SpawnTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str, Meta(min_length=1, max_length=200, description="Short name of the task: a few words.")
    ]
    task_description: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description="Goal of the task in a few sentences. The user sees it.",
        ),
    ]
    initial_prompt: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="The first prompt. The new agent cannot see this conversation, so include "
            "the goal, the files involved, how to check the result, and what you know already.",
        ),
    ]
    collaborator: Annotated[
        str | None,
        Meta(
            description="Collaboration style: socrates, sparkle, or base-agent. Default: that of "
            "your taskspace."
        ),
    ] = None
    agent: Annotated[
        str | None,
        Meta(
            description="Id of an installed agent, as in `symposium agents list`. Default: the "
            "agent of your taskspace.",
        ),
    ] = None


class Spawned(Struct):
    """The new taskspace."""

    taskspace_uuid: str


@tool("taskspaces", Hints("Spawn a taskspace"), result=Spawned)
async def spawn_taskspace(params: SpawnTaskspaceParams, call: Call) -> Answer:
    """Create a taskspace in the same project, with its own worktree, branch, and agent.

    Use it for work you found that is outside your own task. It returns the id of the taskspace
    once it is created; pass that id to wait_for_taskspaces to get the result. If it fails, no
    files or branches remain.
    """
    workplace = call.workplace
    where = workplace.taskspace()
    collaborator = params.collaborator
    if collaborator is None:
        mine = await look_up(where, workplace.bus)
        collaborator = mine.collaborator if mine else None
    request = SpawnTaskspace(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        name=params.name,
        task_description=params.task_description,
        initial_prompt=params.initial_prompt,
        collaborator=collaborator,
        agent=params.agent,
    )
    spawned = await ask_telling(request, call, first="Creating the taskspace.")
    return Answer(
        f"Created the taskspace {params.name!r}: {spawned.new_taskspace_uuid}.",
        Spawned(spawned.new_taskspace_uuid),
    )
