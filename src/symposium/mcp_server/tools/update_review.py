"""The tool that submits a new version of a review."""

from dataclasses import replace as replaced
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from symposium.documents.reviews import remake_review
from symposium.errors import NotFoundError
from symposium.mcp_server.review_desk import now
from symposium.mcp_server.reviews import ToldReview, ask_for
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class UpdateReviewParams(Struct, forbid_unknown_fields=True):
    review_id: Annotated[
        str | None,
        Meta(description="Id of the review, as returned by request_review. Default: the latest."),
    ] = None
    commit_range: Annotated[
        str | None,
        Meta(description="Git range of the commits, such as main..HEAD. Default: unchanged."),
    ] = None
    description: Annotated[
        str | None,
        Meta(description="What is different in this version. Default: unchanged."),
    ] = None


@tool("reviews", Hints("Update a review"), result=ToldReview)
async def update_review(params: UpdateReviewParams, call: Call) -> Answer:
    """Submit a new version of a review, and wait for the user's feedback.

    Use it after you made and committed the changes that the reviewer asked for. Comments stay with
    the lines that they are about. It returns the decision and the comments; if no reviewer is
    attached, it returns at once with status no_reviewer.
    """
    before = call.workplace.reviews.find(params.review_id)
    if before is None:
        raise NotFoundError("no review has been requested", "call request_review first")
    description = before.description if params.description is None else params.description
    wanted = replace(
        before,
        commit_range=params.commit_range or before.commit_range,
        description=description,
    )
    remade = await remake_review(call.workplace.root, wanted, now=now())
    answer = await ask_for(remade.review, call, is_new=False)
    if not remade.gone:
        return answer
    gone = ", ".join(thread.thread_id for thread in remade.gone)
    text = f"{answer.text}\nAnswered threads whose lines no longer exist: {gone}"
    return replaced(answer, text=text)
