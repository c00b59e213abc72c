"""Have a new version of a change looked at."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from symposium.errors import NotFoundError
from symposium.mcp_server.review_book import Review
from symposium.mcp_server.reviews import ask_for
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class Params(Struct, forbid_unknown_fields=True):
    review_id: Annotated[str | None, Meta(description="By default the newest.")] = None
    commit_range: Annotated[str | None, Meta(description="As before without it.")] = None
    description: Annotated[str | None, Meta(description="What is different now.")] = None


@tool("reviews", Hints("Update a review"), result=Review)
async def update_review(params: Params, call: Call) -> Answer:
    """Bring a new version of the same review, after you have changed what was asked for.

    If no reviewer is attached the answer says so at once: then nobody has looked.
    """
    before = call.workplace.reviews.find(params.review_id)
    if before is None:
        raise NotFoundError("no review has been requested", "call request_review first")
    now = replace(
        before,
        commit_range=params.commit_range or before.commit_range,
        description=before.description if params.description is None else params.description,
        status="waiting",
        feedback=None,
    )
    return await ask_for(now, call, is_new=False)
