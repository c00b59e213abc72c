"""The tools, resources, and prompts on offer.

A tool that is not listed can still be called: an agent that knows its name gets its answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, get_args

import msgspec

from localio.plugins import module_name, names_in
from peerwire.errors import LocalError
from symposium.bus.errors import BusError
from symposium.bus.messages.worktrees import FindOverlaps
from symposium.documents.first_prompt import ALIASES, COLLABORATORS, GuidanceWorkspace
from symposium.documents.guidance import URI, GuidanceText
from symposium.errors import SymposiumError
from symposium.mcp_server.server_context import PROMPTS, ServerContext
from symposium.mcp_server.task_lookup import keep_collaborator, look_up
from symposium.mcp_server.tool import (
    Json,
    ServedTool,
    ToolAnswer,
    ToolCaller,
    ToolInvocation,
    Topic,
    unknown,
)

TOOLS: Final = "symposium.mcp_server.tools"

_TOPICS: Final[Mapping[Topic, str]] = {
    "code": "Look up code instead of assuming",
    "walkthroughs": "Explain code with a walkthrough",
    "taskspaces": "Keep the user informed, and work with other taskspaces",
    "reviews": "Ask for a review",
    "references": "Expand references of the user",
    "packages": "Read the source of dependencies",
}
_FIRST: Final = (
    "Symposium gives you the working rules of this project and your current task. Start with the "
    "prompt `yiasou`, or call `expand_reference` with the id `yiasou`; the content is the same."
)


@cache
def all_tools() -> Mapping[str, ServedTool]:
    """Every tool by name, in the order of names; imports them all.

    Raises:
        LocalError: two tools have one name, or a module has none.
    """
    tools: dict[str, ServedTool] = {}
    for name in names_in(TOOLS):
        module = import_module(f"{TOOLS}.{module_name(name)}")
        made = [value for value in vars(module).values() if isinstance(value, ServedTool)]
        if not made:
            raise LocalError(f"{module.__name__} makes no tool")
        for tool in made:
            if tools.setdefault(tool.name, tool) is not tool:
                raise LocalError(f"two tools are called {tool.name}")
    return MappingProxyType(dict(sorted(tools.items())))


def instructions(tools: Iterable[ServedTool]) -> str:
    """Instructions in the `initialize` result; they list exactly the given tools."""
    return "\n".join([_FIRST, *_lines(list(tools))])


def _lines(tools: list[ServedTool]) -> Iterator[str]:
    for topic in get_args(Topic):
        of_topic = [each for each in tools if each.topic == topic]
        if of_topic:
            yield f"\n{_TOPICS[topic]}:"
            yield from (f"- `{each.name}`: {each.summary}" for each in of_topic)


CONFLICTS: Final = "taskspace://conflicts"

LISTED: Final[Json] = {
    "uri": CONFLICTS,
    "name": "Conflicts with other taskspaces",
    "description": "Lines you change that other taskspaces change too, uncommitted work included.",
    "mimeType": "text/plain",
}

COMPARISON_TIMEOUT: Final = 20.0
"""Seconds to wait for the comparison of all taskspaces."""


async def conflicts(workplace: ServerContext) -> str:
    """The text of the resource; it reports a daemon that cannot be reached."""
    where = workplace.standing
    if not where.is_in_taskspace:
        return "Not in a taskspace: no conflicts are possible.\n"
    request = FindOverlaps(project=where.project)
    try:
        found = await workplace.bus.request(request, timeout=COMPARISON_TIMEOUT)
    except BusError as error:
        return f"Unknown: {error}\n"
    lines = [
        f"with {each.second if each.first == where.taskspace else each.first}: {line}"
        for each in found.overlaps
        if where.taskspace in {each.first, each.second}
        for line in each.lines
    ]
    return "\n".join(lines or ["No other taskspace changes your lines."]) + "\n"


AUTO: Final = "auto"
ALL: Final = "all"

NEEDED_FILES: Final[Mapping[str, Sequence[str]]] = {
    "get_rust_crate_source": ("Cargo.toml",),
    "get_package_source": (
        *("Cargo.toml", "package.json", "pyproject.toml", "setup.py", "setup.cfg"),
        *("requirements*.txt", "Pipfile"),
    ),
}
"""Tools that are useful only with one of these files, by patterns of names."""


class UnknownToolError(SymposiumError):
    """A word is neither a tool nor a topic of tools."""


def chosen_tools(
    workplace: ServerContext, names: Sequence[str] = (AUTO,)
) -> Mapping[str, ServedTool]:
    """The tools to list, by name.

    Args:
        workplace: context of the server.
        names: tools and topics; `all` for every tool, `auto` for those useful in the workspace.

    Raises:
        UnknownToolError: a name is unknown.
    """
    tools = all_tools()
    chosen: set[str] = set()
    for name in names:
        chosen.update(_named(name, tools, workplace))
    return {name: tool for name, tool in tools.items() if name in chosen}


def _named(name: str, tools: Mapping[str, ServedTool], workplace: ServerContext) -> Iterable[str]:
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


def _useful(tools: Mapping[str, ServedTool], workplace: ServerContext) -> list[str]:
    workspace = GuidanceWorkspace(workplace.root)
    return [
        name
        for name, tool in tools.items()
        if (tool.topic != "taskspaces" or workplace.standing.is_in_taskspace)
        and _has_files(name, workspace)
    ]


def _has_files(name: str, workspace: GuidanceWorkspace) -> bool:
    patterns = NEEDED_FILES.get(name)
    return patterns is None or any(workspace.has(pattern) for pattern in patterns)


MARKDOWN: Final = "text/markdown"
REFERENCE: Final = "symposium://ref/"
"""Prefix of the URI of an attached value; its id follows."""

_SUMMARY: Final = "Working rules of this project, your taskspace, and your first task"
_TITLES: Final = {"yiasou": "Yiasou", "hi": "Hi"}


class ToolOffering:
    """Tools, resources, and prompts of one context.

    Args:
        workplace: context of the server.
        names: tools to list; see `chosen_tools`.

    Raises:
        UnknownToolError: a name is unknown.
    """

    def __init__(self, workplace: ServerContext, names: Sequence[str] = (AUTO,)) -> None:
        self._workplace = workplace
        self._names = names
        chosen_tools(workplace, names)

    @property
    def instructions(self) -> str:
        """Instructions in the `initialize` result."""
        return instructions(chosen_tools(self._workplace, self._names).values())

    def tools(self) -> Sequence[Json]:
        """The listed tools; unlisted ones can be called, too."""
        found = chosen_tools(self._workplace, self._names)
        return [_listed_tool(tool) for tool in found.values()]

    async def call_tool(
        self, name: str, params: Mapping[str, Any], caller: ToolCaller
    ) -> Json | None:
        """Call a tool; an error is in its result, with the fix."""
        tool = all_tools().get(name)
        if tool is None:
            return None
        call = ToolInvocation(self._workplace, caller.news)
        return _result(await tool.call(params.get("arguments"), call), tool)

    def resources(self) -> Sequence[Json]:
        """The current guidance; in a task, also its conflicts with other tasks."""
        texts = [_listed_text(text) for text in self._workplace.library.shelf().listed]
        return [*texts, LISTED] if self._workplace.standing.is_in_taskspace else texts

    def templates(self) -> Sequence[Json]:
        """Attached values by their id."""
        return [
            {
                "uriTemplate": f"{REFERENCE}{{id}}",
                "name": "Attached reference",
                "description": 'The content of a <symposium-ref id="…"/> tag, as JSON.',
                "mimeType": "application/json",
            }
        ]

    async def read(self, uri: str, caller: ToolCaller) -> Json | None:
        """Read a guidance text by its URI or its seed name, or an attached value."""
        del caller
        text = self._workplace.library.shelf().get(uri.removeprefix(URI))
        if text is not None:
            self._workplace.readings.note([text])
            return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text.text}]}
        if uri == CONFLICTS:
            body = await conflicts(self._workplace)
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": body}]}
        if not uri.startswith(REFERENCE):
            return None
        stored = self._workplace.references.get(uri.removeprefix(REFERENCE))
        if stored is None:
            return None
        value = msgspec.json.format(msgspec.json.encode(stored.value)).decode()
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": value}]}

    def prompts(self) -> Sequence[Json]:
        """The first prompt, under both of its names."""
        names = ", ".join(COLLABORATORS)
        argument = {
            "name": "collaborator",
            "description": f"Collaboration style: {names}, or the name of an agent. "
            "Default: that of the taskspace, else socrates.",
            "required": False,
        }
        return [
            {
                "name": name,
                "title": _TITLES[name],
                "description": _SUMMARY,
                "arguments": [argument],
            }
            for name in PROMPTS
        ]

    async def prompt(self, name: str, params: Mapping[str, Any], caller: ToolCaller) -> Json | None:
        """The first prompt with the current taskspace, as directives to load resources."""
        del caller
        if name not in PROMPTS:
            return None
        arguments: Mapping[str, str] = params.get("arguments") or {}
        for other in arguments.keys() - {"collaborator"}:
            raise unknown("argument", str(other), ["collaborator"])
        asked, workplace = arguments.get("collaborator"), self._workplace
        task = await look_up(workplace.standing, workplace.bus)
        await keep_collaborator(workplace.standing, workplace.bus, task, asked)
        text = workplace.boot.directives(task, asked)
        workplace.readings.note_prompt(name, text)
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return {"description": _SUMMARY, "messages": [message]}

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Sequence[str] | None:
        """Names of collaborators, and ids of attached values."""
        match ref.get("type"), ref.get("name") or ref.get("uri"), argument:
            case "ref/prompt", "yiasou" | "hi", "collaborator":
                return [name for name in (*COLLABORATORS, *ALIASES) if name.startswith(begun)]
            case "ref/resource", str(uri), "id" if uri.startswith(REFERENCE):
                return [key for key in self._workplace.references.newest() if key.startswith(begun)]
            case _:
                return None


def _listed_tool(tool: ServedTool) -> Json:
    hints = tool.hints
    entry: Json = {
        "name": tool.name,
        "title": hints.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {
            "title": hints.title,
            "readOnlyHint": hints.reads_only,
            "destructiveHint": hints.destroys,
            "idempotentHint": hints.repeats_well,
            "openWorldHint": hints.reaches_out,
        },
    }
    schema = tool.output_schema
    return entry if schema is None else entry | {"outputSchema": schema}


def _listed_text(text: GuidanceText) -> Json:
    entry: Json = {"uri": text.uri, "name": text.name, "mimeType": MARKDOWN, "size": text.size}
    return entry | {"description": text.description} if text.description else entry


def _result(answer: ToolAnswer, tool: ServedTool) -> Json:
    result: Json = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
    if answer.value is not None and tool.result is not None:
        result["structuredContent"] = msgspec.to_builtins(answer.value)
    return result
