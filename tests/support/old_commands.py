"""Commands on an old home and their recorded output, in tests/golden/old_home/commands.jsonl.

A line has the words, the exit code, and the JSON of standard output. `"@any number@"` matches a
number that differs from run to run. Today's output must contain the recorded one: members may be
added, and none may be missing.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

from tests.support.old_home import DATA, filled, unfilled
from tests.support.session_wire import any_kind, any_value, kind_of, shape
from tests.support.task_cli import TaskCli

COMMANDS: Final = DATA / "commands.jsonl"

READS: Final = (
    "task list --all",
    "task show @live@",
    "task show @landed@",
    "task show @archived@",
    "task log @live@",
    "task undo @live@ --list",
    "task undo @landed@ --list",
    "task undo @archived@ --list",
    "task conflicts --project @ROOT@/clone",
    "inbox",
    "up --dry-run",
    "session list --all",
    "session show @terminal@",
    "session attach @agent@ --no-follow",
    "session attach @live@ --no-follow",
    "agents list",
    "agents show some",
    "agents show mine",
    "registry list",
    "registry list-mods",
    "registry resolve-agent some",
    "registry resolve-agent mine",
    "registry resolve-mod ferris",
    "trust list",
    "trust show --cwd @ROOT@/clone",
    "policy list",
    "policy explain @push@",
    "policy explain --read @ROOT@/clone/.env",
    "audit list",
    "audit verify",
    "timeline list",
    "timeline show @timeline@",
    "walkthrough list",
    "walkthrough check",
    "recommendations show --cwd @ROOT@/clone",
    "status",
    "plan --capabilities @ROOT@/editor.json --mods ide-ops,ferris",
)
"""Commands that only read: the same values must be present."""

CHANGES: Final = (
    "task new @fresh@ --agent none --project @ROOT@/clone",
    "task log @fresh@ --add Line",
    "task undo @live@",
    "task land @child@",
    "task undo @archived@",
    "task rm @fresh@ --discard-work",
    "task gc --project @ROOT@/clone",
    "inbox later @live@",
    "inbox answer @live@ seen",
    "trust revoke --cwd @ROOT@/clone",
    "trust grant --yes --cwd @ROOT@/clone",
    "recommendations forget",
    "agents test eliza",
    "agents remove mine",
    "agents add --no-test --id again cat",
    "prompt --agent eliza --proxy timeline Hello",
    "handoff --to eliza Continue",
    "bus send who {}",
    "daemon status",
    "task show nothing",
    "prompt --agent @ROOT@/missing Hello",
)
"""Commands that change something: the same members must be present."""

NAMES: Final = {
    "@live@": "live work",
    "@landed@": "landed work",
    "@archived@": "archived work",
    "@child@": "child work",
    "@fresh@": "fresh work",
    "@push@": "git push",
}


def prepare(root: Path) -> None:
    """Add files that are no part of the home, but that the commands read."""
    (root / "editor.json").write_text('{"fs": {"readTextFile": true}}')


def words_of(line: str, ids: dict[str, str]) -> list[str]:
    """Return the words of a command, with names in place of their short forms."""
    known = NAMES | ids
    return [known.get(word, word) for word in line.split()]


def output_of(task_cli: TaskCli, words: Sequence[str], root: Path) -> dict[str, Any]:
    """Run a command with `--json`; return its exit code and its output."""
    done = task_cli.run(*[filled(word, root) for word in words], "--json")
    text = unfilled(done.stdout, root)
    try:
        printed: Any = {"json": json.loads(text)}
    except ValueError:
        printed = {"lines": [json.loads(line) for line in text.splitlines()]}
    return {"words": list(words), "code": int(done.returncode), **printed}


def recorded_commands() -> list[dict[str, Any]]:
    """Return the recorded outputs in the order of the commands."""
    lines = COMMANDS.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


PROSE: Final = {"choices", "description", "hint", "message", "reasons", "text", "why"}
"""Members with sentences of the program, whose words may change."""

_OF_USER: Final = ("task", "up", "session", "timeline", "walkthrough", "audit")
"""Commands whose sentences come from the user, an agent, or the home."""


def without_prose(output: dict[str, Any]) -> dict[str, Any]:
    """Return an output in which sentences of the program match any text."""
    printed = "json" if "json" in output else "lines"
    is_error = "error" in {each.get("type") for each in _events(output[printed])}
    is_of_user = output["words"][0] in _OF_USER and not is_error
    return {**output, printed: _plain(output[printed], {"spent"} if is_of_user else PROSE)}


def _events(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value if isinstance(value, list) else [value])
    return [each for each in items if isinstance(each, dict)]


def _plain(value: Any, prose: set[str]) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            name: _any(each) if name in prose else _plain(each, prose)
            for name, each in members.items()
        }
    if isinstance(value, list):
        return [_plain(each, prose) for each in cast("list[Any]", value)]
    return value


def _any(value: Any) -> Any:
    """Return the same value with any text in it."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            name: each if name in {"id", "kind"} else _any(each) for name, each in members.items()
        }
    if isinstance(value, list):
        return [_any(each) for each in cast("list[Any]", value)]
    return any_value(value) if isinstance(value, str) else value


def common(one: Any, other: Any) -> Any:
    """Return what two runs of one command have in common."""
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return {name: common(left[name], right[name]) for name in left if name in right}
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(cast("list[Any]", one), cast("list[Any]", other), strict=True)
        return [common(*pair) for pair in pairs]
    return cast("Any", one) if one == other else any_value(other)


def missing(old: Any, new: Any, place: str = "") -> list[str]:
    """List what a new output lacks of an old one, by path."""
    kind = any_kind(old) or kind_of(old)
    if kind_of(new) != kind:
        return [f"{place}: {new!r} instead of {kind}"]
    if isinstance(old, dict):
        return _missing_members(cast("dict[str, Any]", old), new, place)
    if isinstance(old, list):
        return _missing_items(cast("list[Any]", old), new, place)
    return [] if old == new or any_kind(old) else [f"{place}: {new!r} instead of {old!r}"]


def _missing_members(old: dict[str, Any], new: dict[str, Any], place: str) -> list[str]:
    return _joined(
        missing(each, new[name], f"{place}.{name}")
        if name in new
        else [f"{place}.{name}: is missing"]
        for name, each in old.items()
    )


def _missing_items(old: list[Any], new: list[Any], place: str) -> list[str]:
    """List missing items; a list whose items have ids may have more of them."""
    if old and isinstance(old[0], dict) and "id" in old[0]:
        by_id = {each["id"]: each for each in new}
        return _joined(
            missing(each, by_id[each["id"]], f"{place}[{each['id']}]")
            if each["id"] in by_id
            else [f"{place}[{each['id']}]: is missing"]
            for each in old
        )
    if len(new) != len(old):
        return [f"{place}: {len(new)} items instead of {len(old)}"]
    pairs = zip(old, new, strict=True)
    return _joined(missing(*pair, f"{place}[{at}]") for at, pair in enumerate(pairs))


def _joined(lists: Iterable[list[str]]) -> list[str]:
    return [each for found in lists for each in found]


def lost_members(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """List the members of an old output that a new one lacks or has with another type.

    A member that was null only needs to be present.
    """
    names = {each.partition(":")[0] for each in shape(new.get("json", new.get("lines")))}
    kinds = shape(new.get("json", new.get("lines")))
    wanted = shape(old.get("json", old.get("lines")))
    return sorted(
        each
        for each in wanted
        if each not in kinds and not (each.endswith(": null") and each.partition(":")[0] in names)
    )
