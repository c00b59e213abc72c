"""Every requirement has a test, and every test names a requirement with a row."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

pytestmark = pytest.mark.project

TESTS = Path(__file__).parent
ROWS = TESTS / "requirements"

KEYS = {"id", "source", "text", "reason"}
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")


@dataclass(frozen=True, slots=True)
class Row:
    """One `[[requirement]]` table, and its place."""

    file: str
    id: str
    has_reason: bool


def rows_in(text: str, file: str) -> Iterator[Row | str]:
    """Return the rows of one file, and a problem for each invalid row."""
    document: dict[str, Any] = tomllib.loads(text)
    for unknown in sorted(document.keys() - {"requirement"}):
        yield f"{file}: unknown table {unknown!r}"
    for number, row in enumerate(cast("list[dict[str, Any]]", document.get("requirement", [])), 1):
        place = f"{file}: {row.get('id', f'row {number}')}"
        for unknown in sorted(row.keys() - KEYS):
            yield f"{place}: unknown key {unknown!r}"
        for needed in sorted(KEYS - {"reason"} - row.keys()):
            yield f"{place}: no {needed}"
        for empty in sorted(
            key for key in row if not (isinstance(row[key], str) and row[key].strip())
        ):
            yield f"{place}: {empty} must be a sentence"
        area = file.removesuffix(".toml")
        if not ID.fullmatch(str(row.get("id"))) or not row["id"].startswith(f"{area}."):
            yield f"{place}: an id looks like {area}.short-name"
        else:
            yield Row(file, row["id"], "reason" in row)


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def marks_in(text: str, file: str) -> Iterator[tuple[str, str]]:
    """Return each id in a `pytest.mark.requirement(...)`, and its place; "" for a computed one."""
    for node in ast.walk(parsed(text)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="requirement")):
                place = f"{file}:{node.lineno}"
                if node.keywords or not node.args:
                    yield "", place
                for argument in node.args:
                    literal = argument.value if isinstance(argument, ast.Constant) else None
                    yield (literal if isinstance(literal, str) else ""), place
            case _:
                pass


def unmarked_tests(text: str, file: str) -> Iterator[str]:
    """Return each test without a mark of a requirement on it, its class, or its file."""
    yield from _unmarked(parsed(text).body, file)


def _unmarked(body: Sequence[ast.stmt], file: str) -> Iterator[str]:
    if any(_is_pytestmark(node) and _marks(node) for node in body):
        return
    for node in body:
        match node:
            case ast.ClassDef() if not any(map(_marks, node.decorator_list)):
                yield from _unmarked(node.body, file)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                if not any(map(_marks, node.decorator_list)):
                    yield f"{file}:{node.lineno}: {node.name} proves no requirement"
            case _:
                pass


def _is_pytestmark(node: ast.stmt) -> bool:
    names = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(name, ast.Name) and name.id == "pytestmark" for name in names)


def _marks(node: ast.AST) -> bool:
    """Whether the decorators mark the whole test with a requirement, not only a parameter."""
    if isinstance(node, ast.Call) and _name(node.func) == "parametrize":
        return False
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr == "requirement"
        and _name(each.func.value) == "mark"
        for each in ast.walk(node)
    )


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def complaints(found: Iterable[Row | str], marks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Return the problems of rows and tests, one line for each cause or file."""
    found, marks = [*found], [*marks]
    rows = [row for row in found if isinstance(row, Row)]
    yield from (complaint for complaint in found if isinstance(complaint, str))
    for id_, times in Counter(row.id for row in rows).items():
        if times > 1:
            files = ", ".join(row.file for row in rows if row.id == id_)
            yield f"{id_}: stands {times} times, in {files}"
    tested, known = {id_ for id_, _ in marks}, {row.id for row in rows}
    yield from (
        f"{place}: a requirement id is a string, written out" for id_, place in marks if not id_
    )
    yield from (f"{place}: {id_} has no row" for id_, place in marks if id_ and id_ not in known)
    for row in rows:
        if row.has_reason and row.id in tested:
            yield f"{row.file}: {row.id}: has a test, so it needs no reason"
    for file in sorted({row.file for row in rows}):
        here = [row.id for row in rows if row.file == file and not row.has_reason]
        lacking = [id_.partition(".")[2] for id_ in here if id_ not in tested]
        if lacking:
            yield f"{file}: {len(lacking)} without a test: {', '.join(lacking)}"


@pytest.mark.requirement("house.manifest-both-ways")
def test_every_row_has_a_test_and_every_test_a_row() -> None:
    rows = [
        found
        for path in sorted(ROWS.glob("*.toml"))
        for found in rows_in(path.read_text(encoding="utf-8"), path.name)
    ]
    marks = [
        mark
        for path in sorted(TESTS.rglob("*.py"))
        for mark in marks_in(path.read_text(encoding="utf-8"), str(path.relative_to(TESTS)))
    ]

    sources = {
        str(path.relative_to(TESTS)): path.read_text(encoding="utf-8")
        for path in sorted(TESTS.rglob("test_*.py"))
    }
    unmarked = [test for file, text in sources.items() for test in unmarked_tests(text, file)]
    found = "\n".join([*complaints(rows, marks), *unmarked])

    if found:
        pytest.fail(found, pytrace=False)


GOOD_ROW = (
    '[[requirement]]\nid = "wire.order"\nsource = "acp-host §1.5"\ntext = "It keeps order."\n'
)
GOOD_TEST = '@pytest.mark.requirement("wire.order")\ndef test_it(): ...\n'


def complaints_about(rows: str, test: str = "") -> str:
    return "\n".join(complaints(rows_in(rows, "wire.toml"), marks_in(test, "test_wire.py")))


@pytest.mark.requirement("house.manifest-both-ways")
def test_row_with_a_test_is_valid() -> None:
    assert not complaints_about(GOOD_ROW, GOOD_TEST)


@pytest.mark.requirement("house.manifest-both-ways")
def test_row_with_a_reason_is_valid() -> None:
    assert not complaints_about(GOOD_ROW + 'reason = "There is no wire."\n')


@pytest.mark.requirement("house.manifest-both-ways")
def test_row_without_a_test_is_reported_once_for_its_file() -> None:
    more = GOOD_ROW.replace("order", "once")

    assert complaints_about(GOOD_ROW + more) == "wire.toml: 2 without a test: order, once"


@pytest.mark.requirement("house.manifest-both-ways")
def test_test_without_a_row_is_reported() -> None:
    assert complaints_about("", GOOD_TEST) == "test_wire.py:1: wire.order has no row"


@pytest.mark.requirement("house.manifest-both-ways")
def test_unmarked_test_is_reported_unless_its_class_or_file_is_marked() -> None:
    mark = 'pytest.mark.requirement("wire.order")'
    others = "@pytest.mark.timeout(5)\nasync def test_other(): ...\ndef helper(): ...\n"
    in_class = f"@{mark}\nclass TestIt:\n    def test_it(self): ...\n"
    case = f'@pytest.mark.parametrize("x", [pytest.param(1, marks={mark})])\ndef test_x(x): ...\n'

    assert not [*unmarked_tests(f"pytestmark = [{mark}]\n" + others, "t.py")]
    assert not [*unmarked_tests(GOOD_TEST + in_class, "t.py")]
    assert [*unmarked_tests(GOOD_TEST + others + case, "t.py")] == [
        "t.py:4: test_other proves no requirement",
        "t.py:7: test_x proves no requirement",
    ]


@pytest.mark.requirement("house.manifest-both-ways")
def test_row_has_a_test_or_a_reason_but_not_both() -> None:
    assert "needs no reason" in complaints_about(GOOD_ROW + 'reason = "Why not."\n', GOOD_TEST)


@pytest.mark.requirement("house.manifest-complete")
def test_id_is_unique_over_all_files() -> None:
    assert "wire.order: stands 2 times" in complaints_about(GOOD_ROW + GOOD_ROW, GOOD_TEST)


@pytest.mark.requirement("house.manifest-complete")
def test_row_has_exactly_the_required_members() -> None:
    assert "unknown key 'note'" in complaints_about(GOOD_ROW + 'note = "x"\n', GOOD_TEST)
    assert "no text" in complaints_about(GOOD_ROW.partition("text")[0], GOOD_TEST)
    assert "reason must be a sentence" in complaints_about(GOOD_ROW + 'reason = ""\n')
    assert "like wire.short-name" in complaints_about(GOOD_ROW.replace("wire.order", "wire.Order"))
    assert "like wire.short-name" in complaints_about(GOOD_ROW.replace("wire.", "wires."))
    assert "unknown table 'requirements'" in complaints_about("requirements = []\n")


@pytest.mark.requirement("house.manifest-both-ways")
def test_mark_is_found_wherever_pytest_reads_it() -> None:
    module = 'pytestmark = [pytest.mark.requirement("a.b"), pytest.mark.slow]\n'
    param = 'x = pytest.param(1, marks=pytest.mark.requirement("a.c", "a.d"))\n'
    method = (
        'class TestIt:\n    @pytest.mark.requirement("a.e")\n    async def test_it(self): ...\n'
    )

    found = marks_in(module + param + method, "test.py")

    assert sorted(id_ for id_, _ in found) == ["a.b", "a.c", "a.d", "a.e"]


@pytest.mark.requirement("house.manifest-both-ways")
def test_computed_id_is_refused() -> None:
    for arguments in ("NAME", 'f"a.{b}"', "*NAMES", "", 'id="a.b"'):
        mark = f"x = pytest.mark.requirement({arguments})\n"

        assert "is a string, written out" in complaints_about("", mark)
