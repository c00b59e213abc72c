"""The registry of tools."""

import json
import re
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.mcp_harness import ProgressRecorder, workplace_in

from peerwire.errors import LocalError, RpcError
from symposium.mcp_server import offering
from symposium.mcp_server import tools as package
from symposium.mcp_server.offering import all_tools, instructions
from symposium.mcp_server.server import PAGE, page
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

TWIN = '''
from msgspec import Struct
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

class Params(Struct):
    pass

@tool("code", Hints("Twin"))
async def twin(params: Params, call: ToolInvocation) -> ToolAnswer:
    """Do nothing."""
    return ToolAnswer("")
'''


class Params(msgspec.Struct, forbid_unknown_fields=True):
    count: int = 1


class Counted(msgspec.Struct, rename="camel"):
    how_many: int  # part of the schema


@tool("code", Hints("Count"), result=Counted)
async def count(params: Params, call: ToolInvocation) -> ToolAnswer:
    """Count to something.

    Slowly.
    """
    del call
    if params.count < 0:
        raise ValueError("backwards")
    return ToolAnswer(str(params.count), Counted(params.count))


@pytest.mark.requirement("mcp-server.registry")
def test_every_tool_is_found_by_its_type() -> None:
    names = re.compile(r"^@tool\(.*?\n(?:async )?def (\w+)", re.MULTILINE | re.DOTALL)
    sources = Path(package.__path__[0]).glob("[a-z]*.py")

    assert set(all_tools()) == {
        name for source in sources for name in names.findall(source.read_text(encoding="utf-8"))
    }


@pytest.mark.requirement("mcp-server.registry")
@pytest.mark.parametrize(
    ("name", "modules", "problem"),
    [
        ("twin_tools", {"first": TWIN, "second": TWIN}, "two tools are called twin"),
        ("empty_tools", {"first": TWIN, "second": ""}, r"empty_tools\.second makes no tool"),
    ],
)
def test_duplicate_tools_and_modules_without_a_tool_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    modules: dict[str, str],
    problem: str,
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(offering, "TOOLS", name)

    with pytest.raises(LocalError, match=problem):
        all_tools.__wrapped__()


@pytest.mark.requirement("mcp-server.registry")
def test_tool_is_described_by_its_function() -> None:
    assert (count.name, count.summary) == ("count", "Count to something.")
    assert count.input_schema["properties"] == {"count": {"type": "integer", "default": 1}}
    assert count.output_schema is not None
    assert count.output_schema["required"] == ["howMany"]
    assert "- `count`: Count to something." in instructions([count])
    assert "`log_progress`" not in instructions([count])


@pytest.mark.requirement("mcp-server.errors")
async def test_exception_in_a_tool_is_logged_and_reported_as_an_internal_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call = ToolInvocation(workplace_in(tmp_path), ProgressRecorder())
    good = await count.call({"count": 2}, call)
    bad = await count.call({"count": -1}, call)

    assert (good.text, good.is_error) == ("2", False)
    assert good.value.how_many == 2
    assert bad.is_error
    assert "backwards (ValueError; internal error in Symposium)" in bad.text
    logged = [(each.getMessage(), bool(each.exc_info)) for each in caplog.records]
    assert logged == [("the tool count failed", True)]


json_arguments = st.dictionaries(
    st.sampled_from(["id", "name", "message", "content", "program", "x"]),
    st.none() | st.integers() | st.text(max_size=10) | st.lists(st.text(max_size=3), max_size=2),
    max_size=3,
)


@pytest.mark.requirement("mcp-server.arguments")
@given(st.sampled_from(sorted(all_tools())), json_arguments)
def test_any_arguments_are_accepted_or_rejected_with_a_message(
    name: str, arguments: dict[str, object]
) -> None:
    kind = all_tools()[name].params
    try:
        params = msgspec.convert(arguments, kind)
    except msgspec.ValidationError:
        return
    listed = all_tools()[name].input_schema["properties"]
    assert set(arguments) <= set(listed)
    assert json.loads(msgspec.json.encode(params)).keys() <= set(listed)


@pytest.mark.requirement("mcp-server.errors")
def test_long_list_is_paginated() -> None:
    entries = list(range(2 * PAGE + 1))
    seen: list[int] = []
    cursor: str | None = None
    while True:
        piece = page("entries", entries, cursor)
        seen += piece["entries"]
        cursor = piece.get("nextCursor")
        if cursor is None:
            break

    assert seen == entries
    assert len(page("entries", entries, None)["entries"]) == PAGE
    assert page("entries", entries[:PAGE], None) == {"entries": entries[:PAGE]}


@pytest.mark.requirement("mcp-server.errors")
@given(st.text(max_size=20) | st.integers().map(lambda number: f"after:{number}"))
@example(f"after:{'1' * 5000}")
def test_any_cursor_is_accepted_or_refused(cursor: str) -> None:
    try:
        piece = page("entries", [1, 2, 3], cursor)
    except RpcError as error:
        assert error.code == -32602  # noqa: PT017 - either is right
    else:
        assert piece["entries"] == [1, 2, 3][int(cursor.removeprefix("after:")) :]
