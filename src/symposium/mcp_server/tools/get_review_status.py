"""What has become of a review."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.mcp_server.review_book import Review
from symposium.mcp_server.reviews import told
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class Params(Struct, forbid_unknown_fields=True):
    review_id: Annotated[str | None, Meta(description="By default the newest.")] = None


@tool("reviews", Hints("Review status", reads_only=True, repeats_well=True), result=Review)
async def get_review_status(params: Params, call: Call) -> Answer:
    """Say whether anybody has looked at a review, and what was said."""
    review = call.workplace.reviews.find(params.review_id)
    if review is None:
        return told(Review("", "", "", "", "no_reviewer"))
    return told(review)
