"""Reviews: marked comments, feedback, and storage."""

import fcntl
import json
import logging
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.git_repository import GitRepository

from symposium.documents.reviews import (
    Commented,
    Completed,
    FeedbackError,
    Review,
    ReviewFeedback,
    ReviewRequest,
    ReviewStore,
    ReviewStoreError,
    ReviewThread,
    make_review,
    marked,
    read_feedback,
    remake_review,
    threads_of_file,
    with_feedback,
)
from symposium.errors import NotFoundError

NOW, LATER = "2025-09-12T10:00:00Z", "2025-09-12T11:00:00Z"
REVIEW = Review(
    "r-1",
    "Title",
    {"any": ["thing"]},
    "HEAD~1..HEAD",
    "Pending",
    [],
    [ReviewThread("a.py:3", "a.py", 3, "Question", "why?")],
    NOW,
    NOW,
)


@pytest.mark.requirement("reviews.comments")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param(
            "    x(); // 💡 so that it holds",
            ("Explanation", "so that it holds"),
            marks=pytest.mark.requirement("reviews.c1"),
        ),
        pytest.param(
            "# ❓ is it so?", ("Question", "is it so?"), marks=pytest.mark.requirement("reviews.c2")
        ),
        pytest.param(
            "// TODO: later", ("Todo", "later"), marks=pytest.mark.requirement("reviews.c3")
        ),
        pytest.param("// an ordinary comment", None, marks=pytest.mark.requirement("reviews.c4")),
        pytest.param("TODO: no comment", None, marks=pytest.mark.requirement("reviews.c4")),
        pytest.param(
            "#FIXME: now", ("Fixme", "now"), marks=pytest.mark.requirement("reviews.comments")
        ),
        pytest.param(
            "<!-- TODO: x -->", ("Todo", "x"), marks=pytest.mark.requirement("reviews.comments")
        ),
        pytest.param(
            "# ❓ one # TODO: two",
            ("Question", "one # TODO: two"),
            marks=pytest.mark.requirement("reviews.comments"),
        ),
    ],
)
def test_a_marked_comment_is_known_by_its_mark(line: str, found: tuple[str, str] | None) -> None:
    assert marked(line) == found


@pytest.mark.requirement("reviews.comments")
def test_the_comments_of_a_whole_file_have_ids_of_their_own() -> None:
    ids = map(str, count(1))
    found = list(threads_of_file("a.py", ["# TODO: a", "x", "# ❓ b"], lambda: next(ids)))

    assert [(each.thread_id, each.line_number, each.content) for each in found] == [
        ("1", 1, "a"),
        ("2", 3, "b"),
    ]


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write("a.py", "1\n# 💡 near\n# TODO: leaves\n4\n5\n6\n7\n8\n9\n# ❓ far away\n")
    made.commit()
    made.write("a.py", "1\n# 💡 near\n4\n# FIXME: comes\n5\n6\n7\n8\n9\n# ❓ far away\n")
    made.write("new.rs", "// 💡 one\nfn x() {}\n// TODO: two\n")
    made.commit()
    return made


@pytest.mark.requirement("reviews.c5", "reviews.c6", "reviews.fixture")
async def test_a_review_holds_what_changed_and_what_was_noted_in_it(
    repository: GitRepository,
) -> None:
    request = ReviewRequest("HEAD~1..HEAD", "Title", "words")
    review = await make_review(repository.path, request, review_id="r-1", now=NOW)

    assert [
        (each.thread_id, each.comment_type, each.content) for each in review.comment_threads
    ] == [
        ("a.py:2", "Explanation", "near"),
        ("a.py:4", "Fixme", "comes"),
        ("new.rs:1", "Explanation", "one"),
        ("new.rs:3", "Todo", "two"),
    ]
    assert [each.path for each in review.files_changed] == ["a.py", "new.rs"]
    written: dict[str, Any] = json.loads(msgspec.json.encode(review))
    assert [*written] == [
        *("review_id", "title", "description", "commit_range", "status", "files_changed"),
        *("comment_threads", "created_at", "updated_at", "notes", "attention", "said"),
    ]
    assert [*written["comment_threads"][0]] == [
        *("thread_id", "file_path", "line_number", "comment_type", "content", "responses"),
    ]


@pytest.mark.requirement("reviews.update", "reviews.c5")
async def test_updated_review_keeps_replies(repository: GitRepository) -> None:
    request = ReviewRequest("HEAD~1", "Title", None)
    review = await make_review(repository.path, request, review_id="r-1", now=NOW)
    for path, line, text in (("a.py", 4, "no"), ("new.rs", 3, "when?"), ("a.py", 99, "hm")):
        review = with_feedback(review, Commented("r-1", path, line, text, ()), NOW)
    review = with_feedback(review, Completed("r-1", "request_changes", "fix it"), NOW)
    repository.write("new.rs", "// 💡 one\nfn x() {}\n")
    repository.write("a.py", "0\n1\n# 💡 near\n4\n# FIXME: comes\n5\n6\n7\n8\n9\n# ❓ far away\n")
    remade = await remake_review(repository.path, review, now=LATER)
    threads = {each.content: each for each in remade.review.comment_threads}

    assert (threads["comes"].line_number, threads["comes"].thread_id) == (5, "a.py:4")
    assert threads["comes"].responses == ["no"]
    assert threads["hm"].comment_type == "Comment"
    assert [each.content for each in remade.gone] == ["two"]
    assert (remade.review.status, remade.review.notes) == ("Pending", None)
    assert (remade.review.created_at, remade.review.updated_at) == (NOW, LATER)


@pytest.mark.requirement("reviews.feedback")
@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (
            {
                "feedback_type": "comment",
                "file_path": "a",
                "line_number": 3,
                "comment_text": "x",
                "context_lines": ["y"],
            },
            Commented("r", "a", 3, "x", ("y",)),
        ),
        ({"feedback_type": "comment"}, Commented("r", None, None, "", ())),
        ({"feedback_type": "comment", "comment_text": None}, Commented("r", None, None, "", ())),
        (
            {
                "feedback_type": "complete_review",
                "completion_action": "checkpoint",
                "additional_notes": "n",
            },
            Completed("r", "checkpoint", "n"),
        ),
        (
            {"feedback_type": "complete_review", "completion_action": "request_changes"},
            Completed("r", "request_changes", None),
        ),
        ({"feedback_type": "complete_review"}, Completed("r", "return", None)),
        (
            {"feedback_type": "complete_review", "completion_action": "cheer"},
            Completed("r", "return", None),
        ),
        ({"feedback_type": "sing", "additional_notes": "n"}, Completed("r", "return", "n")),
    ],
)
def test_a_payload_means_a_comment_or_the_end(
    payload: dict[str, Any], expected: Commented | Completed
) -> None:
    assert read_feedback({"review_id": "r", "unknown": 1, **payload}) == expected


VALUES = st.none() | st.text() | st.integers() | st.lists(st.text(), max_size=3)
MEMBERS = st.dictionaries(st.sampled_from(ReviewFeedback.__struct_fields__), VALUES)


@pytest.mark.requirement("reviews.feedback")
@given(MEMBERS | VALUES)
def test_any_other_payload_is_refused(payload: Any) -> None:
    try:
        found = read_feedback(payload)
    except FeedbackError:
        return
    assert found.review_id == payload["review_id"]


@pytest.mark.requirement("reviews.threads")
def test_a_comment_joins_its_thread_or_begins_one() -> None:
    once = with_feedback(REVIEW, Commented("r-1", "b.py", 7, "and here?", ("x", "y")), LATER)
    twice = with_feedback(once, Commented("r-1", "a.py", 3, "because", ()), LATER)
    thrice = with_feedback(twice, Commented("r-1", None, None, "done", ()), LATER)

    first = {"review_id": "r-1", "feedback_type": "comment"}
    assert thrice == msgspec.structs.replace(
        REVIEW,
        comment_threads=[
            ReviewThread("a.py:3", "a.py", 3, "Question", "why?", ["because"]),
            ReviewThread("b.py:7", "b.py", 7, "Comment", "and here?"),
            ReviewThread(":0", "", 0, "Comment", "done"),
        ],
        attention="answered",
        updated_at=LATER,
        said=[
            {
                **first,
                "file_path": "b.py",
                "line_number": 7,
                "comment_text": "and here?",
                "context_lines": ["x", "y"],
            },
            {**first, "file_path": "a.py", "line_number": 3, "comment_text": "because"},
            {**first, "comment_text": "done"},
        ],
    )
    assert REVIEW.comment_threads[0].responses == []


@pytest.mark.requirement("reviews.status")
@pytest.mark.parametrize(
    ("action", "status"),
    [("request_changes", "ChangesRequested"), ("checkpoint", "Checkpoint"), ("return", "Returned")],
)
def test_a_review_is_pending_until_it_is_completed(action: Any, status: str) -> None:
    after = with_feedback(REVIEW, Completed("r-1", action, "notes"), LATER)

    said = {"feedback_type": "complete_review", "completion_action": action}
    assert REVIEW.status == "Pending"
    assert after == msgspec.structs.replace(
        REVIEW,
        status=status,
        notes="notes",
        attention="answered",
        updated_at=LATER,
        said=[{"review_id": "r-1", **said, "additional_notes": "notes"}],
    )


@pytest.mark.requirement("reviews.store", "reviews.fixture")
def test_a_review_is_stored_listed_and_updated(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "kept")
    other = msgspec.structs.replace(REVIEW, review_id="r-2", updated_at=LATER)
    store.save(REVIEW)
    store.save(other)
    (tmp_path / "kept" / "half.json").write_bytes(b'{"review_id"')

    assert list(ReviewStore(tmp_path / "kept").newest()) == [other, REVIEW]
    assert store.take(Completed("r-1", "checkpoint", None), LATER) == store.load("r-1")
    assert store.load("r-1").status == "Checkpoint"
    half = tmp_path / "kept" / "half.json"
    with pytest.raises(ReviewStoreError) as caught:
        store.load("half")
    assert str(caught.value) == f"cannot read {half}: Input data was truncated; remove it"


@pytest.mark.requirement("reviews.store")
@pytest.mark.parametrize("review_id", ["../r-1", "", "a/b", ".hidden", "x" * 65, "a\0"])
def test_an_id_leads_nowhere_else(review_id: str, tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    (tmp_path / "r-1.json").write_bytes(msgspec.json.encode(REVIEW))

    with pytest.raises(NotFoundError) as unknown:
        store.load(review_id)
    assert str(unknown.value) == f"unknown review {review_id!r}"
    with pytest.raises(ReviewStoreError) as caught:
        store.save(msgspec.structs.replace(REVIEW, review_id=review_id))
    assert str(caught.value) == f"invalid review id {review_id!r}; use a UUID"
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ReviewStoreError) as caught:
        ReviewStore(tmp_path / "file").save(REVIEW)
    reason = f"cannot store a review in {tmp_path / 'file'}: File exists"
    assert str(caught.value) == f"{reason}; fix its permissions"


@pytest.mark.requirement("reviews.feedback-unknown")
def test_feedback_on_an_unknown_review_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert ReviewStore(tmp_path).take(Completed("gone", "return", None), NOW) is None
    assert "unknown review 'gone'" in caplog.text


@pytest.mark.requirement("reviews.store")
def test_review_is_locked_for_others_while_it_changes(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path)
    store.save(REVIEW)

    def changed(review: Review) -> Review:
        with (tmp_path / ".lock").open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return msgspec.structs.replace(review, title="Changed")

    assert store.change("r-1", changed).title == store.load("r-1").title == "Changed"
    assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o600
    (tmp_path / ".lock").unlink()
    (tmp_path / ".lock").mkdir()
    with pytest.raises(ReviewStoreError) as caught:
        store.change("r-1", changed)
    message = f"cannot change a review in {tmp_path}: Is a directory"
    assert (caught.value.message, caught.value.hint) == (message, "fix its permissions")
