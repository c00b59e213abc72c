"""Have commits looked at."""

from typing import Annotated
from uuid import uuid4

from msgspec import Meta, Struct

from symposium.mcp_server.review_desk import now
from symposium.mcp_server.reviews import ToldReview, ask_for
from symposium.mcp_server.tool import Answer, Call, Hints, tool
from symposium.reviews.making import Request, make_review


class RequestReviewParams(Struct, forbid_unknown_fields=True):
    commit_range: Annotated[
        str, Meta(min_length=1, max_length=500, description="main..HEAD, HEAD~2..HEAD, HEAD")
    ]
    title: Annotated[str, Meta(min_length=1, max_length=500, description="What has changed.")]
    description: Annotated[
        str, Meta(max_length=100_000, description="Why, how it was checked, what is uncertain.")
    ] = ""


@tool("reviews", Hints("Request a review"), result=ToldReview)
async def request_review(params: RequestReviewParams, call: Call) -> Answer:
    """Have your commits reviewed as a pull request would be, and wait for what is said.

    If no reviewer is attached the answer says so at once: then nobody has looked. The review is
    kept, and get_review_status says later what has become of it.
    """
    request = Request(params.commit_range, params.title, params.description)
    folder = call.workplace.root
    review = await make_review(folder, request, review_id=str(uuid4()), now=now())
    return await ask_for(review, call, is_new=True)
