"""Asks whoever reviews to look at commits."""

from typing import Final

import msgspec

from symposium.bus.errors import BusError, BusRefusedError
from symposium.bus.messages.create_synthetic_pr import CreateSyntheticPr
from symposium.bus.messages.update_synthetic_pr import UpdateSyntheticPr
from symposium.bus.refusals import TIMEOUT
from symposium.bus.shapes import ReviewFile
from symposium.diffs.ranges import DiffRange, changes
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.review_book import Review, Status
from symposium.mcp_server.tool import Answer, Call

PATIENCE: Final = 1800.0
"""Seconds a reviewer may take before the agent is told to ask again later."""

_WORDS: Final[dict[Status, str]] = {
    "no_reviewer": "No reviewer attached: nobody has looked at it. Show the user the change "
    "yourself, with present_walkthrough, and ask.",
    "waiting": "The reviewer has not answered yet; ask get_review_status later.",
    "answered": "The reviewer has answered:",
}


async def ask_for(review: Review, call: Call, *, is_new: bool) -> Answer:
    """Show it to a reviewer, and wait for what is said.

    Raises:
        GitError: the range names no commits.
    """
    workplace = call.workplace
    found = await changes(workplace.root, DiffRange(review.commit_range))
    files = tuple(msgspec.convert(msgspec.to_builtins(found.files), list[ReviewFile]))
    kind = CreateSyntheticPr if is_new else UpdateSyntheticPr
    request = kind(
        review_id=review.review_id,
        title=review.title,
        commit_range=review.commit_range,
        description=review.description,
        files_changed=files,
    )
    workplace.reviews.put(review)
    try:
        first = "The review has been requested."
        review.feedback = await ask_telling(request, call, first=first, patience=PATIENCE)
        review.status = "answered"
    except BusError as error:
        is_late = isinstance(error, BusRefusedError) and error.code == TIMEOUT
        review.status = "waiting" if is_late else "no_reviewer"
    return told(review)


def told(review: Review) -> Answer:
    """What an agent is told of a review."""
    text = f"Review {review.review_id}: {_WORDS[review.status]}"
    if review.status == "answered":
        value = msgspec.json.format(msgspec.json.encode(review.feedback)).decode()
        text = f"{text}\n{value}"
    return Answer(text, review)
