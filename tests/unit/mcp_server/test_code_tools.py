"""Tools that answer questions about the code."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.mcp_harness import FakeBus, call_tool, workplace_in

from symposium.bus.errors import BusReconnectingError
from symposium.bus.messages.editor import FileLocation as WireLocation
from symposium.bus.messages.editor import FileRange as WireRange
from symposium.bus.messages.editor import Selection
from symposium.bus.messages.editor import SymbolDef as WireSymbol
from symposium.code.ide_operations import CodePosition, CodeRange, SymbolDefinition
from symposium.code.query.functions import NoIde
from symposium.mcp_server.startup import EditorFirst
from symposium.mcp_server.tools.code import MAX_LINES, as_lines


def place(line: int, path: str = "/w/a.py") -> CodeRange:
    return CodeRange(path, CodePosition(line, 5), CodePosition(line, 9), "def user(): ...")


class FakeIde(NoIde):
    """An IDE with two symbols."""

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        return (
            [
                SymbolDefinition("user", place(1), "Function"),
                SymbolDefinition("users", place(2)),
            ]
            if name.startswith("user") or name == "us"
            else []
        )

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        return [place(7), place(symbol.defined_at.start.line + 7), place(7)]


def wire_symbol() -> WireSymbol:
    start, end = WireLocation(1, 5), WireLocation(1, 9)
    return WireSymbol("user", WireRange("/editor.py", start, end), "Function")


@pytest.mark.requirement("mcp-server.code-tools")
async def test_editor_answers_before_other_sources(tmp_path: Path) -> None:
    bus = FakeBus()
    ide = EditorFirst(bus, FakeIde())
    without = await ide.symbols("user")
    bus.answer("resolve_symbol_by_name", [wire_symbol()])
    bus.answer("find_all_references", [wire_symbol().defined_at])
    with_one = await ide.symbols("user")
    used = await ide.references(with_one[0])
    bus.answer("resolve_symbol_by_name", BusReconnectingError("reconnecting", ""))

    assert [each.defined_at.path for each in without] == ["/w/a.py", "/w/a.py"]
    assert [each.defined_at.path for each in with_one] == ["/editor.py"]
    assert [each.path for each in used] == ["/editor.py"]
    assert bus.timeouts == [10.0] * 3
    bus.answer("find_all_references", BusReconnectingError("reconnecting", ""))
    assert len(await ide.symbols("user")) == 2
    assert [each.start.line for each in await ide.references(without[0])] == [7, 8, 7]
    del tmp_path


@pytest.mark.requirement("mcp-server.code-tools")
async def test_symbol_is_found_by_its_exact_name_first(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path, ide=FakeIde())
    exact = await call_tool(workplace, "resolve_symbol_by_name", {"name": "user"})
    like = await call_tool(workplace, "resolve_symbol_by_name", {"name": "us"})
    none = await call_tool(workplace, "resolve_symbol_by_name", {"name": "nothing"})

    assert [each.name for each in exact.value.symbols] == ["user"]
    assert exact.text == "1 definition(s):\nFunction user /w/a.py:1:5  def user(): ..."
    assert (like.value.is_exact, len(like.value.symbols)) == (False, 2)
    assert "No symbol is named exactly 'us'" in like.text
    assert none.value.symbols == []
    assert not none.is_error


@pytest.mark.requirement("mcp-server.code-tools")
async def test_references_are_listed_once(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path, ide=FakeIde())
    answer = await call_tool(workplace, "find_all_references", {"name": "user"})

    assert [each.start.line for each in answer.value.references] == [7, 8]
    assert answer.value.definitions == 1


@pytest.mark.requirement("mcp-server.code-tools", "mcp-server.errors")
async def test_answer_names_an_alternative_when_no_source_knows_the_code(tmp_path: Path) -> None:
    answer = await call_tool(workplace_in(tmp_path), "resolve_symbol_by_name", {"name": "user"})

    assert answer.is_error
    assert "search(path, regex)" in answer.text


@pytest.mark.requirement("mcp-server.code-tools")
async def test_program_is_evaluated_at_the_root(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    (workplace.root / "app.py").write_text("one\ntwo\n", encoding="utf-8")
    answer = await call_tool(workplace, "ide_operation", {"program": "lines(`app.py`, 2, 2)"})
    wrong = await call_tool(workplace, "ide_operation", {"program": "lines(`app.py`, 2"})

    value = {
        "path": "app.py",
        "start": {"line": 2, "column": 1},
        "end": {"line": 2, "column": 3},
        "content": "two",
    }
    assert answer.text == json.dumps(value, indent=2)
    assert answer.value.value == value
    assert wrong.is_error
    assert "^" in wrong.text


@pytest.mark.requirement("mcp-server.code-tools")
async def test_selection_is_the_one_of_the_editor(tmp_path: Path) -> None:
    bus = FakeBus()
    workplace = workplace_in(tmp_path, bus)
    without = await call_tool(workplace, "get_selection", {})
    shown = Selection(selected_text="x = 1", file_path="/w/a.py", start_line=3, end_line=3)
    bus.answer("get_selection", shown)
    with_one = await call_tool(workplace, "get_selection", {})

    assert without.value.selected_text is None
    assert "no editor answered" in without.text
    assert not without.is_error
    assert with_one.value == shown
    assert with_one.text == "/w/a.py:3-3\nx = 1"


@pytest.mark.requirement("bus.selection-forms")
@pytest.mark.parametrize(
    ("selection", "text"),
    [
        (Selection(selected_text=None), "nothing is selected"),
        (
            Selection(selected_text=None, message="the editor has no window"),
            "the editor has no window",
        ),
        (Selection(selected_text="x"), "x"),
        (Selection(selected_text="x", file_path="/a.py"), "/a.py\nx"),
        (Selection(selected_text="x", file_path="/a.py", start_line=3), "/a.py:3\nx"),
    ],
)
async def test_selection_is_shown_with_its_known_location(
    selection: Selection, text: str, tmp_path: Path
) -> None:
    bus = FakeBus()
    bus.answer("get_selection", selection)
    answer = await call_tool(workplace_in(tmp_path, bus), "get_selection", {})

    assert answer.text == text


@pytest.mark.requirement("mcp-server.program-hints")
async def test_program_with_an_ambiguous_name_shows_hints(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path, ide=FakeIde())
    answer = await call_tool(workplace, "ide_operation", {"program": "findDefinitions(`us`)"})

    shown = json.loads(answer.text)
    assert shown["hints"]
    assert shown["hints"] == answer.value.hints


@pytest.mark.requirement("mcp-server.code-tools")
def test_places_beyond_the_maximum_are_counted_in_the_text() -> None:
    rows = [(f"r{number}", place(number)) for number in range(MAX_LINES + 2)]
    all_but_two = [f"r{number} /w/a.py:{number}:5  def user(): ..." for number in range(MAX_LINES)]

    assert as_lines([], "reference") == "No reference was found."
    assert as_lines(rows[:-2], "reference").splitlines() == ["200 reference(s):", *all_but_two]
    assert as_lines(rows, "reference").splitlines() == [
        *("202 reference(s):", *all_but_two, "(and 2 more)")
    ]
