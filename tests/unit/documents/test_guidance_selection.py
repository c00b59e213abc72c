"""Selection of guidance, and its amount in a session."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.documents.first_prompt import (
    MAX_ENTRIES,
    BootPrompts,
    GuidanceWorkspace,
    TaskContext,
    applicable,
    fit,
    summary_of,
)
from symposium.documents.guidance import GuidanceText, library_for


def text(applies_to: str = "", body: str = "Body.", id_: str = "a.md") -> GuidanceText:
    head = f'---\napplies_to: "{applies_to}"\n---\n' if applies_to else ""
    return GuidanceText(id_, head + body, "user")


@pytest.mark.requirement("guidance.applies-to")
@pytest.mark.parametrize(
    ("applies_to", "words", "is_chosen"),
    [
        ("", "", True),
        ("file:pyproject.toml", "", True),
        ("file:*.toml", "", True),
        ("file:Cargo.toml", "", False),
        ("file:Cargo.toml, file:pyproject.toml", "", True),
        ("file:src/*.py", "", True),
        ("file:main.py", "", True),
        ("file:src/deep/below/here/far.py", "", False),
        ("file:hidden.txt", "", False),
        ("word:test", "Fix the flaky Tests", True),
        ("word:test", "the latest news", False),
        ("word:clean up", "Clean up the code", True),
        ("word:test", "", False),
        ("word:fix, word:test", "Test it", True),
        ("word:fix, word:test", "Write it", False),
        ("file:Cargo.toml, file:pyproject.toml", "x", True),
        ("file:pyproject.toml, word:test", "a test", True),
        ("file:pyproject.toml, word:test", "a feature", False),
        ("file:Cargo.toml, word:test", "a test", False),
        ("file:", "", True),
    ],
)
def test_a_text_applies_by_files_and_by_words(
    applies_to: str, words: str, *, is_chosen: bool, tmp_path: Path
) -> None:
    for name in ("pyproject.toml", "src/main.py", "src/deep/below/here/far.py", ".git/hidden.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")

    found = applicable([text(applies_to)], GuidanceWorkspace(tmp_path), words)

    assert bool(found) is is_chosen


@pytest.mark.requirement("guidance.applies-to")
def test_a_workspace_is_looked_at_only_when_a_text_asks_for_files(tmp_path: Path) -> None:
    workspace = GuidanceWorkspace(tmp_path / "missing")

    assert applicable([text(), text("word:x")], workspace, "x y")
    assert not applicable([text("file:x")], workspace, "")


@pytest.mark.requirement("guidance.applies-to")
def test_a_large_workspace_is_looked_at_up_to_a_bound(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 10):
        (tmp_path / f"{number:05}").touch()

    assert GuidanceWorkspace(tmp_path).has(f"{MAX_ENTRIES - 1:05}")
    assert not GuidanceWorkspace(tmp_path).has(f"{MAX_ENTRIES + 5:05}")


@pytest.mark.requirement("guidance.applies-to")
def test_an_unknown_condition_is_reported_and_hides_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "guidance"
    folder.mkdir()
    (folder / "odd.md").write_text('---\napplies_to: "lang:python"\n---\nx', encoding="utf-8")
    shelf = library_for(tmp_path, {"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path)}).shelf()

    assert any("unknown condition 'lang:python'" in each for each in shelf.problems)
    assert shelf.get("odd.md") in applicable(shelf.listed, GuidanceWorkspace(tmp_path), "")


@pytest.mark.requirement("guidance.applies-to", "guidance.boot-directives")
def test_the_first_prompt_has_the_texts_for_the_task_and_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "package.json").touch()
    boot = BootPrompts(library_for(tmp_path, {"HOME": str(tmp_path)}))
    fixing, plain = TaskContext(initial_prompt="Fix it."), TaskContext("Docs")

    assert "`node-projects.md`" in boot.directives(plain)
    assert "`debugging-tasks.md`" not in boot.directives(plain)
    assert "`debugging-tasks.md`" in boot.directives(fixing)
    assert "State the cause in one sentence" in boot.inlined(fixing)
    assert "rust-projects.md" not in boot.inlined(fixing)


@pytest.mark.requirement("guidance.budget")
@given(st.lists(st.text(min_size=1, max_size=300), max_size=8), st.integers(0, 900))
def test_what_is_given_never_exceeds_the_budget(bodies: list[str], budget: int) -> None:
    texts = [text(body=body, id_=f"t{number}.md") for number, body in enumerate(bodies)]

    excerpts = fit(texts, budget)

    assert sum(len(each.body.encode()) for each in excerpts) <= budget
    assert all(each.body == each.text.body.strip() for each in excerpts if each.is_whole)
    assert len({each.text.body.strip() for each in excerpts}) == len(excerpts)


@pytest.mark.requirement("guidance.budget")
def test_what_does_not_fit_is_given_by_its_summary_then_by_its_name() -> None:
    long = "# Title\n\nOne. Two.\n\n## Part\n\n> quoted\n\nThree. Four.\n\n" + "x" * 500
    outline = "- Title: One.\n- Part: Three."
    written = GuidanceText("w.md", f'---\nsummary: "In short."\n---\n{long}y', "user")

    whole, summarized, by_author, named = fit(
        [text(body="a" * 400), text(body=long), written, text(body=long + "z")], 450
    )

    assert (whole.is_whole, summarized.is_whole) == (True, False)
    assert summarized.body == summary_of(summarized.text) == outline
    assert by_author.body == "In short."
    assert named.body == ""
    exact = fit([text(body="é" * 10), text(body="b", id_="b.md")], 20)
    assert [(each.body, each.is_whole) for each in exact] == [("é" * 10, True), ("", False)]


@pytest.mark.requirement("guidance.budget")
def test_outline_cuts_a_sentence_without_an_end() -> None:
    assert summary_of(text(body="# Title\n\n" + "x" * 5000)) == "- Title: " + "x" * 200


@pytest.mark.requirement("guidance.budget")
def test_the_same_content_under_two_names_is_given_once() -> None:
    excerpts = fit([text(body="same"), text(body="same", id_="b.md")], 100)

    assert [each.text.id for each in excerpts] == ["a.md"]
