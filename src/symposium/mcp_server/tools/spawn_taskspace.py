"""Give work to another agent."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import SpawnTaskspace
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.task_lookup import look_up
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class SpawnTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200, description="A few words.")]
    task_description: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What people see.")
    ]
    initial_prompt: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="What its agent is told first. It knows nothing of this conversation: say "
            "what is to be done, where, how one sees that it is done, and what you know.",
        ),
    ]
    collaborator: Annotated[
        str | None, Meta(description="socrates, sparkle or base-agent; yours without.")
    ] = None
    agent: Annotated[
        str | None,
        Meta(
            description="The id of an agent that is installed, as `symposium agents list` shows "
            "them; yours without.",
        ),
    ] = None


class Spawned(Struct):
    """The new taskspace."""

    taskspace_uuid: str


@tool("taskspaces", Hints("Spawn a taskspace"), result=Spawned)
async def spawn_taskspace(params: SpawnTaskspaceParams, call: Call) -> Answer:
    """Make another taskspace of the same project, with a worktree and an agent of its own.

    For work that you have found and that is not yours. The answer comes when it has been made, or
    says why it has not; nothing half-made is left.
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
    spawned = await ask_telling(request, call, first="Asking for a new taskspace.")
    return Answer(
        f"The taskspace {params.name!r} has been made: {spawned.new_taskspace_uuid}.",
        Spawned(spawned.new_taskspace_uuid),
    )
