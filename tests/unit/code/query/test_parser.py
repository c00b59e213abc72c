"""The language: what is read as the reference reads it, what is read beyond it, and what is not."""

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.random_inputs import random_source

from symposium.code.query.parser import (
    DEEPEST,
    MAX_CHARACTERS,
    Array,
    DialectCall,
    DialectFault,
    DialectSyntaxError,
    Expression,
    Literal,
    Object,
    caret,
    parse,
)

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "400"))


def plain(expression: Expression) -> Any:
    """A program as JSON: a call is its name and a list."""
    match expression:
        case Literal(value):
            return value
        case Array(items):
            return [plain(item) for item in items]
        case Object(members):
            return {key: plain(value) for key, value in members.items()}
        case DialectCall(name, arguments):
            return {f"{name}()": [plain(each) for each in arguments]}


READ = [
    pytest.param(
        'foo(42, "hello")', {"foo()": [42, "hello"]}, marks=[pytest.mark.requirement("dialect.l1")]
    ),
    pytest.param(
        "findDefinition(`validateToken`)",
        {"findDefinition()": ["validateToken"]},
        marks=pytest.mark.requirement("dialect.l2"),
    ),
    pytest.param("[1, 2, 3]", [1, 2, 3], marks=pytest.mark.requirement("dialect.l3")),
    pytest.param('{"key": 42}', {"key": 42}, marks=pytest.mark.requirement("dialect.l4")),
    pytest.param(
        'foo([{"a": 1}], true)',
        {"foo()": [[{"a": 1}], True]},
        marks=pytest.mark.requirement("dialect.l5"),
    ),
    pytest.param("[1, 2,]", [1, 2], marks=pytest.mark.requirement("dialect.l15")),
    pytest.param('{"a": 1,}', {"a": 1}, marks=pytest.mark.requirement("dialect.l15")),
    pytest.param("foo(1,)", {"foo()": [1]}, marks=pytest.mark.requirement("dialect.l15")),
    pytest.param(
        "foo(1 2 'x')", {"foo()": [1, 2, "x"]}, marks=pytest.mark.requirement("dialect.commas")
    ),
    pytest.param("{a: 1 b: 2}", {"a": 1, "b": 2}, marks=pytest.mark.requirement("dialect.commas")),
    pytest.param(
        r"search(`src`, `\s*fn login`)",
        {"search()": ["src", r"\s*fn login"]},
        marks=pytest.mark.requirement("dialect.raw-backticks"),
    ),
    pytest.param(
        r"`#\[test\]`", r"#\[test\]", marks=pytest.mark.requirement("dialect.raw-backticks")
    ),
    pytest.param(r"`a\`b`", "a`b", marks=pytest.mark.requirement("dialect.raw-backticks")),
    pytest.param(
        "get_info2(1)", {"get_info2()": [1]}, marks=pytest.mark.requirement("dialect.identifiers")
    ),
    pytest.param(
        "größe(1)", {"größe()": [1]}, marks=pytest.mark.requirement("dialect.identifiers")
    ),
    pytest.param("[null, undefined]", [None, None], marks=pytest.mark.requirement("dialect.atoms")),
    pytest.param(
        "[-1, 1.5, -2e3, 007]",
        [-1, 1.5, -2000.0, 7],
        marks=pytest.mark.requirement("dialect.atoms"),
    ),
    pytest.param("9" * 40, int("9" * 40), marks=pytest.mark.requirement("dialect.atoms")),
    pytest.param(r'"\u00e9\ud83d\ude00\/"', "é😀/", marks=pytest.mark.requirement("dialect.atoms")),
    pytest.param(
        r""" '\n\t\r\"\'\`\\' """, "\n\t\r\"'`\\", marks=pytest.mark.requirement("dialect.escapes")
    ),
]


@pytest.mark.requirement("dialect.examples")
@pytest.mark.parametrize(("program", "expected"), READ)
def test_a_program_is_read(program: str, expected: Any) -> None:
    assert plain(parse(program)) == expected


REFUSED = [
    pytest.param(
        "foo(42 extra)",
        DialectFault.UNEXPECTED_IDENT,
        7,
        marks=pytest.mark.requirement("dialect.l6"),
    ),
    pytest.param(
        'foo("abc', DialectFault.UNTERMINATED_STRING, 4, marks=pytest.mark.requirement("dialect.l7")
    ),
    pytest.param(
        "foo(42", DialectFault.UNEXPECTED_EOF, 6, marks=pytest.mark.requirement("dialect.l8")
    ),
    pytest.param(
        "[1, 2", DialectFault.UNEXPECTED_EOF, 5, marks=pytest.mark.requirement("dialect.l9")
    ),
    pytest.param(
        '{"key": 42',
        DialectFault.EXPECTED_CLOSE_BRACE,
        10,
        marks=pytest.mark.requirement("dialect.l10"),
    ),
    pytest.param(
        "{ ", DialectFault.EXPECTED_CLOSE_BRACE, 1, marks=pytest.mark.requirement("dialect.l10")
    ),
    pytest.param(
        '{"key" 42}', DialectFault.EXPECTED_COLON, 7, marks=pytest.mark.requirement("dialect.l11")
    ),
    pytest.param(
        r'"ab\x"', DialectFault.INVALID_ESCAPE, 3, marks=pytest.mark.requirement("dialect.l12")
    ),
    pytest.param(
        "@foo", DialectFault.UNEXPECTED_CHAR, 0, marks=pytest.mark.requirement("dialect.l13")
    ),
    pytest.param(
        "standalone", DialectFault.UNEXPECTED_IDENT, 0, marks=pytest.mark.requirement("dialect.l14")
    ),
    pytest.param(
        "[1}", DialectFault.UNEXPECTED_TOKEN, 2, marks=pytest.mark.requirement("dialect.l16")
    ),
    pytest.param(
        "42 extra", DialectFault.UNEXPECTED_TOKEN, 3, marks=pytest.mark.requirement("dialect.l17")
    ),
    pytest.param(
        "", DialectFault.UNEXPECTED_EOF, 0, marks=pytest.mark.requirement("dialect.errors")
    ),
    pytest.param(
        "{1: 2}",
        DialectFault.EXPECTED_STRING_OR_IDENT,
        1,
        marks=pytest.mark.requirement("dialect.errors"),
    ),
    pytest.param(
        '"a\\', DialectFault.UNTERMINATED_ESCAPE, 2, marks=pytest.mark.requirement("dialect.errors")
    ),
    pytest.param(
        '"é" x', DialectFault.UNEXPECTED_TOKEN, 5, marks=pytest.mark.requirement("dialect.errors")
    ),
    pytest.param(
        r'"\ud800"',
        DialectFault.INVALID_ESCAPE,
        1,
        marks=pytest.mark.requirement("dialect.escapes"),
    ),
    pytest.param(
        "1e999", DialectFault.TOO_LARGE, 0, marks=pytest.mark.requirement("dialect.bounded")
    ),
    pytest.param(
        "9" * 5000, DialectFault.TOO_LARGE, 0, marks=pytest.mark.requirement("dialect.bounded")
    ),
    pytest.param(
        "[" * 9999, DialectFault.TOO_DEEP, DEEPEST, marks=pytest.mark.requirement("dialect.bounded")
    ),
    pytest.param(
        "f(" * 9999,
        DialectFault.TOO_DEEP,
        DEEPEST * 2,
        marks=pytest.mark.requirement("dialect.bounded"),
    ),
    pytest.param(
        " " * (MAX_CHARACTERS + 9),
        DialectFault.TOO_LONG,
        MAX_CHARACTERS,
        marks=pytest.mark.requirement("dialect.bounded"),
    ),
]


@pytest.mark.requirement("dialect.examples")
@pytest.mark.parametrize(("program", "fault", "position"), REFUSED)
def test_a_wrong_program_is_refused_where_it_is_wrong(
    program: str, fault: DialectFault, position: int
) -> None:
    with pytest.raises(DialectSyntaxError) as caught:
        parse(program)

    assert (caught.value.fault, caught.value.position) == (fault, position)


@pytest.mark.requirement("dialect.errors", "dialect.l12", "dialect.l13", "dialect.l14")
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("foo(42", "Unexpected end of input at 6\n  foo(42\n        ^"),
        ("x", "Unexpected identifier without function call at 0\n  x\n  ^"),
        (r'"\x"', 'Invalid escape sequence: \\x at 1\n  "\\x"\n   ^'),
        ("@a", "Unexpected character '@' following \"\" at 0\n  @a\n  ^"),
        ("[1,\n 2 }", "Unexpected token '}' at 7\n   2 }\n     ^"),
    ],
)
def test_an_error_shows_the_place_with_a_caret(program: str, said: str) -> None:
    with pytest.raises(DialectSyntaxError) as caught:
        parse(program)

    assert str(caught.value).startswith(said)


@pytest.mark.requirement("dialect.errors")
def test_only_the_line_with_the_error_is_shown() -> None:
    shown = caret("x" * 500, 250).split("\n")

    assert [len(line) for line in shown] == [2 + 1 + 120, 2 + 1 + 60 + 1]
    assert shown[1].index("^") == 2 + 1 + 60


def position_of_fault(program: str) -> int:
    try:
        parse(program)
    except DialectSyntaxError as error:
        return error.position
    return 0


PROGRAMS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    # \b and \f are no escapes here: in a regular expression they mean something else.
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\b\f")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("aé_", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.requirement("dialect.atoms")
@given(PROGRAMS)
def test_all_of_json_is_a_program(value: Any) -> None:
    assert plain(parse(json.dumps(value))) == value


@pytest.mark.requirement("dialect.no-crash")
@given(st.text() | st.text("()f[]o{}:,\"'`\\ \nu0dé-1.e9"))
def test_no_text_does_anything_but_be_read_or_refused(program: str) -> None:
    assert 0 <= position_of_fault(program) <= len(program.encode(errors="surrogatepass"))


SEEDS = [
    'comment(findDefinition(`User`), "info", ["a", "b"])',
    r'[search("src", `\s*fn (\w+)`, ".rs") {a: -1.5e3, "b": null}]',
    "lines('a/b.c', 1, 20)",
]
SCRAPS = [
    *"()[]{}:,\"'`\\-.",
    "\\u12",
    "\ud800",
    "null",
    "e9",
    "\0",
    " ",
    "\n",
    "9" * 30,
    "é",
    "[" * 70,
]


@pytest.mark.fuzz
@pytest.mark.requirement("dialect.no-crash")
def test_broken_programs_are_refused_and_nothing_else() -> None:
    chance = random_source("dialect")
    for _ in range(ROUNDS):
        text = chance.choice(SEEDS)
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(text))
            text = text[:at] + chance.choice(SCRAPS) + text[at + chance.randint(0, 3) :]
        assert position_of_fault(text) >= 0
