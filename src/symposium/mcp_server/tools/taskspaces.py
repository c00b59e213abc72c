"""The tools on taskspaces."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from symposium.bus.error_codes import TIMEOUT
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import (
    DeleteTaskspace,
    FinishTaskspace,
    LogProgress,
    ProgressCategory,
    SignalUser,
    SpawnTaskspace,
    TaskResult,
    TaskspaceState,
    WaitForTaskspaces,
)
from symposium.mcp_server.progress import request_with_progress
from symposium.mcp_server.report_delivery import DeliveryReport, report
from symposium.mcp_server.task_lookup import look_up
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

_Name = Annotated[
    str, Meta(min_length=1, max_length=200, description="Short name of the task: a few words.")
]

DECISION_TIMEOUT: Final = 1800.0
"""Seconds to wait for the user; then the request stays open and the outcome is `pending`."""

CANCELLED: Final = "deletion was cancelled by user"
"""Text of the reference implementation's refusal."""

_WORDS: Final = {
    "deleted": "The taskspace was deleted with its files. Stop working here.",
    "archived": "The taskspace was archived and its files were removed from here. The user can "
    "restore them with `symposium task undo`. Stop working here.",
    "cancelled": "The user decided to keep the taskspace. Nothing was deleted.",
    "expired": "The user did not answer in time. Nothing was deleted.",
    "pending": "The user has not answered yet. Nothing was deleted; the request stays open.",
}


class DeleteTaskspaceParams(Struct, forbid_unknown_fields=True):
    pass


class DeletionOutcome(Struct):
    """The user's decision: deleted, archived, cancelled, expired, or pending."""

    outcome: str


@tool("taskspaces", Hints("Delete the taskspace", destroys=True), result=DeletionOutcome)
async def delete_taskspace(params: DeleteTaskspaceParams, call: ToolInvocation) -> ToolAnswer:
    """Ask the user to delete the taskspace you work in, and wait for the decision.

    Use it when the task is obsolete or its result is no longer needed. It returns the outcome:
    deleted, archived, cancelled, expired, or pending. Nothing is deleted unless the outcome is
    deleted or archived.
    """
    del params
    where = call.workplace.taskspace()
    request = DeleteTaskspace(project_path=where.project, taskspace_uuid=where.taskspace)
    try:
        first = "Asking for the user's decision."
        decided = (
            await request_with_progress(request, call, first=first, limit=DECISION_TIMEOUT)
        ).outcome
    except BusRefusedError as error:
        if CANCELLED in error.message.lower():
            decided = "cancelled"
        elif error.code == TIMEOUT:
            decided = "pending"
        else:
            raise
    return ToolAnswer(_WORDS.get(decided, f"The outcome is: {decided}."), DeletionOutcome(decided))


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
async def finish_taskspace(params: FinishTaskspaceParams, call: ToolInvocation) -> ToolAnswer:
    """Report that the task of your taskspace is finished, with its result.

    Commit your work first, then call it once at the end. If another agent spawned the taskspace
    and waits for it, that agent receives the result. The user sees the task as finished and not
    yet reviewed.
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
    return ToolAnswer("The taskspace is marked as finished. The user will review it.")


class LogProgressParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description="One short sentence, most important word first.",
        ),
    ]
    category: Annotated[
        str,
        Meta(
            description="info, warn, error, milestone, or question, or the emoji for it "
            "(ℹ️ ⚠️ ❌ ✅ ❓). Any other value counts as info."  # noqa: RUF001 - the emoji itself
        ),
    ]


@tool("taskspaces", Hints("Log progress"), result=DeliveryReport)
async def log_progress(params: LogProgressParams, call: ToolInvocation) -> ToolAnswer:
    """Log progress on your task. The user sees it in the task list.

    Use it after each completed step: `milestone` for a finished part, `question` when you need an
    answer, `warn` and `error` for problems, else `info`. It returns whether the line was recorded
    or queued, and how many connected views, such as editor windows, show it now.
    """
    where = call.workplace.taskspace()
    message = LogProgress(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        message=params.message,
        category=ProgressCategory(params.category),
    )
    return await report(message, call)


class SignalUserParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description='What you need, such as "Ready for review: the import resumes after a '
            'crash".',
        ),
    ]


@tool("taskspaces", Hints("Signal the user"), result=DeliveryReport)
async def signal_user(params: SignalUserParams, call: ToolInvocation) -> ToolAnswer:
    """Ask for the user's attention, with a message in the user's inbox.

    Use it when you are done, or cannot continue without the user. State what you need. Call it
    once per request. It returns whether the request was recorded or queued, and how many
    connected views, such as editor windows, show it now.
    """
    where = call.workplace.taskspace()
    message = SignalUser(
        project_path=where.project, taskspace_uuid=where.taskspace, message=params.message
    )
    return await report(message, call)


class SpawnTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: _Name
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
            "agent of your taskspace."
        ),
    ] = None


class SpawnedTask(Struct):
    """The new taskspace."""

    taskspace_uuid: str


@tool("taskspaces", Hints("Spawn a taskspace"), result=SpawnedTask)
async def spawn_taskspace(params: SpawnTaskspaceParams, call: ToolInvocation) -> ToolAnswer:
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
    spawned = await request_with_progress(request, call, first="Creating the taskspace.")
    return ToolAnswer(
        f"Created the taskspace {params.name!r}: {spawned.new_taskspace_uuid}.",
        SpawnedTask(spawned.new_taskspace_uuid),
    )


UPDATE_TIMEOUT = 10.0
"""Seconds to wait for the daemon."""


class UpdateTaskspaceParams(Struct, forbid_unknown_fields=True):
    name: _Name
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
async def update_taskspace(params: UpdateTaskspaceParams, call: ToolInvocation) -> ToolAnswer:
    """Set the name and description of your taskspace.

    Use it as soon as you know the goal of the task, and again when the goal changes. The user sees
    both in the task list. It also clears the initial prompt. This marks the task as started. It
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
    now = await call.workplace.bus.request(request, timeout=UPDATE_TIMEOUT)
    is_cleared = now.initial_prompt is None
    note = " The initial prompt is cleared." if is_cleared else ""
    return ToolAnswer(
        f"The taskspace is now named {now.name!r}.{note}",
        Updated(now.name, now.description, now.collaborator, is_cleared),
    )


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


@tool("taskspaces", Hints("Wait for taskspaces", reads_only=True, repeats_well=True), result=Waited)
async def wait_for_taskspaces(params: WaitForTaskspacesParams, call: ToolInvocation) -> ToolAnswer:
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
        ended = await request_with_progress(request, call, first=first, limit=RESULT_TIMEOUT)
    except BusRefusedError as error:
        if error.code != TIMEOUT:
            raise
        return ToolAnswer(
            "The taskspaces are not finished yet; call again to wait longer.", Waited(results=[])
        )
    lines = [
        f"{each.name} is {each.standing} on {each.branch}: {each.result or 'no result given'}"
        + (f" ({each.evidence})" if each.evidence else "")
        for each in ended.results
    ]
    return ToolAnswer("\n".join(lines), Waited(results=list(ended.results)))
