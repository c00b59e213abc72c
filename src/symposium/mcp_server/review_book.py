"""The reviews that one server has asked for, and what was said, while it runs."""

from collections import OrderedDict
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from symposium.errors import NotFoundError

MOST: Final = 50
"""Reviews that are remembered; the oldest is forgotten first."""

Status: TypeAlias = Literal["no_reviewer", "waiting", "answered"]


class Review(Struct, omit_defaults=True):
    """One review.

    Attributes:
        review_id: by which it is updated and asked for.
        status: no_reviewer, waiting or answered.
        feedback: what was said, as it came.
    """

    review_id: str
    title: str
    commit_range: str
    description: str
    status: Status = "waiting"
    feedback: Any = None


class ReviewBook:
    """The reviews that this server has asked for."""

    def __init__(self) -> None:
        self._reviews: OrderedDict[str, Review] = OrderedDict()

    def put(self, review: Review) -> None:
        """Remember one, as the newest."""
        self._reviews[review.review_id] = review
        self._reviews.move_to_end(review.review_id)
        while len(self._reviews) > MOST:
            self._reviews.popitem(last=False)

    def find(self, review_id: str | None) -> Review | None:
        """One by its id, by default the newest; None if there is none.

        Raises:
            NotFoundError: there is none of this id.
        """
        if review_id is None:
            return next(reversed(self._reviews.values()), None)
        if review_id not in self._reviews:
            known = ", ".join(self._reviews) or "none has been requested"
            raise NotFoundError(f"there is no review {review_id!r}", f"known: {known}")
        return self._reviews[review_id]
