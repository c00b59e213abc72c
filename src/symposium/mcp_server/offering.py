"""Symposium's own MCP server part: tools, guidance, references, and the first prompt."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from symposium.documents.boot import ALIASES, COLLABORATORS
from symposium.documents.guidance import URI, GuidanceText
from symposium.mcp_server.conflicts import CONFLICTS, LISTED, conflicts
from symposium.mcp_server.expansion import PROMPTS
from symposium.mcp_server.part import Caller, Json, unknown
from symposium.mcp_server.registry import all_tools, instructions
from symposium.mcp_server.task_lookup import keep_collaborator, look_up
from symposium.mcp_server.tool import Answer, Call, Tool
from symposium.mcp_server.tool_choice import AUTO, chosen_tools
from symposium.mcp_server.workplace import Workplace

MARKDOWN: Final = "text/markdown"
REFERENCE: Final = "symposium://ref/"
"""What the URI of an attached value begins with; its id follows."""

_SUMMARY: Final = "Working rules of this project, your taskspace, and your first task"
_TITLES: Final = {"yiasou": "Yiasou", "hi": "Hi"}


class Offering:
    """A part of a server, for one workplace.

    Args:
        workplace: where the agent works.
        names: which tools are listed; see `symposium.mcp_server.tool_choice`.

    Raises:
        UnknownToolError: a name is no tool and no topic.
    """

    def __init__(self, workplace: Workplace, names: Sequence[str] = (AUTO,)) -> None:
        self._workplace = workplace
        self._names = names
        chosen_tools(workplace, names)

    @property
    def instructions(self) -> str:
        """Instructions in the `initialize` result."""
        return instructions(chosen_tools(self._workplace, self._names).values())

    def tools(self) -> Sequence[Json]:
        """The tools that are listed; all others can be called too."""
        found = chosen_tools(self._workplace, self._names)
        return [_listed_tool(tool) for tool in found.values()]

    async def call_tool(self, name: str, params: Mapping[str, Any], caller: Caller) -> Json | None:
        """Call a tool; an error is in its result, with the fix."""
        tool = all_tools().get(name)
        if tool is None:
            return None
        call = Call(self._workplace, caller.news)
        return _result(await tool.call(params.get("arguments"), call), tool)

    def resources(self) -> Sequence[Json]:
        """The guidance that holds now; in a taskspace also who changes the same lines."""
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

    async def read(self, uri: str, caller: Caller) -> Json | None:
        """A guidance text, whole, by its URI, or as the seed has it; or an attached value."""
        del caller
        text = self._workplace.library.shelf().get(uri.removeprefix(URI))
        if text is not None:
            self._workplace.readings.note([text])
            return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text.text}]}
        if uri == CONFLICTS:
            told = await conflicts(self._workplace)
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": told}]}
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

    async def prompt(self, name: str, params: Mapping[str, Any], caller: Caller) -> Json | None:
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


def _listed_tool(tool: Tool) -> Json:
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


def _result(answer: Answer, tool: Tool) -> Json:
    result: Json = {"content": [{"type": "text", "text": answer.text}], "isError": answer.is_error}
    if answer.value is not None and tool.result is not None:
        result["structuredContent"] = msgspec.to_builtins(answer.value)
    return result
