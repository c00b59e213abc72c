"""The tools on reviews."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Annotated, Any, Final, TypeVar, cast
from uuid import uuid4

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from symposium.bus.error_codes import TIMEOUT
from symposium.bus.errors import BusError, BusLostError, BusRefusedError
from symposium.bus.messages.editor import (
    CommentThread as ShownThread,
)
from symposium.bus.messages.editor import (
    CreateSyntheticPr,
    ReviewFile,
    UpdateSyntheticPr,
)
from symposium.documents.reviews import (
    Attention,
    FeedbackError,
    Review,
    ReviewRequest,
    ReviewThread,
    make_review,
    remake_review,
)
from symposium.errors import NotFoundError
from symposium.mcp_server.progress import EVERY, ProgressRelay, request_with_progress
from symposium.mcp_server.review_inbox import now
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

FEEDBACK_TIMEOUT: Final = 1800.0
"""Seconds to wait for a reviewer before the agent is asked to try again later."""

_WORDS: Final[dict[Attention, str]] = {
    "no_reviewer": "No reviewer attached: no one has seen the change. The review is stored. Show "
    "the user the change with present_walkthrough, and ask for feedback.",
    "waiting": "The reviewer has not answered yet; call get_review_status later.",
    "answered": "The reviewer answered:",
}


_Shape = TypeVar("_Shape")


class KnownReview(Struct, frozen=True):
    """One line of a list of reviews."""

    review_id: str
    title: str
    status: Attention
    decision: str
    updated_at: str


class ReviewResult(Struct, frozen=True, omit_defaults=True):
    """Result of a review tool.

    Attributes:
        review_id: id for updates and status requests.
        status: no_reviewer, waiting, or answered.
        decision: Pending, ChangesRequested, Checkpoint, or Returned.
        notes: notes of the decision.
        feedback: feedback on this version, in order.
        threads: comments in the code, with replies.
        known: all reviews of the project, if no review was named.
    """

    review_id: str
    title: str
    commit_range: str
    description: Any
    status: Attention
    decision: str = "Pending"
    notes: str | None = None
    feedback: Sequence[Any] = ()
    threads: Sequence[ReviewThread] = ()
    known: Sequence[KnownReview] = ()


async def ask_for(review: Review, call: ToolInvocation, *, is_new: bool) -> ToolAnswer:
    """Store a review, request it, and wait for feedback.

    Raises:
        ReviewStoreError: the review cannot be stored.
    """
    reviews, id_ = call.workplace.reviews, review.review_id
    reviews.keep(review)
    with reviews.listening(id_) as word:
        asking = _Asking(_request(review, is_new=is_new), call, word)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(asking.ask()), tasks.create_task(reviews.watch(id_, word))]
            try:
                async with asyncio.timeout(FEEDBACK_TIMEOUT):
                    await word.wait()
            except TimeoutError:
                asking.reason = f"no feedback within {FEEDBACK_TIMEOUT:g} s"
            finally:
                for task in beside:
                    task.cancel()
    return review_answer(reviews.find(id_) or review, asking.reason)


@dataclass(slots=True)
class _Asking:
    """One request to a reviewer.

    Attributes:
        word: set when the wait is over.
        reason: why there is no feedback.
    """

    request: CreateSyntheticPr | UpdateSyntheticPr
    call: ToolInvocation
    word: asyncio.Event
    reason: str = ""

    async def ask(self) -> None:
        """Send the request, handle the answer, and report progress until canceled."""
        first = "Asking for a reviewer."
        try:
            reply = await request_with_progress(
                self.request, self.call, first=first, limit=FEEDBACK_TIMEOUT
            )
            is_taken = self._take(reply)
        except BusError as error:
            self._end(error)
        except FeedbackError as error:
            self.reason = error.message
            self.word.set()
        else:
            if not is_taken:
                # The feedback arrives as `user_feedback`.
                await ProgressRelay(
                    "A reviewer received the request; waiting for feedback."
                ).tell_on(self.call.tell, every=EVERY)

    def _take(self, reply: Any) -> bool:
        """Whether a reply is feedback; otherwise a reviewer has it, with or without an id."""
        if not isinstance(reply, Mapping) or "feedback_type" not in reply:
            return False
        said = cast("Mapping[str, Any]", reply)
        self.call.workplace.reviews.take({**said, "review_id": self.request.review_id})
        return True

    def _end(self, error: BusError) -> None:
        is_late = isinstance(error, BusRefusedError) and error.code == TIMEOUT
        may_have_it = is_late or isinstance(error, BusLostError)
        attention = "waiting" if may_have_it else "no_reviewer"
        self.call.workplace.reviews.note(self.request.review_id, attention)
        self.reason = error.message
        self.word.set()


def _request(review: Review, *, is_new: bool) -> CreateSyntheticPr | UpdateSyntheticPr:
    kind = CreateSyntheticPr if is_new else UpdateSyntheticPr
    return kind(
        review_id=review.review_id,
        title=review.title,
        commit_range=review.commit_range,
        description=review.description,
        status=review.status,
        files_changed=_shown(review.files_changed, ReviewFile),
        comment_threads=_shown(review.comment_threads, ShownThread),
        created_at=review.created_at,
        updated_at=review.updated_at,
    )


def _shown(values: Sequence[Any], kind: type[_Shape]) -> tuple[_Shape, ...]:
    return tuple(msgspec.convert(each, kind) for each in msgspec.to_builtins(values))


def review_answer(review: Review, reason: str = "") -> ToolAnswer:
    """Tool answer for a review; `reason` says why there is no feedback."""
    text = f"Review {review.review_id}: {_WORDS[review.attention]}"
    if review.attention == "answered":
        value = msgspec.json.format(msgspec.json.encode(review.said)).decode()
        text = f"{text}\n{value}"
    elif reason:
        text = f"{text} ({reason})"
    threads = [
        each for each in review.comment_threads if each.responses or each.comment_type == "Comment"
    ]
    value = ReviewResult(
        *(review.review_id, review.title, review.commit_range, review.description),
        *(review.attention, review.status, review.notes, review.said, threads),
    )
    return ToolAnswer(text, value)


class RequestReviewParams(Struct, forbid_unknown_fields=True):
    commit_range: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Git range, such as main..HEAD or HEAD~2..HEAD. A single revision, such as "
            "HEAD, compares it with the working tree.",
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


@tool("reviews", Hints("Request a review"), result=ReviewResult)
async def request_review(params: RequestReviewParams, call: ToolInvocation) -> ToolAnswer:
    """Ask the user to review a range of commits, and wait for their feedback.

    Use it when a change is committed and checked. It returns the decision and the comments. If no
    reviewer is attached, it returns at once with status no_reviewer. The review is stored; call
    get_review_status to ask for feedback later.
    """
    request = ReviewRequest(params.commit_range, params.title, params.description)
    folder = call.workplace.root
    review = await make_review(folder, request, review_id=str(uuid4()), now=now())
    return await ask_for(review, call, is_new=True)


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


@tool("reviews", Hints("Update a review"), result=ReviewResult)
async def update_review(params: UpdateReviewParams, call: ToolInvocation) -> ToolAnswer:
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


MAX_REVIEWS: Final = 50
"""Maximum number of listed reviews."""


class GetReviewStatusParams(Struct, forbid_unknown_fields=True):
    review_id: Annotated[
        str | None,
        Meta(
            description="Id of the review, as returned by request_review. Default: the latest "
            "review, followed by a list of all reviews of this project."
        ),
    ] = None


@tool("reviews", Hints("Review status", reads_only=True, repeats_well=True), result=ReviewResult)
async def get_review_status(params: GetReviewStatusParams, call: ToolInvocation) -> ToolAnswer:
    """Get the status of a review, and the feedback given so far.

    Use it after request_review returned without feedback, or to continue a review of an earlier
    conversation. It returns the status (no_reviewer, waiting, or answered), the decision, and all
    comments.
    """
    reviews = call.workplace.reviews
    if params.review_id is not None:
        review = reviews.find(params.review_id)
        assert review is not None
        return review_answer(review)
    found = [review for review, _ in zip(reviews.known(), range(MAX_REVIEWS), strict=False)]
    if not found:
        text = "No reviewer attached: no review has been requested in this project."
        return ToolAnswer(text, ReviewResult("", "", "", "", "no_reviewer"))
    newest = review_answer(found[0])
    known = [
        KnownReview(each.review_id, each.title, each.attention, each.status, each.updated_at)
        for each in found
    ]
    lines = [f"- {each.review_id}: {each.title}: {each.status}, {each.decision}" for each in known]
    text = "\n".join([newest.text, "", "All reviews of this project, latest first:", *lines])
    return ToolAnswer(text, replace(newest.value, known=known))
