"""Diffs as git writes them, read as values."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.git_repository import GitRepository

from symposium.code.diffs import FileChange, parse_diff

pytestmark = pytest.mark.requirement("reviews.diff-text")


def only(text: str) -> FileChange:
    (found,) = parse_diff(text)
    return found


def test_a_removed_line_may_look_like_a_header() -> None:
    found = only(
        "diff --git a/x.sql b/x.sql\n--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@ fn()\n"
        "--- a comment\n+++ b another\n context\n"
    )

    assert [line.content for line in found.hunks[0].lines] == [
        "-- a comment",
        "++ b another",
        "context",
    ]
    assert (found.additions, found.deletions, found.path) == (1, 1, "x.sql")
    assert found.hunks[0].header == "@@ -1,2 +1,2 @@ fn()"
    (hunk,) = found.hunks
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (1, 2, 1, 2)


def test_lines_end_as_the_file_ends_them_and_what_is_said_of_endings_is_no_line() -> None:
    found = only(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\fb\r\n"
        "\\ No newline at end of file\n+c \n\\ No newline at end of file\n"
    )

    assert [line.content for line in found.hunks[0].lines] == ["a\fb", "c "]


def test_odd_names_are_read_as_they_are() -> None:
    quoted = only(
        'diff --git "a/t\\tb\\303\\251\\"" "b/t\\tb\\303\\251\\""\nnew file mode 100644\n'
    )
    spaces = only("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n")

    assert (quoted.path, quoted.status) == ('t\tbé"', "Added")
    assert (spaces.path, spaces.status, spaces.hunks) == ("a b", "Modified", [])


def test_a_text_that_was_cut_off_says_so_of_its_last_file() -> None:
    first, last = parse_diff(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1,9 +1,9 @@\n a\n",
        is_cut=True,
    )

    assert (first.is_cut, last.is_cut) == (False, True)


@given(st.text() | st.text("diff --git a/b\n@-+ 123,\\\"'"))
def test_no_text_breaks_it(text: str) -> None:
    parse_diff("diff --git a/x b/x\n" + text)


LINES = st.lists(
    st.sampled_from(["", "a", "b", "-- x", "++ y", "@@ -1 +1 @@", "diff --git a/q b/q"]),
    max_size=12,
)


@settings(max_examples=15, deadline=None)
@given(LINES, LINES)
def test_what_git_tells_leads_from_the_old_file_to_the_new(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    pair = [folder / "old", folder / "new"]
    for path, lines in zip(pair, (old, new), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    repository = GitRepository(folder / "repo")
    repository.write("f", pair[0].read_text(encoding="utf-8"))
    repository.commit()
    repository.write("f", pair[1].read_text(encoding="utf-8"))
    found = parse_diff(repository.git("diff", "--unified=99"))

    told = [line for file in found for hunk in file.hunks for line in hunk.lines]
    if found:
        assert [line.content for line in told if line.line_type != "Added"] == old
        assert [line.content for line in told if line.line_type != "Removed"] == new
    else:
        assert old == new
    assert Path(repository.path).is_dir()
