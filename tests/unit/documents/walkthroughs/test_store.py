"""Storage of walkthroughs: versions, lists, and changed sections."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.documents.walkthroughs import store as storing
from symposium.documents.walkthroughs.document import WalkthroughError
from symposium.documents.walkthroughs.grammar import MAX_CHARACTERS
from symposium.documents.walkthroughs.sections import appended, headings, title_of, with_section
from symposium.documents.walkthroughs.store import (
    Draft,
    StoredWalkthrough,
    WalkthroughStore,
    project_folder,
)
from symposium.errors import NotFoundError


@pytest.fixture
def store(tmp_path: Path) -> WalkthroughStore:
    return WalkthroughStore(tmp_path / "kept")


@pytest.mark.requirement("walkthroughs.store")
def test_stored_walkthrough_is_available_to_other_stores(
    store: WalkthroughStore, tmp_path: Path
) -> None:
    first = store.save(Draft("# One\n\n100% “é”\n", "/base"))
    second = store.save(Draft("no heading here", "/base"))
    later = WalkthroughStore(tmp_path / "kept")

    assert [each.title for each in later.newest()] == ["no heading here", "One"]
    assert later.load() == second
    assert later.load(first.id) == first
    assert (first.version, first.base_uri, first.mode) == (1, "/base", "replace")


@pytest.mark.requirement("walkthroughs.store")
def test_half_a_character_is_stored_as_a_question_mark(store: WalkthroughStore) -> None:
    known = store.save(Draft("# A\n\n\ud800b\n", "/base"))

    assert store.load(known.id).markdown == "# A\n\n?b\n"


@pytest.mark.requirement("walkthroughs.versions")
def test_every_version_stays(store: WalkthroughStore) -> None:
    first = store.save(Draft("# A\n\none\n", "/base"))
    second = store.save(Draft("# B\n", "/base", id=first.id))
    third = store.save(Draft("## More\n\nx", "/base", mode="append"))

    assert [each.id for each in store.newest()] == [first.id]
    assert store.versions(first.id) == [1, 2, 3]
    assert store.load(first.id, 1).markdown == "# A\n\none\n"
    assert store.load(first.id, 2) == second
    assert store.load(first.id).markdown == third.markdown == "# B\n\n## More\n\nx\n"


@pytest.mark.requirement("walkthroughs.modes")
def test_a_section_is_replaced_under_its_heading(store: WalkthroughStore) -> None:
    store.save(Draft("# T\n\n## A\n\nold\n\n### deep\n\nx\n\n## B\n\nkept\n", "/base"))
    stored = store.save(Draft("new", "/base", mode="update-section", section="A"))

    assert stored.markdown == "# T\n\n## A\n\nnew\n\n## B\n\nkept\n"
    for section, said in (
        ("C", "no section 'C'; use one of its headings: 'T', 'A', 'B'"),
        (None, "^update-section needs a section; give a heading$"),
    ):
        with pytest.raises(WalkthroughError, match=said):
            store.save(Draft("x", "/base", mode="update-section", section=section))
    assert store.versions(stored.id) == [1, 2]


@pytest.mark.requirement("walkthroughs.modes")
def test_sections_are_those_a_reader_sees() -> None:
    text = "Intro\n\nT\n===\n\n```text\n# A\n```\n\n> # A\n\n## `A` ##\nold\n\n# End\n"

    assert [(each.text, each.depth) for each in headings(text)] == [("T", 1), ("A", 2), ("End", 1)]
    assert with_section(text, "## A", "## A2\n\nnew") == text.replace(
        "## `A` ##\nold", "## A2\n\nnew"
    )
    with pytest.raises(WalkthroughError) as caught:
        with_section("# A\n\n# A\n", "A", "x")
    assert caught.value.message == "the walkthrough has 2 sections 'A'"
    assert caught.value.hint == "send the complete text with mode replace"


@pytest.mark.requirement("walkthroughs.modes")
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A *b* `c`\n", "A *b* c"),
        ("\n\nfirst\nsecond", "first"),
        ("", "Walkthrough"),
        ("x" * 500, "x" * 120),
    ],
)
def test_a_title_is_the_first_heading_or_the_first_words(text: str, title: str) -> None:
    assert title_of(text) == title
    assert appended("", "x") == "x"


@pytest.mark.requirement("walkthroughs.modes")
@given(st.text("ab#\n `>-"), st.text("ab#\n `>-"))
def test_a_replaced_section_leaves_the_others(before: str, after: str) -> None:
    text = f"# One\n\n{before}\n\n# Two\n\n{after}\n"
    known = [each.text for each in headings(text)]
    if known.count("One") == known.count("Two") == 1:
        found = with_section(text, "One", "new")
        assert found.startswith("# One\n\nnew\n\n#")
        assert found.endswith(f"# Two\n\n{after}".rstrip("\n").rstrip() + "\n") or not after.strip()


@pytest.mark.requirement("walkthroughs.store-errors")
def test_missing_walkthrough_is_an_error(store: WalkthroughStore, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no walkthrough is stored here"):
        store.load()
    with pytest.raises(NotFoundError, match="no walkthrough is stored here"):
        store.save(Draft("x", "/base", mode="append"))
    known = store.save(Draft("x", "/base"))
    kept = tmp_path / "kept" / known.id
    shutil.copytree(kept, tmp_path / "out")
    for wanted in ("gone", "../out", "", "A" * 99):
        with pytest.raises(NotFoundError) as caught:
            store.load(wanted)
        shown = "symposium walkthrough list shows all"
        assert str(caught.value) == f"unknown walkthrough {wanted!r}; {shown}"
    with pytest.raises(NotFoundError, match="has no version 9; it has 1 to 1"):
        store.load(known.id, 9)
    message = f"would have {MAX_CHARACTERS + 4} characters; at most {MAX_CHARACTERS} are allowed"
    with pytest.raises(WalkthroughError, match=message):
        store.save(Draft("x" * MAX_CHARACTERS, "/base", mode="append"))


@pytest.mark.requirement("walkthroughs.store-crash")
def test_half_a_version_hides_none_before_it(store: WalkthroughStore, tmp_path: Path) -> None:
    first = store.save(Draft("# A\n", "/base"))
    folder = tmp_path / "kept" / first.id
    (folder / "000002.json").write_bytes(b'{"id": "x", "ver')
    (folder / ".half").write_bytes(b"{")

    assert [each.version for each in store.newest()] == [1]
    with pytest.raises(
        WalkthroughError, match=r"^cannot read .*000002\.json: Input data was truncated; remove it$"
    ):
        store.load(first.id)
    assert store.save(Draft("# New\n", "/base")).id != first.id


@pytest.mark.requirement("walkthroughs.store-crash")
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file", encoding="utf-8")

    with pytest.raises(WalkthroughError) as caught:
        WalkthroughStore(tmp_path / "kept").save(Draft("x", "/base"))
    message = f"cannot store the walkthrough in {tmp_path / 'kept'}: Not a directory"
    assert (caught.value.message, caught.value.hint) == (message, "fix its permissions")


class OfOldVersions(WalkthroughStore):
    """A store whose every change is overtaken by another writer."""

    def load(
        self, walkthrough_id: str | None = None, version: int | None = None
    ) -> StoredWalkthrough:
        return super().load(walkthrough_id, version or 1)


@pytest.mark.requirement("walkthroughs.store-races")
def test_change_that_is_always_overtaken_fails_and_leaves_the_versions(tmp_path: Path) -> None:
    first = WalkthroughStore(tmp_path).save(Draft("# All\n", "/base"))
    WalkthroughStore(tmp_path).save(Draft("two", "/base", "append", first.id))
    with pytest.raises(WalkthroughError) as caught:
        OfOldVersions(tmp_path).save(Draft("lost", "/base", "append", first.id))

    message = f"the walkthrough {first.id} keeps changing"
    assert (caught.value.message, caught.value.hint) == (message, "try again")
    assert sorted(each.name for each in (tmp_path / first.id).iterdir()) == [
        "000001.json",
        "000002.json",
    ]
    assert "lost" not in WalkthroughStore(tmp_path).load(first.id).markdown


@pytest.mark.requirement("walkthroughs.store-races")
def test_nothing_is_lost_when_many_append_at_once(tmp_path: Path) -> None:
    first = WalkthroughStore(tmp_path).save(Draft("# All\n", "/base"))

    def add(number: int) -> None:
        WalkthroughStore(tmp_path).save(Draft(f"line {number}", "/base", "append", first.id))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(24)))
    text = WalkthroughStore(tmp_path).load(first.id).markdown

    assert sorted(int(line[5:]) for line in text.split("\n") if line.startswith("line")) == [
        *range(24)
    ]
    assert not list((tmp_path / first.id).glob(".*"))


@pytest.mark.requirement("walkthroughs.versions")
def test_the_oldest_versions_go_first(
    store: WalkthroughStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MAX_VERSIONS", 3)
    for number in range(5):
        store.save(Draft(f"{number}", "/base", "append" if number else "replace"))
    known = next(store.newest())

    assert store.versions(known.id) == [3, 4, 5]


@pytest.mark.requirement("walkthroughs.project")
def test_a_project_is_the_top_of_its_worktree(tmp_path: Path) -> None:
    (tmp_path / "My Project" / ".git").mkdir(parents=True)
    (tmp_path / "My Project" / "deep").mkdir()
    (tmp_path / "other").mkdir()
    home = tmp_path / "home"
    top, deep, other = [
        project_folder(home, tmp_path / name) for name in ("My Project", "My Project/deep", "other")
    ]

    assert top == deep != other
    assert top.parent == home / "walkthroughs"
    assert top.name.startswith("my-project-")


@pytest.mark.requirement("walkthroughs.bounded")
def test_title_is_limited_to_120_characters() -> None:
    assert title_of(f"# {'x' * 120}") == "x" * 120
    assert title_of(f"# {'x' * 121}") == "x" * 120


@pytest.mark.requirement("walkthroughs.bounded")
def test_an_append_up_to_the_limit_is_stored_and_beyond_it_nothing_is_changed(
    store: WalkthroughStore,
) -> None:
    first = store.save(Draft("a", "/base"))
    rest = "b" * (MAX_CHARACTERS - len("a\n\n\n"))
    with pytest.raises(WalkthroughError, match="make a new one"):
        store.save(Draft(rest + "b", "/base", mode="append"))

    assert store.versions(first.id) == [1]
    assert len(store.save(Draft(rest, "/base", mode="append")).markdown) == MAX_CHARACTERS


@pytest.mark.requirement("walkthroughs.bounded")
def test_the_newest_walkthroughs_are_listed_up_to_the_limit(
    store: WalkthroughStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MAX_WALKTHROUGHS", 2)
    for name in ("one", "two", "three"):
        store.save(Draft(name, "/base"))

    assert [each.title for each in store.newest()] == ["three", "two"]
