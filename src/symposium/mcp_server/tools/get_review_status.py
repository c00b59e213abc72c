"""The tool that returns the state and feedback of a review."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from symposium.mcp_server.reviews import KnownReview, ToldReview, told
from symposium.mcp_server.tool import Answer, Call, Hints, tool

MOST: Final = 50
"""Reviews that are listed."""


class GetReviewStatusParams(Struct, forbid_unknown_fields=True):
    review_id: Annotated[
        str | None,
        Meta(
            description="Id of the review, as returned by request_review. Default: the latest "
            "review, followed by a list of all reviews of this project."
        ),
    ] = None


@tool("reviews", Hints("Review status", reads_only=True, repeats_well=True), result=ToldReview)
async def get_review_status(params: GetReviewStatusParams, call: Call) -> Answer:
    """Get the status of a review, and the feedback given so far.

    Use it after request_review returned without feedback, or to continue a review of an earlier
    conversation. It returns the status (no_reviewer, waiting, or answered), the decision, and all
    comments.
    """
    desk = call.workplace.reviews
    if params.review_id is not None:
        review = desk.find(params.review_id)
        assert review is not None
        return told(review)
    found = [review for review, _ in zip(desk.known(), range(MOST), strict=False)]
    if not found:
        text = "No reviewer attached: no review has been requested in this project."
        return Answer(text, ToldReview("", "", "", "", "no_reviewer"))
    newest = told(found[0])
    known = [
        KnownReview(each.review_id, each.title, each.attention, each.status, each.updated_at)
        for each in found
    ]
    lines = [f"- {each.review_id}: {each.title}: {each.status}, {each.decision}" for each in known]
    text = "\n".join([newest.text, "", "All reviews of this project, latest first:", *lines])
    return Answer(text, replace(newest.value, known=known))
