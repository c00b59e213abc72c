"""Markdown as lines of a terminal: styled, wrapped, and without control characters."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from symposium.cli.markdown_layout import markdown_lines

STYLES = re.compile(r"\x1b\[[0-9;]*m")
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(source: str, width: int = 80) -> list[str]:
    return [STYLES.sub("", line) for line in markdown_lines(source, width)]


@pytest.mark.requirement("cli.chat-markdown")
@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("# Title", "\x1b[1;4mTitle\x1b[0m"),
        ("### Part", "\x1b[1mPart\x1b[0m"),
        ("a **bold** word", "a \x1b[1mbold\x1b[0m word"),
        ("an *italic* word", "an \x1b[3mitalic\x1b[0m word"),
        ("***both***", "\x1b[3;1mboth\x1b[0m"),
        ("run `make test`", "run \x1b[36mmake test\x1b[0m"),
        ("~~gone~~", "\x1b[9mgone\x1b[0m"),
        ("[docs](https://a.org)", "\x1b[4mdocs\x1b[0m\x1b[2m (https://a.org)\x1b[0m"),
        ("<https://a.org>", "\x1b[4mhttps://a.org\x1b[0m"),
        ("![a cat](cat.png)", "[image: a cat] (cat.png)"),
        ("- one", "• one"),
        ("3. three", "3. three"),
        ("> quoted", "\x1b[2m│ \x1b[0mquoted"),
        ("***", "\x1b[2m" + "─" * 40 + "\x1b[0m"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
    ],
)
def test_markup_becomes_a_style(source: str, line: str) -> None:
    assert markdown_lines(source, 80) == [line]


@pytest.mark.requirement("cli.chat-markdown")
def test_lines_break_between_words_and_keep_their_indentation() -> None:
    assert plain("- one two three four five", 12) == ["• one two", "  three four", "  five"]
    assert plain("> one two three four", 12) == ["│ one two", "│ three four"]


@pytest.mark.requirement("cli.chat-markdown")
def test_wide_characters_take_two_columns_and_break_anywhere() -> None:
    assert plain("日本語テキスト", 8) == ["日本語テ", "キスト"]
    assert plain("a日b", 8) == ["a日b"]


@pytest.mark.requirement("cli.chat-markdown")
def test_too_long_word_is_broken() -> None:
    assert plain("see " + "x" * 20, 10) == ["see", "x" * 10, "x" * 10]


@pytest.mark.requirement("cli.chat-markdown")
def test_line_breaks_of_the_agent_are_kept() -> None:
    assert plain("one\ntwo") == ["one", "two"]


@pytest.mark.requirement("cli.chat-markdown")
def test_table_has_aligned_columns() -> None:
    assert plain("| a | long |\n|---|---|\n| 日本 | `b` |") == [
        "a     long",
        "────  ────",
        "日本  b",
    ]


@pytest.mark.requirement("cli.chat-markdown")
def test_cells_of_a_too_wide_table_are_listed_vertically() -> None:
    table = "| name | text |\n|---|---|\n| one | words and words |"

    assert plain(table, 14) == ["- name", "  text", "- one", "  words and", "  words"]


@pytest.mark.requirement("cli.chat-markdown", "cli.chat-terminal-text")
@pytest.mark.parametrize(
    "source", ["a\x1b[2Jb", "a&#27;[2Jb", "`\x9b2J`", "[a](\x1b]8;;b)", "&#x202e;"]
)
def test_control_characters_are_shown_and_never_written(source: str) -> None:
    assert not CONTROLS.search("".join(plain(source)))


MARKUP = st.text(alphabet="ab 日é*_`~[]()<>#&|-+1.!\\\n\t\x1b\u202e", max_size=80)


@pytest.mark.requirement("cli.chat-markdown", "cli.chat-terminal-text")
@example("\t1\t2", 8)
@example("a|b\n-|-\n`1\t2`|c", 40)
@given(MARKUP, st.integers(8, 40))
def test_no_text_controls_the_terminal_or_leaves_a_style_on(source: str, width: int) -> None:
    for line in markdown_lines(source, width):
        assert not CONTROLS.search(STYLES.sub("", line))
        assert "\n" not in line
        assert line.count("\x1b[0m") * 2 == len(STYLES.findall(line))


@pytest.mark.requirement("cli.chat-markdown")
@given(st.lists(st.sampled_from(["word", "日本語", "`code`", "**bold**", "é", "x" * 30])))
def test_no_line_of_words_is_wider_than_the_terminal(words: list[str]) -> None:
    for line in plain(" ".join(words), 20):
        assert get_cwidth(line) <= 20
