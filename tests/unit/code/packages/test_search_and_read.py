"""Searching and reading a source: within bounds, and never outside of it."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symposium.code.packages.answers import (
    MAX_LINES,
    MAX_MATCHES,
    MAX_PATTERN,
    MAX_SHOWN,
    SourceExcerpt,
    SourceListing,
    check_pattern,
    read_source,
    search_source,
)
from symposium.code.packages.model import (
    Ecosystem,
    PackageError,
    PatternError,
    Source,
    SourceLocation,
)
from symposium.errors import NotFoundError, SymposiumError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "package"
    for path, text in {
        "src/lib.rs": "one\ntwo\nneedle 1\nfour\nfive\nsix\nneedle 2",
        "examples/deep/a.rs": "needle 3\n",
        "src/note.md": "needle 4\n",
        "target/x.rs": "needle 5\n",
        ".hidden/x.rs": "needle 6\n",
        "src/.hidden.rs": "needle 8\n",
    }.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    (tmp_path / "secret").write_text("needle 7\n")
    (place / "src" / "link.rs").symlink_to(tmp_path / "secret")
    (place / "away").symlink_to(tmp_path)
    os.mkfifo(place / "src" / "pipe.rs")
    return place


def source(root: Path, *parts: str) -> Source:
    return Source(Ecosystem.RUST, "a", SourceLocation("1.0.0", root, "cache", parts), "")


@pytest.mark.requirement("package-sources.search")
async def test_matches_have_two_lines_of_context_and_examples_are_separate(root: Path) -> None:
    found = await search_source(source(root), "needle (?P<n>[0-9])", (".rs",))
    assert [(each.file_path, each.line_number) for each in found.example_matches] == [
        ("examples/deep/a.rs", 1)
    ]
    assert [(each.file_path, each.line_number) for each in found.other_matches] == [
        ("src/lib.rs", 3),
        ("src/lib.rs", 7),
    ]
    first, last = found.other_matches
    assert (first.context_start_line, first.context_end_line) == (1, 5)
    assert first.context == "one\ntwo\nneedle 1\nfour\nfive"
    assert (last.context_start_line, last.context_end_line) == (5, 7)
    assert not found.is_cut


@pytest.mark.requirement("package-sources.search", "package-sources.read-stays-inside")
async def test_only_the_parts_of_the_package_are_searched(root: Path) -> None:
    (root / "other").mkdir()
    (root / "other" / "b.rs").write_text("needle")
    found = await search_source(source(root, "src", "examples"), "needle")
    paths = {each.file_path for each in (*found.other_matches, *found.example_matches)}
    assert paths == {"src/lib.rs", "src/note.md", "examples/deep/a.rs"}


@pytest.mark.requirement("package-sources.search-is-bounded")
async def test_too_many_matches_are_cut_and_it_says_so(root: Path) -> None:
    (root / "many.rs").write_text("needle\n" * 500)
    (root / "long.rs").write_text("x" * 100_000 + "needle\n")
    found = await search_source(source(root), "needle", (".rs",))
    assert found.is_cut
    assert len(found.other_matches) == MAX_MATCHES
    assert max(len(each.context) for each in found.other_matches) < 3000


@pytest.mark.requirement("package-sources.search-is-bounded")
async def test_endless_pattern_is_stopped_and_delays_nothing(
    root: Path,
) -> None:
    (root / "trap.rs").write_text("a" * 200 + "!\n")

    async def trapped() -> None:
        with pytest.raises(PatternError, match="was stopped"):
            await search_source(source(root), "(a+)+$", seconds=1)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(trapped())
        assert (await search_source(source(root), "needle")).other_matches
        assert not task.done()


@pytest.mark.requirement("package-sources.bad-pattern")
@pytest.mark.parametrize("pattern", ["(", "[z-a]", "x" * 5000, "a{1,99999999999}"])
async def test_invalid_pattern_is_an_error(root: Path, pattern: str) -> None:
    with pytest.raises(PatternError, match="Invalid regex pattern"):
        await search_source(source(root), pattern)


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_lines_of_a_file_count_from_one(root: Path) -> None:
    assert read_source(source(root), "src/lib.rs", 2, 3) == SourceExcerpt(
        "src/lib.rs", 2, 3, 7, "two\nneedle 1"
    )
    assert read_source(source(root), "src/lib.rs", 0, 1) == SourceExcerpt(
        "src/lib.rs", 1, 1, 7, "one"
    )
    whole = read_source(source(root), "./src/../src/lib.rs")
    assert isinstance(whole, SourceExcerpt)
    assert (whole.start_line, whole.end_line, whole.total_lines) == (1, 7, 7)
    assert not whole.is_cut


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_a_file_that_is_too_long_is_cut_and_it_says_so(root: Path) -> None:
    (root / "long.rs").write_text("x\n" * 5000)
    (root / "wide.rs").write_text("y" * 500_000)
    for name in ("long.rs", "wide.rs"):
        shown = read_source(source(root), name)
        assert isinstance(shown, SourceExcerpt)
        assert shown.is_cut
        assert len(shown.text) <= 64 * 1024


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_a_directory_is_listed(root: Path) -> None:
    shown = read_source(source(root, "src"), ".")
    assert shown == SourceListing(".", ["src/"])


@pytest.mark.requirement("package-sources.read-stays-inside")
@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "src/link.rs", "away/secret", "away", "src/../../secret", ".."],
)
def test_files_outside_are_not_read(root: Path, path: str) -> None:
    with pytest.raises(PackageError, match="outside"):
        read_source(source(root), path)


@pytest.mark.requirement("package-sources.read-stays-inside")
@pytest.mark.parametrize("path", ["nothing", "src/pipe.rs", "src/lib.rs/x", "a\0b", "x" * 5000])
def test_file_that_is_not_text_is_an_error(root: Path, path: str) -> None:
    with pytest.raises(NotFoundError):
        read_source(source(root), path)


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_binary_file_is_named_with_its_package(root: Path) -> None:
    (root / "binary").write_bytes(b"x" * 4095 + b"\0")
    with pytest.raises(NotFoundError, match=r"^binary is not a text file in a 1\.0\.0$"):
        read_source(source(root), "binary")


@pytest.mark.requirement("package-sources.read-stays-inside")
@pytest.mark.parametrize("parts", [(), ("src",), ("src/lib.rs",)])
def test_error_names_the_file_that_is_missing(root: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(NotFoundError, match=r"a 1.0.0 has no file 'src/gone'; read `\.` to list"):
        read_source(source(root, *parts), "src/gone")


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_a_directory_shows_only_what_leads_to_the_parts(root: Path) -> None:
    assert read_source(source(root, "src/lib.rs"), "src") == SourceListing("src", ["lib.rs"])
    assert read_source(source(root, "examples"), "examples/deep") == SourceListing(
        "examples/deep", ["a.rs"]
    )


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_neighboring_package_is_not_read(root: Path) -> None:
    with pytest.raises(NotFoundError):
        read_source(source(root, "examples"), "src/lib.rs")


@pytest.mark.requirement("package-sources.read-stays-inside")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "src", "away", "secret", "/", "link.rs", "\0"])))
def test_no_path_leads_out(root: Path, parts: list[str]) -> None:
    try:
        shown = read_source(source(root), "/".join(parts))
    except SymposiumError:
        return
    assert "needle 7" not in getattr(shown, "text", "")
    assert "secret" not in getattr(shown, "entries", [])


@pytest.mark.requirement("package-sources.search")
def test_pattern_of_maximum_length_is_accepted_and_a_longer_one_is_refused() -> None:
    check_pattern("x" * MAX_PATTERN)
    with pytest.raises(PatternError, match="longer than 2000 characters"):
        check_pattern("x" * (MAX_PATTERN + 1))


@pytest.mark.requirement("package-sources.read-stays-inside")
def test_a_text_of_exactly_the_limit_is_shown_whole(root: Path) -> None:
    (root / "fits.rs").write_text("x" * MAX_SHOWN)
    (root / "over.rs").write_text("x" * (MAX_SHOWN + 1))
    (root / "lines.rs").write_text("x\n" * MAX_LINES)
    (root / "more.rs").write_text("x\n" * (MAX_LINES + 1))
    names = ("fits.rs", "over.rs", "lines.rs", "more.rs")
    shown = [read_source(source(root), name) for name in names]

    assert [each.is_cut for each in shown] == [False, True, False, True]


@pytest.mark.requirement("package-sources.read-stays-inside")
@pytest.mark.parametrize(("count", "is_cut"), [(100, False), (101, True)])
def test_the_first_hundred_entries_of_a_directory_are_listed(
    root: Path, count: int, *, is_cut: bool
) -> None:
    (root / "many").mkdir()
    for number in range(count):
        (root / "many" / f"{number:03}").touch()
    listing = read_source(source(root), "many")

    assert isinstance(listing, SourceListing)
    assert (len(listing.entries), listing.is_cut) == (100, is_cut)


@pytest.mark.requirement("package-sources.search")
async def test_a_file_of_the_largest_size_is_searched_and_no_larger_one(root: Path) -> None:
    for name, size in (("fits.rs", 4 * 1024 * 1024), ("over.rs", 4 * 1024 * 1024 + 1)):
        (root / name).write_bytes(b"rare\n".rjust(size, b"\n"))

    found = await search_source(source(root), "rare")

    assert [each.file_path for each in found.other_matches] == ["fits.rs"]
