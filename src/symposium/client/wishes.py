"""Describe the action that an agent requests, uncut, so that the user can decide.

Titles differ between agents: some are only a path, only the name of a tool, or the command.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from symposium.client.events import Change, ToolCall
from symposium.client.line_diff import line_diff
from symposium.policy.tool_calls import PATH_KEYS

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
class Wish:
    """The action that an agent requests.

    Attributes:
        text: one line that completes "wants to"; ends with the number of changed lines.
        lines: further details that the user must see before deciding.
    """

    text: str
    lines: tuple[str, ...] = ()


def wish_of(call: ToolCall, root: Path | None = None) -> Wish:
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
        return Wish(f"{verb} {_named(files)}{_also(call, files)}", tuple(lines))
    # Nothing but the arguments is left to show: they may be all that matters.
    given = json.dumps(dict(call.input), indent=2, ensure_ascii=False, default=str)
    lines = [*given.splitlines()] if call.input else []
    return Wish(f"{verb}: {call.title or f'call {call.id}'}", (*files, *lines))


def diff_text(call: ToolCall) -> str:
    """List added and removed lines by file; empty if the agent does not show them."""
    parts = [f"--- {each.path}\n+++ {each.path}\n{_joined(each)}" for each in call.changes]
    return "\n".join(parts)


def _to_run(command: str) -> Wish:
    lines = command.strip().splitlines()
    if len(lines) <= 1:
        return Wish(f"run: {command.strip()}")
    return Wish(f"run a script of {len(lines)} lines: {lines[0]} …", tuple(lines))


def _to_change(call: ToolCall, verb: str, files: Sequence[str], root: Path | None) -> Wish:
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
    return Wish(text, tuple(lines))


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


def _joined(change: Change) -> str:
    return "\n".join(line_diff(change.old, change.new).lines)
