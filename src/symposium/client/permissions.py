"""Permission requests: options, deciders, and their text.

Titles differ between agents: some are only a path, only the name of a tool, or the command.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePath
from typing import Any, Final, Protocol, TypeAlias, cast

from peerwire.jsonrpc.values import as_object
from symposium.client.events import ToolCall, ToolDiff, read_tool_call
from symposium.permissions.tool_calls import PATH_KEYS

READ_KINDS: Final = frozenset({"read", "search", "think"})
"""Kinds of tool calls that change nothing; not `fetch`, which uses the network."""


@dataclass(frozen=True, slots=True)
class Option:
    """Answer that a permission request offers.

    Attributes:
        id: id of the option; two options may share a kind, never an id.
        name: the text for the user.
        kind: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or an unknown kind.
    """

    id: str
    name: str
    kind: str

    @property
    def allows(self) -> bool:
        """Whether the option allows the action."""
        return self.kind.startswith("allow")


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission request of an agent."""

    tool_call: ToolCall
    options: tuple[Option, ...]

    def option(self, *kinds: str) -> Option | None:
        """The first option of the first kind that exists."""
        found = [option for kind in kinds for option in self.options if option.kind == kind]
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """The option chosen by the user or by a rule."""

    option: Option


@dataclass(frozen=True, slots=True)
class Declined:
    """No option was chosen: the turn was canceled, or no option denies the action."""


Decision: TypeAlias = ChosenOption | Declined


class Decider(Protocol):
    """Decide on permissions: by a rule, or by asking the user."""

    async def decide(self, permission: Permission) -> Decision:
        """Decide one request; others may arrive meanwhile."""
        ...


def read_permission(params: Mapping[str, Any]) -> Permission:
    """Parse the params of `session/request_permission`."""
    options: list[Option] = []
    for entry in cast("list[Any]", params.get("options") or []):
        members = as_object(entry)
        option_id = members.get("optionId")
        if isinstance(option_id, str):
            name, kind = str(members.get("name", option_id)), str(members.get("kind", "?"))
            options.append(Option(option_id, name, kind))
    tool_call: Any = params.get("toolCall")
    call = as_object(tool_call)
    return Permission(read_tool_call(call), tuple(options))


def outcome(decision: Decision) -> dict[str, Any]:
    """Make the result of `session/request_permission`."""
    match decision:
        case ChosenOption(option):
            return {"outcome": {"outcome": "selected", "optionId": option.id}}
        case Declined():
            return {"outcome": {"outcome": "cancelled"}}


def allowed(permission: Permission) -> Decision:
    """Allow, for this time only if an option exists for that."""
    option = permission.option("allow_once", "allow_always")
    return Declined() if option is None else ChosenOption(option)


def refused(permission: Permission) -> Decision:
    """Deny, for this time only if an option exists for that."""
    option = permission.option("reject_once", "reject_always")
    return Declined() if option is None else ChosenOption(option)


class ApproveAll:
    """Decider that allows every request, as for `--approve-all`."""

    async def decide(self, permission: Permission) -> Decision:
        """Choose an option that allows the request."""
        return allowed(permission)


class DenyAll:
    """Decider that rejects every request."""

    async def decide(self, permission: Permission) -> Decision:
        return refused(permission)


class ApproveReads:
    """Allow requests that only read; leave the rest to another decider."""

    def __init__(self, otherwise: Decider) -> None:
        self._otherwise = otherwise

    async def decide(self, permission: Permission) -> Decision:
        """Allow a request that only reads; ask the other decider about the rest."""
        if permission.tool_call.kind in READ_KINDS:
            return allowed(permission)
        return await self._otherwise.decide(permission)


CONTEXT: Final = 3
"""Unchanged lines that are shown around a change."""

MAX_COMPARED: Final = 3000
"""Maximum number of lines to compare; of a longer text, every line counts as changed."""

_FEW: Final = 400
"""Number of lines above which frequent lines are ignored in the comparison."""


@dataclass(frozen=True, slots=True)
class LineDiff:
    """Changed lines of a file, as a diff.

    Attributes:
        lines: lines after `+`, `-`, or a blank; `@@` replaces lines that are left out.
        added: number of added lines.
        removed: number of removed lines.
    """

    lines: tuple[str, ...]
    added: int
    removed: int


def line_diff(old: str, new: str) -> LineDiff:
    """Compare the old text with the new one."""
    # Not splitlines: a form feed or a lone carriage return ends no line of a file.
    before, after = _lines(old), _lines(new)
    first = _common(before, after)
    last = _common(before[first:][::-1], after[first:][::-1])
    # A common beginning and end need no comparison, except for the shown context.
    lead, trail = min(first, CONTEXT), min(last, CONTEXT)
    before = before[first - lead : len(before) - last + trail]
    after = after[first - lead : len(after) - last + trail]
    if max(len(before), len(after)) > MAX_COMPARED:
        return _replaced(before, after, lead, trail)
    return _compared(before, after)


def _replaced(before: Sequence[str], after: Sequence[str], lead: int, trail: int) -> LineDiff:
    minus = [f"-{line}" for line in before[lead : len(before) - trail]]
    plus = [f"+{line}" for line in after[lead : len(after) - trail]]
    above = [f" {line}" for line in before[:lead]]
    below = [f" {line}" for line in before[len(before) - trail :]]
    return LineDiff((*above, *minus, *plus, *below), len(plus), len(minus))


def _compared(before: Sequence[str], after: Sequence[str]) -> LineDiff:
    shown: list[str] = []
    added = removed = 0
    # The user waits: for long texts, a good diff soon is better than the best diff later.
    is_long = max(len(before), len(after)) > _FEW
    matcher = SequenceMatcher(None, before, after, autojunk=is_long)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            shown.append("@@")
        for tag, left, left_end, right, right_end in group:
            if tag == "equal":
                shown += [f" {line}" for line in before[left:left_end]]
                continue
            shown += [f"-{line}" for line in before[left:left_end]]
            shown += [f"+{line}" for line in after[right:right_end]]
            removed += left_end - left
            added += right_end - right
    return LineDiff(tuple(shown), added, removed)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


_VERBS: Final = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "run",
    "think": "think about",
    "fetch": "fetch",
    "switch_mode": "switch its mode",
}
"""Verbs by the kind of the tool call."""

_ON_FILES: Final = frozenset({"read", "edit", "delete", "move", "search"})

_OTHER: Final = "do this"


@dataclass(frozen=True, slots=True)
class ToolCallSummary:
    """The action that an agent requests.

    Attributes:
        text: one line that completes "wants to"; ends with the number of changed lines.
        lines: further details that the user must see before deciding.
    """

    text: str
    lines: tuple[str, ...] = ()


def summarize(call: ToolCall, root: Path | None = None) -> ToolCallSummary:
    """Describe the action of a tool call, with paths relative to the root."""
    verb = _VERBS.get(call.kind or "", _OTHER)
    if call.command:
        return _to_run(call.command)
    if call.kind == "execute" and call.title:
        return _to_run(call.title)
    files = _files(call, root)
    if call.changes:
        verb = "edit" if verb == _OTHER else verb
        return _to_change(call, verb, files, root)
    if files and call.kind in _ON_FILES:
        lines = files if len(files) > 1 else ()
        return ToolCallSummary(f"{verb} {_named(files)}{_also(call, files)}", tuple(lines))
    # Nothing but the arguments is left to show: they may be all that matters.
    given = json.dumps(dict(call.input), indent=2, ensure_ascii=False, default=str)
    lines = [*given.splitlines()] if call.input else []
    return ToolCallSummary(f"{verb}: {call.title or f'call {call.id}'}", (*files, *lines))


def diff_text(call: ToolCall) -> str:
    """List added and removed lines by file; empty if the agent does not show them."""
    parts = [f"--- {each.path}\n+++ {each.path}\n{_joined(each)}" for each in call.changes]
    return "\n".join(parts)


def _to_run(command: str) -> ToolCallSummary:
    lines = command.strip().splitlines()
    if len(lines) <= 1:
        return ToolCallSummary(f"run: {command.strip()}")
    return ToolCallSummary(f"run a script of {len(lines)} lines: {lines[0]} …", tuple(lines))


def _to_change(
    call: ToolCall, verb: str, files: Sequence[str], root: Path | None
) -> ToolCallSummary:
    found = [(each.path, line_diff(each.old, each.new)) for each in call.changes]
    added, removed = sum(diff.added for _, diff in found), sum(diff.removed for _, diff in found)
    lines: list[str] = []
    for path, diff in found:
        if len(files) > 1:
            lines.append(f"{_short(path, root)} (+{diff.added} -{diff.removed})")
        lines += diff.lines
    shown = {_short(path, root) for path, _ in found}
    lines += [each for each in files if each not in shown]
    text = f"{verb} {_named(files)} (+{added} -{removed}){_also(call, files)}"
    return ToolCallSummary(text, tuple(lines))


def _files(call: ToolCall, root: Path | None) -> list[str]:
    return list(dict.fromkeys(_short(each, root) for each in call.paths or _given_path(call)))


def _given_path(call: ToolCall) -> Sequence[str]:
    """List files that only the arguments name."""
    named = [call.input.get(name) for name in PATH_KEYS]
    return [each for each in named if isinstance(each, str) and each]


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{len(files)} files" if files else "a file"


def _also(call: ToolCall, files: Sequence[str]) -> str:
    """Return the agent's title if it says more than the name of a file."""
    title = (call.title or "").strip()
    names = {PurePath(each).name for each in files}
    return "" if not title or any(name in title for name in names) else f": {title}"


def _short(path: str, root: Path | None) -> str:
    place = PurePath(path)
    if root is None or ".." in place.parts or not place.is_relative_to(root):
        return path
    return str(place.relative_to(root))


def _joined(change: ToolDiff) -> str:
    return "\n".join(line_diff(change.old, change.new).lines)
