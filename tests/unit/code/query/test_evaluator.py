"""Programs that are carried out: composition, errors, and each function that needs no file."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_ide import FakeIde

from symposium.code.ide_operations import CodePosition, CodeRange, SymbolDefinition
from symposium.code.query.evaluator import FUNCTIONS, MAX_CALLS, Evaluation, run, signature
from symposium.code.query.functions import (
    AmbiguityError,
    DialectWorkspace,
    Function,
    NoIde,
    Scope,
    by_name,
    name_of,
)
from symposium.code.query.symbol_functions import MAX_SYMBOLS
from symposium.errors import SymposiumError

USER = {
    "name": "User",
    "kind": "struct",
    "definedAt": {
        "path": "src/models.rs",
        "start": {"line": 10, "column": 0},
        "end": {"line": 10, "column": 4},
        "content": "struct User {",
    },
}


class Uppercase(Function, frozen=True):
    """For these tests."""

    text: str

    async def run(self, scope: Scope) -> str:
        del scope
        return self.text.upper()


class Concat(Function, frozen=True):
    """For these tests."""

    left: str
    right: str

    async def run(self, scope: Scope) -> str:
        del scope
        return self.left + self.right


async def evaluated(program: str, ide: FakeIde | None = None) -> Evaluation:
    functions = [*FUNCTIONS, Uppercase, Concat]
    return await run(
        program, ide or FakeIde(), DialectWorkspace(Path("/project")), functions=functions
    )


async def value(program: str) -> Any:
    return (await evaluated(program)).value


async def failure(program: str) -> str:
    with pytest.raises(SymposiumError) as caught:
        await evaluated(program)
    return str(caught.value)


@pytest.mark.requirement("dialect.i1", "dialect.i2", "dialect.i3")
async def test_a_name_gives_its_definition() -> None:
    plural, singular, shouted = [
        await value(f"{name}(`User`)")
        for name in ("findDefinitions", "findDefinition", "FINDDEFINITIONS")
    ]

    assert plural == singular == shouted == [USER]


@pytest.mark.requirement("dialect.i4", "dialect.ambiguity")
async def test_an_ambiguous_name_gives_all_in_order_and_says_how_to_name_one() -> None:
    found = await evaluated("findDefinition(`validateToken`)")

    assert [each["definedAt"]["path"] for each in found.value] == ["src/auth.rs", "src/utils.rs"]
    (hint,) = found.hints
    assert hint.message == 'findDefinition("validateToken") matches 2 things'
    assert hint.replacements == [
        'findDefinition("validateToken", "src/auth.rs")',
        'findDefinition("validateToken", "src/utils.rs")',
    ]
    assert [await value(each) for each in hint.replacements] == [[each] for each in found.value]


@pytest.mark.requirement("dialect.ambiguity")
async def test_symbols_of_one_name_in_a_file_are_distinguished_by_lines() -> None:
    same = CodeRange("src/auth.rs", CodePosition(50, 1), CodePosition(50, 5))
    also = [SymbolDefinition("twice", same), SymbolDefinition("twice", same)]
    (hint,) = (await evaluated("findDefinition(`twice`)", FakeIde(also=also))).hints

    assert hint.replacements == ['lines("src/auth.rs", 50, 50)', 'lines("src/auth.rs", 50, 50)']
    assert "write one of" in str(AmbiguityError("x", hint.replacements))


@pytest.mark.requirement("dialect.ambiguity")
async def test_function_is_found_without_brackets_and_similar_names_are_suggested() -> None:
    at = CodeRange("src/auth.rs", CodePosition(50, 1), CodePosition(50, 5))
    names = ("call()", *(f"call{number}" for number in range(6)))
    ide = FakeIde(also=[SymbolDefinition(name, at) for name in names])
    (found,) = (await evaluated("findDefinition(`call`)", ide)).value
    (hint,) = (await evaluated("findDefinition(`cal`)", ide)).hints

    assert found["name"] == "call()"
    assert hint.message == "no symbol has exactly the name 'cal'"
    assert hint.replacements == [f'findDefinition("{name}")' for name in names[:5]]


@pytest.mark.requirement("dialect.i5")
async def test_references_carry_the_definition_and_the_use() -> None:
    found = await value("findReferences(`User`)")

    assert [{**each, "referencedAt": None} for each in found] == [
        {**USER, "referencedAt": None}
    ] * 2
    assert [each["referencedAt"]["start"] for each in found] == [
        {"line": 5, "column": 12},
        {"line": 23, "column": 8},
    ]


@pytest.mark.requirement("dialect.i5", "dialect.symbols")
async def test_symbols_are_taken_as_names_as_symbols_and_in_lists() -> None:
    ide = FakeIde()
    nested = "findReferences([findDefinition(`User`), [`User`]])"

    assert len((await evaluated(nested, ide)).value) == 4
    assert ide.asked == ["User", "User", "/project/src/models.rs", "/project/src/models.rs"]
    assert "not a symbol: 3" in await failure("findDefinitions(3)")
    assert "not a symbol: " in await failure("findDefinitions({a: 1})")


@pytest.mark.requirement("dialect.symbols-bounded")
async def test_of_more_symbols_than_the_limit_the_first_are_taken() -> None:
    names = ", ".join(["`User`"] * (MAX_SYMBOLS + 1))

    assert len(await value(f"findDefinitions([{names}])")) == MAX_SYMBOLS


@pytest.mark.requirement("dialect.i6", "dialect.i7", "dialect.i8")
async def test_an_unknown_symbol_is_no_error() -> None:
    assert await value("findDefinitions(`Nobody`)") == []
    assert await value("findReferences(`Nobody`)") == []


@pytest.mark.requirement("dialect.exact-names")
async def test_of_what_an_editor_finds_only_the_exact_name_is_kept() -> None:
    near = SymbolDefinition("UserName", CodeRange("a.rs", CodePosition(1, 1), CodePosition(1, 2)))
    exact = await evaluated("findDefinitions(`User`)", FakeIde(also=[near]))
    none = await evaluated("findDefinitions(`Usr`)", FakeIde(also=[near]))

    assert [each["name"] for each in exact.value] == ["User"]
    assert none.value == []
    assert none.hints[0].replacements == ['findDefinition("UserName")']


@pytest.mark.requirement("dialect.i9", "dialect.i10", "dialect.i11")
async def test_functions_are_called_by_their_type_and_compose() -> None:
    assert list(by_name([Uppercase])) == ["uppercase"]
    assert await value('uppercase("hello")') == "HELLO"
    assert await value('concat(uppercase("hello"), " world")') == "HELLO world"
    assert await value('uppercase(concat("a", concat("b", uppercase("c"))))') == "ABC"


@pytest.mark.requirement("dialect.i12", "dialect.i13")
async def test_plain_values_are_unchanged_also_outside_of_calls() -> None:
    assert [await value(each) for each in ('"a"', "42", "true")] == ["a", 42, True]
    assert await value('[uppercase("a"), {b: uppercase("c")}]') == ["A", {"b": "C"}]


@pytest.mark.requirement("dialect.i14", "dialect.i15", "dialect.call-errors")
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("unknown(1)", "unknown function: unknown"),
        ("serach(`a`, `b`)", "did you mean search?"),
        ("uppercase(`a`) uppercase(`b`)", "Unexpected token 'uppercase'"),
        ("func(", "Unexpected end of input"),
        ("uppercase(1, 2)", "too many arguments for function uppercase: expected 1, got 2"),
        ("concat(`a`)", "missing required field `right`; write concat(left, right)"),
        ("uppercase(1)", "Expected `str`, got `int`"),
    ],
)
async def test_invalid_call_says_why(program: str, said: str) -> None:
    assert said in await failure(program)


@pytest.mark.requirement("dialect.bounded")
async def test_the_calls_of_a_program_are_bounded() -> None:
    calls = "uppercase(`a`)," * (MAX_CALLS + 1)

    assert f"more than {MAX_CALLS} calls" in await failure(f"[{calls}]")
    (whole,) = [await value(f"[{calls.removesuffix('uppercase(`a`),')}]")]
    assert len(whole) == MAX_CALLS


@pytest.mark.requirement("dialect.i18")
async def test_a_comment_has_its_place_and_its_text() -> None:
    where = "{path: 'a.rs', start: {line: 1, column: 1}, end: {line: 2, column: 4}}"
    found = await value(f"comment({where}, `info`, [`one`, `two`])")

    assert found.pop("id")
    assert found == {
        "locations": [
            {"path": "a.rs", "start": {"line": 1, "column": 1}, "end": {"line": 2, "column": 4}}
        ],
        "icon": "info",
        "comment": ["one", "two"],
    }


@pytest.mark.requirement("dialect.i19", "dialect.reference-places")
async def test_a_comment_on_symbols_stands_where_they_are_defined_and_on_uses_where_they_are() -> (
    None
):
    defined = await value("comment(findDefinition(`validateToken`), `info`, [])")
    used = await value("comment(findReferences(`User`), `info`, [])")

    assert [each["path"] for each in defined["locations"]] == ["src/auth.rs", "src/utils.rs"]
    assert [each["path"] for each in used["locations"]] == ["src/auth.rs", "src/handlers.rs"]
    assert "at least one location" in await failure("comment([], `info`, [])")


@pytest.mark.requirement("dialect.i20")
async def test_action_has_a_button_and_a_message() -> None:
    assert await value("action(`Go`, `now`)") == {"button": "Go", "tell_agent": "now"}
    assert await value("action(`Go`)") == {"button": "Go", "tell_agent": None}


@pytest.mark.requirement("dialect.more-functions")
async def test_additional_functions_query_the_port() -> None:
    ide = FakeIde()
    info = await evaluated("getSymbolInfo(`User`)", ide)
    where = await evaluated("definitionAt(`src/a.rs`, 3, 4)", ide)
    wrong = await evaluated("diagnostics(`src/a.rs`)", ide)

    assert info.value == [{**USER, "info": "a **struct**"}]
    assert (await evaluated("symbolInfo(`User`)")).value == info.value
    assert where.value == [USER["definedAt"]]
    assert wrong.value[0]["severity"] == "error"
    assert ide.asked == [
        *("User", "/project/src/models.rs:10:0"),
        *("/project/src/a.rs:3:4", "/project/src/a.rs"),
    ]


@pytest.mark.requirement("dialect.more-functions")
async def test_callers_are_the_uses_that_call() -> None:
    (found,) = await value("callers(`User`)")

    assert found["referencedAt"]["path"] == "src/handlers.rs"


@pytest.mark.requirement("dialect.port-errors")
async def test_missing_answerer_is_explained_with_the_functions_that_need_none() -> None:
    assert "the server exited; ask again" in await failure("diagnostics(`broken`)")
    with pytest.raises(SymposiumError, match=r"no editor.*use search"):
        await run("findDefinition(`a`)", NoIde(), DialectWorkspace(Path("/project")))
    where = "{path: `a`, start: {line: 1, column: 1}, end: {line: 1, column: 1}}"
    symbol = f"{{name: `a`, definedAt: {where}}}"
    for program in (
        f"findReferences({symbol})",
        f"getSymbolInfo({symbol})",
        "definitionAt(`a`, 1, 1)",
        "diagnostics(`a`)",
    ):
        with pytest.raises(SymposiumError, match="no editor"):
            await run(program, NoIde(), DialectWorkspace(Path("/project")))


@pytest.mark.requirement("dialect.reference-page")
def test_every_function_says_what_it_does_and_how_it_is_written() -> None:
    assert all(each.__doc__ and each.RESULT != "any" for each in FUNCTIONS)
    assert [signature(each) for each in FUNCTIONS if name_of(each) in {"search", "lines"}] == [
        "search(path, regex, extension?)",
        "lines(path, start, end)",
    ]


@pytest.mark.requirement("dialect.number-bound")
@pytest.mark.parametrize("sign", ["", "-"])
async def test_a_number_of_a_thousand_characters_is_read_and_no_longer_one(sign: str) -> None:
    longest = sign + "1" * (1000 - len(sign))

    assert (await evaluated(longest)).value == int(longest)
    with pytest.raises(SymposiumError, match="too large"):
        await evaluated(longest + "1")
