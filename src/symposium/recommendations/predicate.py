"""When a mod is recommended: conditions as a tree, judged on facts; pure (acp-host §4.11)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias, cast

from symposium.errors import SymposiumError
from symposium.recommendations.facts import Ecosystem, Facts

MOST_DEPTH: Final = 20
"""Levels of `any` and `all`; a person writes two."""


class PredicateError(SymposiumError):
    """What stands under `when` is no condition."""


@dataclass(frozen=True, slots=True)
class FileExists:
    """A path relative to the workspace leads to something."""

    path: str


@dataclass(frozen=True, slots=True)
class Uses:
    """A package is a direct dependency of the workspace."""

    ecosystem: Ecosystem
    name: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; so it does where there is none."""

    parts: tuple["Predicate", ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple["Predicate", ...]


Leaf: TypeAlias = FileExists | Uses
Predicate: TypeAlias = Leaf | AllOf | AnyOf

ALWAYS: Final = AllOf()

_ONE: Final[Mapping[str, Ecosystem]] = {
    "using-crate": "crate",
    "using-python-package": "python",
    "using-npm-package": "npm",
}
_MANY: Final[Mapping[str, Ecosystem]] = {
    "using-crates": "crate",
    "using-python-packages": "python",
    "using-npm-packages": "npm",
}
_COMBINED: Final = ("all", "any")
_KNOWN: Final = ("file-exists", "files-exist", *_ONE, *_MANY, *_COMBINED)


def holds(predicate: Predicate, facts: Facts) -> bool:
    """Whether it is so."""
    match predicate:
        case FileExists(path):
            return path in facts.files
        case Uses(ecosystem, name):
            return facts.has_package(ecosystem, name)
        case AllOf(parts):
            return all(holds(part, facts) for part in parts)
        case AnyOf(parts):
            return any(holds(part, facts) for part in parts)


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Each single condition, in the order in which they were written."""
    match predicate:
        case FileExists() | Uses():
            yield predicate
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from leaves(part)


def read_predicate(value: Any) -> Predicate:
    """The condition that a table stands for; several keys must all hold; None is always so.

    Raises:
        PredicateError: it is none; says what is wrong.
    """
    return ALWAYS if value is None else _read(value, 0)


def _read(value: Any, depth: int) -> Predicate:
    if not isinstance(value, Mapping):
        raise PredicateError("`when` is not a table", 'write when = { file-exists = "…" }')
    if depth > MOST_DEPTH:
        raise PredicateError(f"`when` is nested deeper than {MOST_DEPTH} levels", "")
    table = cast("Mapping[str, Any]", value)
    parts = [_condition(key, table[key], depth) for key in table]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _condition(key: str, value: Any, depth: int) -> Predicate:
    if key == "file-exists":
        return FileExists(_path(value, key))
    if key == "files-exist":
        return AllOf(tuple(FileExists(_path(each, key)) for each in _list(value, key)))
    if key in _ONE:
        return Uses(_ONE[key], _text(value, key))
    if key in _MANY:
        names = [_text(each, key) for each in _list(value, key)]
        return AllOf(tuple(Uses(_MANY[key], name) for name in names))
    if key in _COMBINED:
        parts = tuple(_read(each, depth + 1) for each in _list(value, key))
        return AllOf(parts) if key == "all" else AnyOf(parts)
    raise PredicateError(f"unknown condition {key!r}", f"known are {', '.join(_KNOWN)}")


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise PredicateError(f"`{key}` is not a list", "write [ … ]")
    return cast("list[Any]", value)


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise PredicateError(f"`{key}` names nothing", "write a name in double quotes")
    return value


def _path(value: Any, key: str) -> str:
    path = _text(value, key)
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise PredicateError(f"`{key}`: {path!r} leaves the workspace", "write a relative path")
    return path


def reason(predicate: Predicate, facts: Facts) -> str:
    """Why it is recommended: the conditions that hold; empty for what always is."""
    return ", ".join(_because(leaf) for leaf in leaves(predicate) if holds(leaf, facts))


def reason_gone(predicate: Predicate, facts: Facts) -> str:
    """Why it no longer is: the conditions that do not hold."""
    return ", ".join(_no_longer(leaf) for leaf in leaves(predicate) if not holds(leaf, facts))


def words(leaf: Leaf) -> str:
    """One condition, as it was written."""
    match leaf:
        case FileExists(path):
            return f"file-exists {path}"
        case Uses(ecosystem, name):
            return f"{next(key for key, its in _ONE.items() if its == ecosystem)} {name}"


def _because(leaf: Leaf) -> str:
    match leaf:
        case FileExists(path):
            return f"because `{path}` exists"
        case Uses(ecosystem, name):
            return f"using {_NOUNS[ecosystem]} `{name}`"


def _no_longer(leaf: Leaf) -> str:
    match leaf:
        case FileExists(path):
            return f"`{path}` no longer exists"
        case Uses(ecosystem, name):
            return f"no longer using {_NOUNS[ecosystem]} `{name}`"


_NOUNS: Final[Mapping[Ecosystem, str]] = {
    "crate": "crate",
    "python": "Python package",
    "npm": "npm package",
}
