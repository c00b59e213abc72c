"""The tool that reports a task as finished."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import FinishTaskspace
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class FinishTaskspaceParams(Struct, forbid_unknown_fields=True):
    result: Annotated[
        str,
        Meta(
            min_length=1, max_length=20_000, description="Summary of what is done and what is not."
        ),
    ]
    evidence: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="Proof of the result: a commit, a test command, or a file. Default: none.",
        ),
    ] = ""


@tool("taskspaces", Hints("Finish the taskspace", repeats_well=True))
async def finish_taskspace(params: FinishTaskspaceParams, call: Call) -> Answer:
    """Report that the task of your taskspace is finished, with its result.

    Commit your work first, then call it once at the end. The agent that spawned the taskspace and
    waits for it receives the result. The user sees the task as finished and not yet reviewed.
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
    return Answer("The taskspace is marked as finished. The user will review it.")
