"""Wait for the work that was given to others."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import TaskResult, WaitForTaskspaces
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.tool import Answer, Call, Hints, tool

RESULT_TIMEOUT: Final = 1800.0
"""Seconds to wait for results before the agent is told to call again."""


class WaitForTaskspacesParams(Struct, forbid_unknown_fields=True):
    taskspace_uuids: Annotated[
        list[str], Meta(min_length=1, max_length=100, description="As `spawn_taskspace` gave them.")
    ]


class Waited(Struct):
    """What came of them; nothing while they go on."""

    results: list[TaskResult]


@tool(
    "taskspaces",
    Hints("Wait for taskspaces", reads_only=True, repeats_well=True),
    result=Waited,
)
async def wait_for_taskspaces(params: WaitForTaskspacesParams, call: Call) -> Answer:
    """Wait until taskspaces that you have spawned are finished, and get their results.

    One call is enough: do not ask again and again. The answer has the result, the branch and the
    evidence of each.
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
            "They are not finished yet; call again to wait longer.",
            Waited(results=[]),
        )
    lines = [
        f"{each.name} is {each.standing} on {each.branch}: {each.result or 'it says nothing'}"
        + (f" ({each.evidence})" if each.evidence else "")
        for each in ended.results
    ]
    return Answer("\n".join(lines), Waited(results=list(ended.results)))
