"""Which tools a server lists."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from tests.support.mcp_harness import ProgressRecorder, workplace_in

from symposium.mcp_server.contents import ToolOffering, UnknownToolError, all_tools, chosen_tools


@dataclass(frozen=True)
class Client:
    """A client of one request."""

    revision: str = "2025-11-25"
    news: ProgressRecorder = field(default_factory=ProgressRecorder)
    context: None = None


PACKAGES = {"get_package_source", "get_rust_crate_source"}


@pytest.mark.requirement("mcp-server.tool-choice")
@pytest.mark.parametrize(
    ("file", "missing"),
    [
        (None, PACKAGES),
        ("pyproject.toml", {"get_rust_crate_source"}),
        ("web/package.json", {"get_rust_crate_source"}),
        ("crates/Cargo.toml", set[str]()),
    ],
)
def test_tools_of_a_language_are_listed_where_its_files_are(
    file: str | None, missing: set[str], tmp_path: Path
) -> None:
    workplace = workplace_in(tmp_path)
    if file is not None:
        (workplace.root / file).parent.mkdir(exist_ok=True)
        (workplace.root / file).touch()

    assert all_tools().keys() - chosen_tools(workplace).keys() == missing


@pytest.mark.requirement("mcp-server.tool-choice")
def test_tools_of_tasks_are_listed_in_a_task_only(tmp_path: Path) -> None:
    inside = chosen_tools(workplace_in(tmp_path))
    outside = chosen_tools(workplace_in(tmp_path, taskspace=""))

    of_tasks = {name for name, tool in all_tools().items() if tool.topic == "taskspaces"}
    assert inside.keys() - outside.keys() == of_tasks


@pytest.mark.requirement("mcp-server.tool-choice")
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("all",), set(all_tools())),
        (("get_selection",), {"get_selection"}),
        (("references", "get_selection"), {"expand_reference", "get_selection"}),
    ],
)
def test_named_tools_and_topics_are_listed_wherever_the_server_works(
    names: tuple[str, ...], expected: set[str], tmp_path: Path
) -> None:
    assert chosen_tools(workplace_in(tmp_path, taskspace=""), names).keys() == expected


@pytest.mark.requirement("mcp-server.tool-choice")
def test_an_unknown_name_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownToolError, match="unknown tool or topic 'tasks'") as error:
        ToolOffering(workplace_in(tmp_path), ("tasks",))

    assert "taskspaces" in error.value.hint


@pytest.mark.requirement("mcp-server.tool-choice")
async def test_a_tool_that_is_not_listed_still_answers(tmp_path: Path) -> None:
    offering = ToolOffering(workplace_in(tmp_path, taskspace=""))
    result = await offering.call_tool("delete_taskspace", {}, Client())

    assert result is not None
    assert "is not in a taskspace" in result["content"][0]["text"]


@pytest.mark.requirement("mcp-server.tool-choice")
def test_the_schema_of_a_workspace_without_packages_or_task_is_smaller(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path, taskspace="")
    sizes = [
        len(msgspec.json.encode(ToolOffering(workplace, names).tools()))
        for names in (("auto",), ("all",))
    ]

    assert sizes[0] < 0.6 * sizes[1]
