"""The check of texts finds violations; `make words` runs it over the repository."""

from collections.abc import Iterator

import pytest
from tests.support.voice import (
    Violation,
    files,
    problems_of_comments,
    problems_of_file,
    problems_of_page,
    problems_of_source,
    problems_of_subject,
)

pytestmark = [pytest.mark.requirement("house.voice"), pytest.mark.project]


def problems(found: Iterator[Violation]) -> list[str]:
    return [f"{each.line}: {each.problem}" for each in found]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("x = 1  # nobody reads it\n", "1: write something plainer than 'nobody'"),
        ('"""Fine.\n\nWhoever asks."""\n', "3: write something plainer than 'Whoever'"),
        ('"""It goes\n\n    on."""\n', "1: write something plainer than 'goes on'"),
        ("x = f'{1} goes on'\n", "1: write something plainer than 'goes on'"),
        ("def test_it_goes_on(): ...\n", "1: write something plainer than 'goes on'"),
        ('"""Let agents go on."""\n', "1: write something plainer than 'go on'"),
        ('def f():\n    """What it is."""\n', "1: a docstring starts with 'What'"),
        ("def let_go(): ...\n", "1: write something plainer than 'let go'"),
        ("class InboxDesk: ...\n", "1: the name InboxDesk contains 'desk'"),
        ("MOST_LINES = 3\n", "1: the name MOST_LINES contains 'most'"),
        ("class A:\n    patience: int = 3\n", "1: the name patience contains 'patience'"),
    ],
)
def test_violation_in_a_source_is_found_with_its_line(source: str, problem: str) -> None:
    assert problems(problems_of_source("a.py", source)) == [problem]


@pytest.mark.parametrize(
    "source", ["x = 1  # our clock\n", '"""Let us wait."""\n', 'log("we sent %d")\n']
)
def test_pronouns_of_the_authors_are_found_in_src_only(source: str) -> None:
    assert len(problems(problems_of_source("src/a.py", source))) == 1
    assert problems(problems_of_source("tests/a.py", source)) == []


def test_options_and_members_named_ours_pass() -> None:
    source = '"""Attributes:\n    ours: lines."""\n\nX = "-q --ours", "ours", "US"\n'

    assert problems(problems_of_source("src/a.py", source)) == []


def test_comments_of_the_makefile_and_of_toml_are_read() -> None:
    text = 'run: ## call nobody\n\techo "# nobody" nobody\nkey = "#" # mend it\n'

    assert problems(problems_of_comments("Makefile", text)) == [
        "1: write something plainer than 'nobody'",
        "3: write something plainer than 'mend'",
    ]


def test_quoted_names_and_plain_words_pass() -> None:
    source = '"""Send `nobody` the summary."""\n\nALMOST = "toward the desktop"  # Foremost.\n'
    source += 'MARK = requirement("tasks.nobody-there"), {"by": "nobody"}\n'

    assert problems(problems_of_source("a.py", source)) == []


def test_released_sections_of_the_changelog_are_not_read() -> None:
    page = "## Unreleased\n\n- mend it\n\n## [1.0]\n\n- nobody\n"

    assert problems(problems_of_page("CHANGELOG.md", page)) == [
        "3: write something plainer than 'mend'"
    ]
    assert len(problems(problems_of_page("docs/page.md", page))) == len(["mend", "nobody"])


def test_subject_has_at_most_72_characters() -> None:
    assert problems(problems_of_subject("abc", "a" * 72)) == []
    assert problems(problems_of_subject("abc", "a" * 73)) == [
        "1: the subject has 73 characters, at most 72"
    ]


def test_sources_tests_and_pages_are_all_read() -> None:
    read = files()

    for path in ("src/symposium/errors.py", "tests/test_voice.py", "docs/index.md", "Makefile"):
        assert path in read
    assert [each for path in read[::40] for each in problems_of_file(path)] == []
