"""The tool that waits for the results of spawned taskspaces."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import TaskResult, WaitForTaskspaces
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.tool import Answer, Call, Hints, tool

RESULT_TIMEOUT: Final = 1800.0
"""Seconds to wait for results before the result asks the agent to call again."""


class WaitForTaskspacesParams(Struct, forbid_unknown_fields=True):
    taskspace_uuids: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=100,
            description="Ids of the taskspaces, as returned by spawn_taskspace.",
        ),
    ]


class Waited(Struct):
    """Results of the taskspaces; empty while they are still running."""

    results: list[TaskResult]


@tool(
    "taskspaces",
    Hints("Wait for taskspaces", reads_only=True, repeats_well=True),
    result=Waited,
)
async def wait_for_taskspaces(params: WaitForTaskspacesParams, call: Call) -> Answer:
    """Wait until taskspaces that you spawned are finished, and get their results.

    Use it when you need those results to continue. Call it once; it waits up to 30 minutes. It
    returns the result, branch, and evidence of each taskspace, or asks you to call it again.
    """
    where = call.workplace.taskspace()
    request = WaitForTaskspaces(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        children=tuple(params.taskspace_uuids),
    )
    try:
        first = f"Waiting for {len(request.children)} taskspace(s)."
        ended = await ask_telling(request, call, first=first, limit=RESULT_TIMEOUT)
    except BusRefusedError as error:
        if error.code != TIMEOUT:
            raise
        return Answer(
            "The taskspaces are not finished yet; call again to wait longer.",
            Waited(results=[]),
        )
    lines = [
        f"{each.name} is {each.standing} on {each.branch}: {each.result or 'no result given'}"
        + (f" ({each.evidence})" if each.evidence else "")
        for each in ended.results
    ]
    return Answer("\n".join(lines), Waited(results=list(ended.results)))
