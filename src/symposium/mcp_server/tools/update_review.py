"""Have a new version of a change looked at."""

from dataclasses import replace as replaced
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from symposium.errors import NotFoundError
from symposium.mcp_server.review_desk import now
from symposium.mcp_server.reviews import ToldReview, ask_for
from symposium.mcp_server.tool import Answer, Call, Hints, tool
from symposium.reviews.making import remake_review


class UpdateReviewParams(Struct, forbid_unknown_fields=True):
    review_id: Annotated[str | None, Meta(description="By default the newest.")] = None
    commit_range: Annotated[str | None, Meta(description="As before without it.")] = None
    description: Annotated[str | None, Meta(description="What is different now.")] = None


@tool("reviews", Hints("Update a review"), result=ToldReview)
async def update_review(params: UpdateReviewParams, call: Call) -> Answer:
    """Bring a new version of the same review, after you have changed what was asked for.

    What people have said stays with the lines that it is about. If no reviewer is attached the
    answer says so at once: then nobody has looked.
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
    text = f"{answer.text}\nAnswered threads that are in the code no more: {gone}"
    return replaced(answer, text=text)
