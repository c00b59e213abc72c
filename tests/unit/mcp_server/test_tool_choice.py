"""Choice of the tools that a server lists."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from tests.support.mcp_harness import ProgressRecorder, workplace_in

from symposium.mcp_server.offering import ToolOffering, UnknownToolError, all_tools, chosen_tools
from symposium.mcp_server.tool import Topic


@dataclass(frozen=True)
class Client:
    """The client of one request."""

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
def test_tools_of_a_language_are_listed_when_its_files_exist(
    file: str | None, missing: set[str], tmp_path: Path
) -> None:
    workplace = workplace_in(tmp_path)
    if file is not None:
        (workplace.root / file).parent.mkdir(exist_ok=True)
        (workplace.root / file).touch()

    assert all_tools().keys() - chosen_tools(workplace).keys() == missing


@pytest.mark.requirement("mcp-server.tool-choice")
def test_tools_of_tasks_are_listed_only_in_a_task(tmp_path: Path) -> None:
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
def test_named_tools_and_topics_are_listed_in_any_workspace(
    names: tuple[str, ...], expected: set[str], tmp_path: Path
) -> None:
    assert chosen_tools(workplace_in(tmp_path, taskspace=""), names).keys() == expected


@pytest.mark.requirement("mcp-server.tool-choice")
def test_error_of_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownToolError, match="unknown tool or topic 'tasks'") as error:
        ToolOffering(workplace_in(tmp_path), ("tasks",))

    topics = get_args(Topic)
    assert "taskspaces" in topics
    assert error.value.hint == f"known: {', '.join(('auto', 'all', *topics, *all_tools()))}"


@pytest.mark.requirement("mcp-server.tool-choice")
async def test_unlisted_tool_still_answers(tmp_path: Path) -> None:
    offering = ToolOffering(workplace_in(tmp_path, taskspace=""))
    result = await offering.call_tool("delete_taskspace", {}, Client())

    assert result is not None
    assert "is not in a taskspace" in result["content"][0]["text"]


@pytest.mark.requirement("mcp-server.tool-choice")
def test_tool_list_is_smaller_in_a_workspace_without_packages_or_task(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path, taskspace="")
    sizes = [
        len(msgspec.json.encode(ToolOffering(workplace, names).tools()))
        for names in (("auto",), ("all",))
    ]

    assert sizes[0] < 0.6 * sizes[1]
