"""JSON with comments is parsed, or rejected with a position."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.json_values import decorated

from localio.jsonc import MAX_DEPTH, JsoncError, json_text, node_at, parse, place


@pytest.mark.requirement("config.comments-and-commas")
@given(decorated())
def test_comments_and_trailing_commas_are_ignored(pair: tuple[Any, str]) -> None:
    value, text = pair

    assert json_text(parse(text).value) == json_text(value)
    assert json_text(parse("\ufeff" + text).value) == json_text(value)


@pytest.mark.requirement("config.comments-and-commas")
def test_comment_syntax_in_a_string_is_text() -> None:
    text = '{"url": "https://host/*path*/", "note": "a // b"}'

    assert parse(text).value == {"url": "https://host/*path*/", "note": "a // b"}


@pytest.mark.requirement("config.never-crashes")
@given(st.text() | st.text('{}[]",:/*\n\\ 1e+-true'))
@example("1" * 5000)
@example("1e999")
@example('"\ud800"')
@example("[" * 5000)
@example('{"a": 1 /')
def test_any_text_is_parsed_or_rejected_with_a_position(text: str) -> None:
    with suppress(JsoncError):
        json.dumps(parse(text).value)
        return
    with pytest.raises(JsoncError) as caught:
        parse(text)
    lines = text.split("\n")
    assert 1 <= caught.value.line <= len(lines)
    assert 1 <= caught.value.column <= len(lines[caught.value.line - 1]) + 1


@pytest.mark.requirement("config.never-crashes")
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "text",
    [
        "[1, " + "/**/ " * 20_000 + "2]",
        "[1 " + "/* " * 20_000,
        "/" * 40_000,
        "/*" + "*" * 40_000,
        '{"a":' + " \n" * 20_000 + "}",
        '"' + "\\" * 40_001,
    ],
)
def test_parsing_time_is_linear(text: str) -> None:
    with suppress(JsoncError):
        parse(text)


@pytest.mark.requirement("config.never-crashes")
@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "expected a value, but the file ends"),
        ("{\n  'agent': 1}", 2, 3, "a key in double quotes"),
        ("{\n  \"agent\": 'x'}", 2, 12, "double quotes"),
        ('{"a": 1\n "b": 2}', 2, 2, "a comma or `}`"),
        ("[1 2]", 1, 4, "a comma or `]`"),
        ('{"a" 1}', 1, 6, "expected `:` after the key 'a'"),
        ('{"a": 1, "a": 2}', 1, 10, "duplicate key"),
        ("{} /* end", 1, 4, "not closed"),
        ("{}\n{}", 2, 1, "the end of the file"),
        ('{"a": "\\q"}', 1, 8, "string is broken"),
        ('{"a":\n"\\ud800"}', 2, 2, r"\ud800 is half a character"),
        (r'{"a": "\\ud800 \ud83d\uDE00 \uDC00"}', 1, 29, r"\udc00 is half a character"),
        (r'{"\uD83D": 1}', 1, 3, r"\ud83d is half a character"),
        ('["\ud800"]', 1, 2, r"\ud800 is half a character"),
        ('{"a": yes}', 1, 7, "expected a value, found 'y'"),
        ("[01]", 1, 2, "expected a value"),
        ("[1,,2]", 1, 4, "expected a value, found ','"),
        ("[" * (MAX_DEPTH + 2), 1, MAX_DEPTH + 2, "nested deeper"),
    ],
)
def test_error_names_expectation_and_position(
    text: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert reason in str(caught.value)


@pytest.mark.requirement("config.errors-have-places")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("agent", (1, 12)),
        ("mods[1].name", (2, 30)),
        ("mods[7].name", (2, 10)),
        ("mods.name", (2, 10)),
        ("none.at.all", (1, 1)),
        ("", (1, 1)),
    ],
)
def test_path_leads_to_its_node_or_the_nearest_parent(
    where: str, expected: tuple[int, int]
) -> None:
    text = '{ "agent": "x",\n "mods": [{"a": 1}, {"name": 2}]}'

    assert place(text, node_at(parse(text), where).start) == expected


@pytest.mark.requirement("config.comments-and-commas")
def test_number_beyond_the_length_limit_is_rejected_with_a_position() -> None:
    assert parse("1" * 1000).value == int("1" * 1000)
    with pytest.raises(JsoncError, match="this number is too large"):
        parse("1" * 1001)


@pytest.mark.requirement("config.never-crashes")
def test_mismatching_path_leads_to_the_last_matching_node() -> None:
    root = parse('{"mods": {"a": 1}, "list": [2]}')

    assert node_at(root, "mods[0]") is node_at(root, "mods")
    assert node_at(root, "list.a") is node_at(root, "list")
