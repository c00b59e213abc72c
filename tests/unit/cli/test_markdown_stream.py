"""Markdown that arrives in pieces: its rendering, and when it is shown."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symposium.cli.markdown_stream import LARGEST_BLOCK, MarkdownStream

STYLES = re.compile(r"\x1b\[[0-9;]*m")

PAGE = """\
# A page for **today**

The first paragraph is long enough to be wrapped, has `code` in it, *and more*,
a second line, and a [link](https://example.org).

1. One
   continues
2. Two:
   ```python
   def f(x):
       return  x  # longer than the terminal is wide, and it stays unwrapped
   ```
   behind the code
   - nested and long enough to be wrapped at the width of the terminal
     - deeper

> quoted words that are long enough to be wrapped, too
> - with an item

| a | b |
|---|---|
| 1 | 2 |

Underlined
----------

* * *

    indented code
- [ ] open
- [x] done
  1. in steps
"""


def stream(width: int = 40) -> MarkdownStream:
    return MarkdownStream(lambda: width)


def shown(*pieces: str, width: int = 40) -> str:
    view = stream(width)
    return STYLES.sub("", "".join([*map(view.feed, pieces), view.finish()]))


@pytest.mark.requirement("cli.chat-markdown")
def test_page_is_rendered() -> None:
    assert shown(PAGE).splitlines() == [
        "A page for today",
        "",
        "The first paragraph is long enough to be",
        "wrapped, has code in it, and more,",
        "a second line, and a link",
        "(https://example.org).",
        "",
        "1. One",
        "   continues",
        "2. Two:",
        "   ```python",
        "   def f(x):",
        "       return  x  # longer than the terminal is wide, and it stays unwrapped",
        "   ```",
        "   behind the code",
        "   • nested and long enough to be",
        "     wrapped at the width of the",
        "     terminal",
        "     • deeper",
        "",
        "│ quoted words that are long enough to",
        "│ be wrapped, too",
        "│ • with an item",
        "",
        "a  b",
        "─  ─",
        "1  2",
        "",
        "Underlined",
        "",
        "─" * 40,
        "",
        "    indented code",
        "• [ ] open",
        "• [x] done",
        "  1. in steps",
    ]


@pytest.mark.requirement("cli.chat-markdown")
@settings(max_examples=25)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_output_does_not_depend_on_the_pieces(sizes: list[int]) -> None:
    pieces: list[str] = []
    at = 0
    for size in sizes:
        pieces.append(PAGE[at : at + size])
        at += size

    assert shown(*pieces, PAGE[at:]) == shown(PAGE)


@pytest.mark.requirement("cli.chat-markdown")
def test_wrapped_lines_are_shown_before_their_paragraph_ends() -> None:
    view = stream()
    first = "".join(view.feed(f"{word} ") for word in ["several", "words"] * 10)

    assert first.startswith("several words several words several\n")
    assert "words several" in view.finish()


@pytest.mark.requirement("cli.chat-markdown")
def test_open_markup_is_held_until_it_is_closed() -> None:
    view = stream()
    early = view.feed("x\na **bold text that is long enough to be wrapped at the end of the line")

    assert early == ""
    assert "\x1b[1mbold" in view.feed(" ends here**\n\n")


@pytest.mark.requirement("cli.chat-markdown")
def test_line_of_code_is_shown_when_it_is_complete() -> None:
    view = stream()

    assert "```" in view.feed("```\n")
    assert "*plain*  " in view.feed("*plain*  \nnext")
    assert "next" in view.feed("\n")
    assert view.feed("``") == ""
    assert "bold" in view.feed("`\n**bold**\n") + view.finish()


@pytest.mark.requirement("cli.chat-markdown")
def test_pause_shows_the_pending_text_and_the_line_continues() -> None:
    view = stream()

    assert view.feed("Wait") + view.pause() == "Wait"
    assert view.feed("ing for it") + view.pause() == "ing for it"
    assert view.feed(" all\n") + view.pause() == " all\n"
    assert view.finish() == ""


@pytest.mark.requirement("cli.chat-markdown")
def test_line_is_shown_again_when_markup_closes_after_a_pause() -> None:
    view = stream()

    assert view.feed("so **bol") + view.pause() == "so **bol"
    assert view.feed("d**\n") + view.finish() == "\nso \x1b[1mbold\x1b[0m\n"


@pytest.mark.requirement("cli.chat-markdown")
@pytest.mark.parametrize("begin", ["", "```\n", "> "])
def test_endless_text_is_not_held_without_limit(begin: str) -> None:
    view = stream()
    written = len(view.feed(begin)) + sum(len(view.feed("word " * 10)) for _ in range(1000))

    assert written > 50 * 1000 - 2 * LARGEST_BLOCK


@pytest.mark.requirement("cli.chat-markdown")
def test_carriage_return_belongs_to_the_end_of_its_line() -> None:
    assert shown("one\r", "\ntwo\r\n") == "one\ntwo\n"


@pytest.mark.requirement("cli.chat-markdown")
def test_fence_is_not_closed_by_a_shorter_or_different_one() -> None:
    page = "````\n**a**\n```\n**b**\n~~~~\n**c**\n`````\n**d**\n"

    assert shown(page).splitlines()[1:] == ["**a**", "```", "**b**", "~~~~", "**c**", "`````", "d"]


@pytest.mark.requirement("cli.chat-terminal-text", "cli.chat-markdown")
def test_code_is_shown_without_control_characters_and_carriage_returns() -> None:
    page = "```\r\nx\x1b[2J\ty\r\n```\r\n\r\n    in\x1b\x07dented\r\n\r\nte\x1bxt\r\n"

    assert shown(page) == "```\nx␛[2J   y\n```\n\n    in␛␇dented\n\nte␛xt\n"
