"""Choose which tools a server lists: those that are of use in its workspace, or those named.

A tool that is not listed can still be called: an agent that knows its name gets its answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

from symposium.documents.boot import Workspace
from symposium.errors import SymposiumError
from symposium.mcp_server.registry import all_tools
from symposium.mcp_server.tool import Tool, Topic
from symposium.mcp_server.workplace import Workplace

AUTO: Final = "auto"
ALL: Final = "all"

NEEDED_FILES: Final[Mapping[str, Sequence[str]]] = {
    "get_rust_crate_source": ("Cargo.toml",),
    "get_package_source": (
        *("Cargo.toml", "package.json", "pyproject.toml", "setup.py", "setup.cfg"),
        *("requirements*.txt", "Pipfile"),
    ),
}
"""Tools that are of use only where one of these files is, by patterns of names."""


class UnknownToolError(SymposiumError):
    """A word is neither a tool nor a topic of tools."""


def chosen_tools(workplace: Workplace, names: Sequence[str] = (AUTO,)) -> Mapping[str, Tool]:
    """The tools to list, by name.

    Args:
        workplace: where the agent works.
        names: tools and topics; `all` for every tool, `auto` for those of use in the workspace.

    Raises:
        UnknownToolError: a name is unknown.
    """
    tools = all_tools()
    chosen: set[str] = set()
    for name in names:
        chosen.update(_named(name, tools, workplace))
    return {name: tool for name, tool in tools.items() if name in chosen}


def _named(name: str, tools: Mapping[str, Tool], workplace: Workplace) -> Iterable[str]:
    topics: tuple[str, ...] = get_args(Topic)
    if name == ALL:
        return tools
    if name == AUTO:
        return _useful(tools, workplace)
    if name in topics:
        return [each.name for each in tools.values() if each.topic == name]
    if name in tools:
        return [name]
    known = ", ".join((AUTO, ALL, *topics, *tools))
    raise UnknownToolError(f"unknown tool or topic {name[:80]!r}", f"known: {known}")


def _useful(tools: Mapping[str, Tool], workplace: Workplace) -> list[str]:
    workspace = Workspace(workplace.root)
    return [
        name
        for name, tool in tools.items()
        if (tool.topic != "taskspaces" or workplace.standing.is_in_taskspace)
        and _has_files(name, workspace)
    ]


def _has_files(name: str, workspace: Workspace) -> bool:
    patterns = NEEDED_FILES.get(name)
    return patterns is None or any(workspace.has(pattern) for pattern in patterns)
