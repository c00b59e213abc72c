"""Source of a component in a config: exactly one key names its kind (acp-host §4.2)."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from peerwire.transports.command import without_values
from symposium.errors import SymposiumError

NAMED: Final = frozenset({"builtin", "registry", "url"})
"""Sources whose value is a string."""

DETAILED: Final = {
    "local": ("command",),
    "npx": ("package",),
    "pipx": ("package",),
    "uvx": ("package",),
    "python": ("module",),
    "cargo": ("crate",),
    "http": ("name", "url"),
    "sse": ("name", "url"),
    "binary": (),
}
"""Sources whose value is an object, and the members it must have."""

_SHOWN: Final = {
    "npx": "package",
    "pipx": "package",
    "uvx": "package",
    "cargo": "crate",
    "python": "module",
    "http": "name",
    "sse": "name",
}
"""The member that gives a source its name."""


class SourceError(SymposiumError):
    """A component's source is not one of the known forms.

    Attributes:
        where: path to the invalid member, as in `agent.local.command`.
    """

    def __init__(self, where: str, message: str, hint: str) -> None:
        self.where = where
        super().__init__(f"{where}: {message}", hint)


class ComponentSource(Struct, frozen=True):
    """Place to get a component from, such as a registry id, a path, or a package.

    Attributes:
        kind: the key: `builtin`, `registry`, `local`, `npx`, ….
        value: a string, or an object as in the table above.
    """

    kind: str
    value: Any

    def __lt__(self, other: "ComponentSource") -> bool:
        """Order by kind, then by displayed name, then by value, so that lists can be sorted."""
        return self._order() < other._order()

    def __hash__(self) -> int:
        """Hash the value as well, although it may be a dict."""
        return hash(self._order())

    def _order(self) -> tuple[str, str, str]:
        return self.kind, self.display_name, json.dumps(self.value, sort_keys=True)

    @property
    def display_name(self) -> str:
        """The name that menus show (acp-host §4.2)."""
        if isinstance(self.value, str):
            return self.value
        value = cast("Mapping[str, Any]", self.value)
        if self.kind == "local":
            return str(value.get("name") or _file_name(str(value["command"])))
        if self.kind not in _SHOWN:
            return self.kind
        name = str(value[_SHOWN[self.kind]])
        return _without_version(name) if self.kind == "npx" else name

    def as_json(self) -> dict[str, Any]:
        """The source as the config writes it."""
        return {self.kind: self.value}


def shown_agent(agent: str | ComponentSource) -> str:
    """The agent of a config for display, without the values of its variables."""
    return without_values(agent) if isinstance(agent, str) else agent.display_name


def read_source(value: Any, where: str) -> ComponentSource:
    """Parse a source from a JSON value; `where` names its place in errors.

    Raises:
        SourceError: it has no key, two keys, an unknown key, or a member of the wrong form.
    """
    known = ", ".join(sorted(NAMED | DETAILED.keys()))
    if not isinstance(value, Mapping) or len(cast("Mapping[str, Any]", value)) != 1:
        raise SourceError(where, "a source is an object with exactly one key", f"one of {known}")
    ((kind, detail),) = cast("Mapping[str, Any]", value).items()
    if kind in NAMED:
        if not isinstance(detail, str) or not detail:
            raise SourceError(f"{where}.{kind}", "no name", 'write it in double quotes: "…"')
        return ComponentSource(kind, detail)
    if kind not in DETAILED:
        raise SourceError(where, f"unknown source {kind!r}", f"known are {known}")
    if kind == "cargo" and isinstance(detail, str):
        detail = {"crate": detail}
    if not isinstance(detail, Mapping):
        raise SourceError(f"{where}.{kind}", "not an object", f"write {_example(kind)}")
    members = dict(cast("Mapping[str, Any]", detail))
    _check(kind, members, f"{where}.{kind}")
    return ComponentSource(kind, members)


def _check(kind: str, members: Mapping[str, Any], where: str) -> None:
    for name in DETAILED[kind]:
        if not isinstance(members.get(name), str) or not members[name]:
            raise SourceError(where, f"`{name}` is missing", f"write {_example(kind)}")
    if kind == "binary":
        _check_platforms(members, where)
    for name, (is_right, form) in _OPTIONAL.items():
        if kind != "binary" and name in members and not is_right(members[name]):
            raise SourceError(f"{where}.{name}", f"not {form}", f"write {form}")


def _check_platforms(members: Mapping[str, Any], where: str) -> None:
    example = '{"linux-x86_64": {"archive": "https://…", "cmd": "./agent"}}'
    if not members:
        raise SourceError(where, "no platform", f"write {example}")
    for platform, detail in members.items():
        is_object = isinstance(detail, Mapping)
        found = cast("Mapping[str, Any]", detail if is_object else {})
        if not all(isinstance(found.get(name), str) for name in ("archive", "cmd")):
            raise SourceError(
                f"{where}.{platform}", "`archive` or `cmd` is missing", f"write {example}"
            )


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) for each in cast("list[Any]", value)
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, str) for each in cast("dict[str, Any]", value).values()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_OPTIONAL: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "args": (_is_strings, "a list of strings"),
    "env": (_is_table, "an object of strings"),
    "cwd": (_is_text, "a string"),
    "name": (_is_text, "a string"),
    "version": (_is_text, "a string"),
    "binary": (_is_text, "a string"),
    "headers": (_is_list, "a list"),
}


def _file_name(command: str) -> str:
    return command.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _without_version(package: str) -> str:
    last = package.rsplit("/", 1)[-1]
    return last.rsplit("@", 1)[0] if last.rfind("@") > 0 else last


def _example(kind: str) -> str:
    members = ", ".join(f'"{name}": "…"' for name in DETAILED[kind])
    return f'{{"{kind}": {{{members}}}}}'
