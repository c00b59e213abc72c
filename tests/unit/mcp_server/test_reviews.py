"""Reviews are stored and shown to their handlers; feedback of users arrives."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.git_repository import GitRepository
from tests.support.mcp_harness import FakeBus, ProgressRecorder, call_tool, workplace_in

from symposium.bus.envelope import Sender
from symposium.bus.errors import BusLostError, BusRefusedError
from symposium.bus.handlers import RequestContext
from symposium.bus.messages.editor import UserFeedback
from symposium.bus.protocol import Ack
from symposium.errors import NotFoundError
from symposium.mcp_server import review_inbox
from symposium.mcp_server.review_inbox import PendingReviews
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.tools import reviews

ASKED = {"commit_range": "HEAD~1..HEAD", "title": "Two", "description": "why"}


def ignore_progress(message: str, done: float | None, total: float | None) -> None:
    del message, done, total


BY = RequestContext("1", Sender("/"), "c1", ignore_progress)


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def workplace(tmp_path: Path, bus: FakeBus) -> ServerContext:
    (tmp_path / "checkout").mkdir()
    repository = GitRepository(tmp_path / "checkout")
    repository.write("app.py", "one\n")
    repository.commit()
    repository.write("app.py", "# ❓ right?\ntwo\n")
    repository.commit()
    return workplace_in(tmp_path, bus)


def again(tmp_path: Path, bus: FakeBus) -> ServerContext:
    """The context of a server that starts later in the same workspace."""
    return workplace_in(tmp_path, bus)


class Reviewer:
    """A handler of reviews that records what it gets."""

    def __init__(self, bus: FakeBus, reply: Any) -> None:
        self.seen: list[Any] = []
        self.came = asyncio.Event()
        self.reply = reply
        bus.answers["create_synthetic_pr"] = bus.answers["update_synthetic_pr"] = self.take

    async def take(self, message: Any, news: Any) -> Any:
        """Take one."""
        del news
        self.seen.append(message)
        self.came.set()
        if self.reply is ...:
            await asyncio.Event().wait()
        return self.reply

    async def next(self) -> Any:
        """The first request."""
        await self.came.wait()
        return self.seen[0]


def comment(review_id: str, text: str = "why two?") -> UserFeedback:
    return UserFeedback(
        review_id=review_id,
        feedback_type="comment",
        file_path="app.py",
        line_number=1,
        comment_text=text,
    )


@pytest.mark.requirement("mcp-server.reviews-arrive")
@pytest.mark.parametrize("reply", ["an-id", None, {"review_id": "x"}, ...])
async def test_feedback_of_the_user_ends_the_wait_of_the_tool(
    workplace: ServerContext, bus: FakeBus, reply: Any
) -> None:
    """The reviewer answers with an id, with null, or not at all."""
    reviewer, progress = Reviewer(bus, reply), ProgressRecorder()
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(call_tool(workplace, "request_review", ASKED, progress))
        shown = await reviewer.next()
        await progress.came.wait()
        assert await workplace.reviews.receive(comment(shown.review_id), BY) == Ack()
    answer = asking.result()

    assert [each.content for each in shown.comment_threads] == ["right?"]
    assert answer.value.status == "answered"
    assert "why two?" in answer.text
    assert [each.responses for each in answer.value.threads] == [["why two?"]]


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_feedback_received_by_another_server_ends_the_wait(
    workplace: ServerContext, bus: FakeBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bus chooses one server, maybe of another project."""
    monkeypatch.setattr(review_inbox, "LOOK_EVERY", 0.01)
    reviewer = Reviewer(bus, "an-id")
    other = PendingReviews(tmp_path / "home" / "reviews" / "other")
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(call_tool(workplace, "request_review", ASKED))
        shown = await reviewer.next()
        await other.receive(comment(shown.review_id), BY)

    assert "why two?" in asking.result().text


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_the_tool_that_waits_last_for_a_review_is_woken(
    workplace: ServerContext,
) -> None:
    asked = (await call_tool(workplace, "request_review", ASKED)).value
    inbox = workplace.reviews
    with ExitStack() as late:
        with inbox.listening(asked.review_id) as first:
            second = late.enter_context(inbox.listening(asked.review_id))
        inbox.take(msgspec.to_builtins(comment(asked.review_id)))
    inbox.take(msgspec.to_builtins(comment(asked.review_id)))

    assert [each.is_set() for each in (first, second)] == [False, True]


@pytest.mark.requirement("mcp-server.reviews-kept")
async def test_reviews_persist_after_a_restart_and_are_listed(
    workplace: ServerContext, bus: FakeBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await call_tool(workplace, "request_review", ASKED)
    second = await call_tool(workplace, "request_review", {**ASKED, "title": "Other"})
    later = again(tmp_path, bus)
    await later.reviews.receive(comment(first.value.review_id), BY)
    listed = await call_tool(later, "get_review_status", {})
    one = await call_tool(later, "get_review_status", {"review_id": first.value.review_id})
    newest = later.reviews.find(None)

    assert newest is not None
    assert newest.review_id == first.value.review_id, "changed last"
    assert (first.value.status, second.value.status) == ("no_reviewer", "no_reviewer")
    assert [(each.title, each.status) for each in listed.value.known] == [
        ("Two", "answered"),
        ("Other", "no_reviewer"),
    ]
    shown, _, rows = listed.text.partition("\n\nAll reviews of this project, latest first:\n")
    assert shown == one.text
    assert rows.splitlines() == [
        f"- {first.value.review_id}: Two: answered, {one.value.decision}",
        f"- {second.value.review_id}: Other: no_reviewer, Pending",
    ]
    assert listed.value.review_id == first.value.review_id
    assert one.value.feedback[0]["comment_text"] == "why two?"
    monkeypatch.setattr(reviews, "MAX_REVIEWS", 1)
    latest = await call_tool(later, "get_review_status", {})
    assert latest.value.known == listed.value.known[:1]


@pytest.mark.requirement("mcp-server.reviews-kept")
async def test_update_shows_the_new_code_and_keeps_the_feedback(
    workplace: ServerContext, bus: FakeBus, tmp_path: Path
) -> None:
    asked = await call_tool(workplace, "request_review", ASKED)
    id_ = asked.value.review_id
    await workplace.reviews.receive(comment(id_), BY)
    done = UserFeedback(
        review_id=id_,
        feedback_type="complete_review",
        completion_action="request_changes",
        additional_notes="fix",
    )
    await workplace.reviews.receive(done, BY)
    between = await call_tool(workplace, "get_review_status", {"review_id": id_})
    (tmp_path / "checkout" / "app.py").write_text("three\n", encoding="utf-8")
    reviewer = Reviewer(bus, {"feedback_type": "complete_review", "completion_action": "return"})
    updated = await call_tool(workplace, "update_review", {"commit_range": "HEAD~1"})
    (shown,) = reviewer.seen

    assert (between.value.decision, between.value.notes) == ("ChangesRequested", "fix")
    assert (shown.review_id, shown.status) == (id_, "Pending")
    assert shown.files_changed[0].hunks[0]["lines"][-1]["content"] == "three"
    assert (updated.value.decision, len(updated.value.feedback)) == ("Returned", 1)
    assert "whose lines no longer exist: app.py:1" in updated.text


@pytest.mark.requirement("mcp-server.reviews-arrive")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BusLostError("the daemon is gone", ""), "waiting"),
        (BusRefusedError("late", "timeout"), "waiting"),
        (BusRefusedError("no handler", "no_handler"), "no_reviewer"),
    ],
)
async def test_status_of_the_request_is_returned_and_stored(
    workplace: ServerContext, bus: FakeBus, error: Exception, status: str
) -> None:
    bus.answer("create_synthetic_pr", error)
    answer = await call_tool(workplace, "request_review", ASKED)
    after = await call_tool(workplace, "get_review_status", {})

    assert (answer.value.status, after.value.status) == (status, status)
    assert str(error.args[0]).split(";")[0] in answer.text


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_wait_ends_after_the_stated_time(
    workplace: ServerContext, bus: FakeBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "FEEDBACK_TIMEOUT", 0.05)
    Reviewer(bus, "an-id")
    answer = await call_tool(workplace, "request_review", ASKED)

    assert answer.value.status == "waiting"
    assert "no feedback within 0.05 s" in answer.text


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_feedback_in_the_answer_of_the_reviewer_ends_the_wait(
    workplace: ServerContext, bus: FakeBus
) -> None:
    progress = ProgressRecorder()

    async def comments(message: Any, news: Any) -> Any:
        del message, news
        await progress.came.wait()
        return {"feedback_type": "comment", "comment_text": "why two?"}

    bus.answers["create_synthetic_pr"] = comments
    answer = await call_tool(workplace, "request_review", ASKED, progress)

    assert answer.value.status == "answered"
    assert progress.lines == ["Asking for a reviewer."]
    assert bus.timeouts == [reviews.FEEDBACK_TIMEOUT]


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_invalid_feedback_is_reported(workplace: ServerContext, bus: FakeBus) -> None:
    bus.answer("create_synthetic_pr", {"feedback_type": "comment", "line_number": "x"})
    answer = await call_tool(workplace, "request_review", ASKED)

    assert answer.value.status == "waiting"
    assert "malformed feedback" in answer.text


@pytest.mark.requirement("mcp-server.reviews-arrive")
@pytest.mark.parametrize("id_", ["gone", "../here/x", ""])
async def test_feedback_on_an_unknown_review_is_refused(workplace: ServerContext, id_: str) -> None:
    with pytest.raises(BusRefusedError, match=r"^review .* does not exist"):
        await workplace.reviews.receive(comment(id_), BY)


@pytest.mark.requirement("mcp-server.reviews-kept")
async def test_review_that_cannot_be_stored_is_not_requested(
    workplace: ServerContext, bus: FakeBus, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "reviews").write_text("in the way", encoding="utf-8")
    answer = await call_tool(workplace, "request_review", ASKED)

    assert answer.is_error
    assert "cannot store a review" in answer.text
    assert bus.asked == []


@pytest.mark.requirement("reviews.removed")
async def test_removed_review_is_not_answered(tmp_path: Path) -> None:
    word = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(PendingReviews(tmp_path / "reviews").watch("gone", word))
        await asyncio.sleep(0)
        watching.cancel()

    assert not word.is_set()


@pytest.mark.requirement("reviews.removed")
def test_error_of_an_unknown_review_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as unknown:
        PendingReviews(tmp_path / "reviews").find("gone")

    assert "reviews: none" in unknown.value.hint
