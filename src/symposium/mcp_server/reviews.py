"""Asks whoever reviews to look at commits, and waits for a word (bus-mcp-taskspaces §4.8)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import Struct

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusError, BusLostError, BusRefusedError
from symposium.bus.messages.editor import CommentThread as ShownThread
from symposium.bus.messages.editor import CreateSyntheticPr, ReviewFile, UpdateSyntheticPr
from symposium.documents.reviews import Attention, CommentThread, FeedbackError, Review
from symposium.mcp_server.latest import EVERY, Latest, ask_telling
from symposium.mcp_server.tool import Answer, Call

FEEDBACK_TIMEOUT: Final = 1800.0
"""Seconds to wait for a reviewer before the agent is told to ask again later."""

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


class ToldReview(Struct, frozen=True, omit_defaults=True):
    """What an agent is told of a review.

    Attributes:
        review_id: by which it is updated and asked for.
        status: who has it: no_reviewer, waiting or answered.
        decision: Pending, ChangesRequested, Checkpoint or Returned.
        notes: what came with the decision.
        feedback: what was said of this version, in order.
        threads: comments in the code with what people said to them.
        known: every review of the project, where none was named.
    """

    review_id: str
    title: str
    commit_range: str
    description: Any
    status: Attention
    decision: str = "Pending"
    notes: str | None = None
    feedback: Sequence[Any] = ()
    threads: Sequence[CommentThread] = ()
    known: Sequence[KnownReview] = ()


async def ask_for(review: Review, call: Call, *, is_new: bool) -> Answer:
    """Keep it, show it to a reviewer, and wait for what is said.

    Raises:
        ReviewStoreError: it cannot be kept.
    """
    desk, id_ = call.workplace.reviews, review.review_id
    desk.keep(review)
    with desk.listening(id_) as word:
        asking = _Asking(_request(review, is_new=is_new), call, word)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(asking.ask()), tasks.create_task(desk.watch(id_, word))]
            try:
                async with asyncio.timeout(FEEDBACK_TIMEOUT):
                    await word.wait()
            except TimeoutError:
                asking.reason = f"no feedback within {FEEDBACK_TIMEOUT:g} s"
            finally:
                for task in beside:
                    task.cancel()
    return told(desk.find(id_) or review, asking.reason)


@dataclass(slots=True)
class _Asking:
    """A reviewer is asked.

    Attributes:
        word: is set when there is nothing more to wait for.
        reason: why nobody has spoken.
    """

    request: CreateSyntheticPr | UpdateSyntheticPr
    call: Call
    word: asyncio.Event
    reason: str = ""

    async def ask(self) -> None:
        """Ask, take what is answered, and tell the client that we live until cancelled."""
        first = "Asking for a reviewer."
        try:
            reply = await ask_telling(self.request, self.call, first=first, limit=FEEDBACK_TIMEOUT)
            is_taken = self._take(reply)
        except BusError as error:
            self._end(error)
        except FeedbackError as error:
            self.reason = error.message
            self.word.set()
        else:
            if not is_taken:
                # It comes as `user_feedback`.
                await Latest("A reviewer received the request; waiting for feedback.").tell_on(
                    self.call.tell, every=EVERY
                )

    def _take(self, reply: Any) -> bool:
        """Whether a reply is what was said; else an id, or nothing, says that somebody has it."""
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


def told(review: Review, reason: str = "") -> Answer:
    """What an agent is told of a review; `reason` says why nobody has spoken."""
    text = f"Review {review.review_id}: {_WORDS[review.attention]}"
    if review.attention == "answered":
        value = msgspec.json.format(msgspec.json.encode(review.said)).decode()
        text = f"{text}\n{value}"
    elif reason:
        text = f"{text} ({reason})"
    threads = [
        each for each in review.comment_threads if each.responses or each.comment_type == "Comment"
    ]
    value = ToldReview(
        *(review.review_id, review.title, review.commit_range, review.description),
        *(review.attention, review.status, review.notes, review.said, threads),
    )
    return Answer(text, value)
