"""Say that the work is done."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import FinishTaskspace
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class FinishTaskspaceParams(Struct, forbid_unknown_fields=True):
    result: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What is done, and what is not.")
    ]
    evidence: Annotated[
        str, Meta(max_length=2_000, description="A commit, a test, a file that proves it.")
    ] = ""


@tool("taskspaces", Hints("Finish the taskspace", repeats_well=True))
async def finish_taskspace(params: FinishTaskspaceParams, call: Call) -> Answer:
    """Say that the task of the taskspace you are in is done, with its result.

    Commit what is to be kept first. Whoever has spawned the taskspace and waits for it gets the
    result; people see it as finished and not yet reviewed.
    """
    where = call.workplace.taskspace()
    await call.workplace.bus.request(
        FinishTaskspace(
            project_path=where.project,
            taskspace_uuid=where.taskspace,
            result=params.result,
            evidence=params.evidence,
        )
    )
    return Answer("The taskspace is finished. A person will look at it.")
