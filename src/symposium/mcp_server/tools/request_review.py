"""The tool that requests a review of commits."""

from typing import Annotated
from uuid import uuid4

from msgspec import Meta, Struct

from symposium.documents.reviews import Request, make_review
from symposium.mcp_server.review_desk import now
from symposium.mcp_server.reviews import ToldReview, ask_for
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class RequestReviewParams(Struct, forbid_unknown_fields=True):
    commit_range: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Git range of the commits, such as main..HEAD or HEAD~2..HEAD, or HEAD.",
        ),
    ]
    title: Annotated[
        str, Meta(min_length=1, max_length=500, description="Summary of the change in one line.")
    ]
    description: Annotated[
        str,
        Meta(
            max_length=100_000,
            description="Reason for the change, how you checked it, and what is uncertain. "
            "Default: empty.",
        ),
    ] = ""


@tool("reviews", Hints("Request a review"), result=ToldReview)
async def request_review(params: RequestReviewParams, call: Call) -> Answer:
    """Ask the user to review a range of commits, and wait for their feedback.

    Use it when a change is committed and checked. It returns the decision and the comments. If no
    reviewer is attached, it returns at once with status no_reviewer. The review is stored; call
    get_review_status to ask for feedback later.
    """
    request = Request(params.commit_range, params.title, params.description)
    folder = call.workplace.root
    review = await make_review(folder, request, review_id=str(uuid4()), now=now())
    return await ask_for(review, call, is_new=True)
