"""The tool that sets the name and description of the taskspace."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import TaskspaceState
from symposium.mcp_server.tool import Answer, Call, Hints, tool

UPDATE_TIMEOUT = 10.0
"""Seconds to wait for the daemon."""


class UpdateTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: Annotated[
        str, Meta(min_length=1, max_length=200, description="Short name of the task: a few words.")
    ]
    description: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="Goal of the task.")
    ]
    collaborator: Annotated[
        str | None,
        Meta(
            description="Collaboration style: socrates, sparkle, or base-agent. Default: unchanged."
        ),
    ] = None


class Updated(Struct):
    """The taskspace after the update."""

    name: str | None
    description: str | None
    collaborator: str | None
    initial_prompt_cleared: bool


@tool("taskspaces", Hints("Update the taskspace", repeats_well=True), result=Updated)
async def update_taskspace(params: UpdateTaskspaceParams, call: Call) -> Answer:
    """Set the name and description of your taskspace.

    Use it as soon as you know the goal of the task, and again when the goal changes. The user sees
    both in the task list. It also clears the initial prompt, which marks the task as started. It
    returns the new values.
    """
    where = call.workplace.taskspace()
    request = TaskspaceState(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        name=params.name,
        description=params.description,
        collaborator=params.collaborator,
    )
    now = await call.workplace.bus.request(request, patience=UPDATE_TIMEOUT)
    is_cleared = now.initial_prompt is None
    note = " The initial prompt is cleared." if is_cleared else ""
    return Answer(
        f"The taskspace is now named {now.name!r}.{note}",
        Updated(now.name, now.description, now.collaborator, is_cleared),
    )
