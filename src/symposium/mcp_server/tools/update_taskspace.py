"""Say what the taskspace is about."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import TaskspaceState
from symposium.mcp_server.tool import Answer, Call, Hints, tool

PATIENCE = 10.0
"""Seconds for the daemon."""


class UpdateTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200, description="A few words.")]
    description: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What is to be achieved.")
    ]
    collaborator: Annotated[
        str | None, Meta(description="socrates, sparkle or base-agent; left as it is without.")
    ] = None


class Updated(Struct):
    """The taskspace as it is now."""

    name: str | None
    description: str | None
    collaborator: str | None
    initial_prompt_cleared: bool


@tool("taskspaces", Hints("Update the taskspace", repeats_well=True), result=Updated)
async def update_taskspace(params: UpdateTaskspaceParams, call: Call) -> Answer:
    """Set the name and description of your taskspace, as soon as you know what the task is.

    It is what the user recognises the taskspace by. This also clears the initial prompt: you have
    taken the task up. Call it again when the task has become another one.
    """
    where = call.workplace.taskspace()
    request = TaskspaceState(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        name=params.name,
        description=params.description,
        collaborator=params.collaborator,
    )
    now = await call.workplace.bus.request(request, patience=PATIENCE)
    is_cleared = now.initial_prompt is None
    note = " The initial prompt is cleared." if is_cleared else ""
    return Answer(
        f"The taskspace is now called {now.name!r}.{note}",
        Updated(now.name, now.description, now.collaborator, is_cleared),
    )
