"""Recommendation files: entries, their conditions, and the effects they would have."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeAlias, cast

from localio.toml import parse_toml
from peerwire.jsonrpc.values import as_list, as_object
from symposium.config.component_source import ComponentSource, SourceError, read_source
from symposium.config.user_config import ModEntry, ModKind
from symposium.errors import SymposiumError
from symposium.permissions.trusted_content import TrustEffect

Ecosystem: TypeAlias = Literal["crate", "python", "npm"]

_PYTHON_SEPARATORS: Final = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """Facts about a workspace, collected by `survey`.

    Attributes:
        files: requested paths that exist.
        packages: canonical names of the direct dependencies, by ecosystem.
        problems: messages about unreadable files.
    """

    files: frozenset[str] = frozenset()
    packages: Mapping[Ecosystem, frozenset[str]] = field(
        default_factory=dict[Ecosystem, frozenset[str]]
    )
    problems: tuple[str, ...] = ()

    def has_package(self, ecosystem: Ecosystem, name: str) -> bool:
        """Whether the package is a direct dependency."""
        return canonical(ecosystem, name) in self.packages.get(ecosystem, frozenset())


def canonical(ecosystem: Ecosystem, name: str) -> str:
    """Return the canonical spelling of a package's name, because registries accept several."""
    match ecosystem:
        case "crate":
            return name.strip().replace("_", "-").lower()
        case "python":
            return _PYTHON_SEPARATORS.sub("-", name.strip()).lower()
        case "npm":
            return name.strip()


MAX_DEPTH: Final = 20
"""Maximum levels of nested `any` and `all`; two are usual."""


class PredicateError(SymposiumError):
    """The value of `when` is not a condition."""


@dataclass(frozen=True, slots=True)
class FileExists:
    """Condition: a path relative to the workspace exists."""

    path: str


@dataclass(frozen=True, slots=True)
class PredicateUses:
    """Condition: a package is a direct dependency of the workspace."""

    ecosystem: Ecosystem
    name: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Condition: all parts hold, or there are no parts."""

    parts: tuple["Predicate", ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Condition: at least one part holds."""

    parts: tuple["Predicate", ...]


Leaf: TypeAlias = FileExists | PredicateUses
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


def holds(predicate: Predicate, facts: WorkspaceFacts) -> bool:
    """Whether the condition is true for these facts."""
    match predicate:
        case FileExists(path):
            return path in facts.files
        case PredicateUses(ecosystem, name):
            return facts.has_package(ecosystem, name)
        case AllOf(parts):
            return all(holds(part, facts) for part in parts)
        case AnyOf(parts):
            return any(holds(part, facts) for part in parts)


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Yield the single conditions, in written order."""
    match predicate:
        case FileExists() | PredicateUses():
            yield predicate
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from leaves(part)


def read_predicate(value: Any) -> Predicate:
    """Parse a table with conditions, which must all hold; None always holds.

    Raises:
        PredicateError: the table is invalid.
    """
    return ALWAYS if value is None else _read(value, 0)


def _read(value: Any, depth: int) -> Predicate:
    if not isinstance(value, Mapping):
        raise PredicateError("`when` is not a table", 'write when = { file-exists = "…" }')
    if depth > MAX_DEPTH:
        raise PredicateError(f"`when` is nested deeper than {MAX_DEPTH} levels", "")
    table = cast("Mapping[str, Any]", value)
    parts = [_condition(key, table[key], depth) for key in table]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _condition(key: str, value: Any, depth: int) -> Predicate:
    if key == "file-exists":
        return FileExists(_path(value, key))
    if key == "files-exist":
        return AllOf(tuple(FileExists(_path(each, key)) for each in _list(value, key)))
    if key in _ONE:
        return PredicateUses(_ONE[key], _text(value, key))
    if key in _MANY:
        names = [_text(each, key) for each in _list(value, key)]
        return AllOf(tuple(PredicateUses(_MANY[key], name) for name in names))
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


def reason(predicate: Predicate, facts: WorkspaceFacts) -> str:
    """Return the conditions that hold, as the reason for a recommendation."""
    return ", ".join(_because(leaf) for leaf in leaves(predicate) if holds(leaf, facts))


def reason_gone(predicate: Predicate, facts: WorkspaceFacts) -> str:
    """Return the conditions that do not hold, as the reason for a removal."""
    return ", ".join(_no_longer(leaf) for leaf in leaves(predicate) if not holds(leaf, facts))


def words(leaf: Leaf) -> str:
    """Format a condition as key and value."""
    match leaf:
        case FileExists(path):
            return f"file-exists {path}"
        case PredicateUses(ecosystem, name):
            return f"{next(key for key, its in _ONE.items() if its == ecosystem)} {name}"


def _because(leaf: Leaf) -> str:
    match leaf:
        case FileExists(path):
            return f"because `{path}` exists"
        case PredicateUses(ecosystem, name):
            return f"using {_NOUNS[ecosystem]} `{name}`"


def _no_longer(leaf: Leaf) -> str:
    match leaf:
        case FileExists(path):
            return f"`{path}` no longer exists"
        case PredicateUses(ecosystem, name):
            return f"no longer using {_NOUNS[ecosystem]} `{name}`"


_NOUNS: Final[Mapping[Ecosystem, str]] = {
    "crate": "crate",
    "python": "Python package",
    "npm": "npm package",
}


def text_of(value: Any) -> str:
    """Return the value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


Layer: TypeAlias = Literal["built-in", "remote", "user", "workspace"]
"""Source of a recommendation, in ascending precedence."""

ORIGIN: Final = "recommendation"
"""Origin of a mod that was added by a recommendation, and may be offered for removal."""

MAX_RECOMMENDATIONS: Final = 500
"""Maximum recommendations of one file; further ones are ignored."""


class RecommendationError(SymposiumError):
    """A file of recommendations is malformed."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A mod, and the condition under which it is recommended.

    Attributes:
        mod: entry for the config.
        when: the condition.
        layer: source of the recommendation.
    """

    mod: ModEntry
    when: Predicate
    layer: Layer

    @property
    def identity(self) -> str:
        """Key that is equal for recommendations of the same component."""
        return identity(self.mod)


@dataclass(frozen=True, slots=True)
class Listed:
    """Recommendations of a file, and a message for each invalid entry."""

    recommendations: tuple[Recommendation, ...] = ()
    problems: tuple[str, ...] = ()


def read_recommendations(text: str, layer: Layer) -> Listed:
    """Parse the text of a recommendations file.

    Raises:
        RecommendationError: the text is not TOML.
    """
    try:
        table: Any = parse_toml(text)
    except ValueError as error:
        raise RecommendationError(f"the recommendations are no TOML: {error}", "") from error
    entries = as_list(table.get("recommendation"))
    problems: list[str] = []
    found: list[Recommendation] = []
    for at, entry in enumerate(entries[:MAX_RECOMMENDATIONS]):
        try:
            found.append(_recommendation(as_object(entry), f"recommendation[{at}]", layer))
        except (SourceError, PredicateError, RecommendationError) as error:
            where = "" if isinstance(error, SourceError) else f"recommendation[{at}]: "
            problems.append(f"{where}{error}")
    if len(entries) > MAX_RECOMMENDATIONS:
        problems.append(f"{len(entries) - MAX_RECOMMENDATIONS} more recommendations are not read")
    return Listed(tuple(found), tuple(problems))


def merged(layers: Iterable[Sequence[Recommendation]]) -> list[Recommendation]:
    """Merge layers in order of first mention; the last entry for a component wins."""
    found: dict[str, Recommendation] = {}
    for recommendations in layers:
        for each in recommendations:
            found[each.identity] = each
    return list(found.values())


def identity(mod: ModEntry) -> str:
    """Return a key of the mod's kind and source; an absent source means the built-in mod."""
    source = ComponentSource("builtin", mod.name) if mod.source is None else mod.source
    return json.dumps([mod.kind, source.as_json()], sort_keys=True)


def _recommendation(entry: Mapping[str, Any], where: str, layer: Layer) -> Recommendation:
    kind: ModKind = entry.get("kind", "proxy")
    if kind not in {"proxy", "mcp"}:
        raise RecommendationError(f"`kind` is {kind!r}", 'write "proxy" or "mcp"')
    source = read_source(as_object(entry.get("source")), f"{where}.source")
    if kind == "mcp" and source.kind == "builtin":
        raise RecommendationError("a built-in is no MCP server", 'leave `kind = "mcp"` out')
    when = entry.get("when")
    predicate = read_predicate(when)
    name = source.display_name
    stored = None if source.kind == "builtin" else source
    plain = json.loads(json.dumps(when, default=str))
    return Recommendation(
        ModEntry(name, source=stored, kind=kind, when=plain, origin=ORIGIN), predicate, layer
    )


def effects_of(mod: ModEntry) -> tuple[TrustEffect, ...]:
    """Return the effects of adding a mod: commands, servers, and variables."""
    source = ComponentSource("builtin", mod.name) if mod.source is None else mod.source
    if isinstance(source.value, str):
        return (_named(source.kind, source.value),)
    detail: Mapping[str, Any] = source.value
    if source.kind in {"http", "sse"}:
        headers = [as_object(each).get("name") for each in as_list(detail.get("headers"))]
        server = TrustEffect("server", f"{detail['name']} at {detail['url']}")
        return server, *(TrustEffect("variable", f"header {name}") for name in headers)
    return *_commands(source.kind, detail), *_variables(detail)


def _named(kind: str, name: str) -> TrustEffect:
    match kind:
        case "builtin":
            return TrustEffect("mod", f"{name}, built in")
        case "registry":
            return TrustEffect("command", f"whatever the registry says of {name}")
        case _:
            return TrustEffect("command", f"whatever {name} says")


def _commands(kind: str, detail: Mapping[str, Any]) -> Iterator[TrustEffect]:
    arguments = [str(each) for each in as_list(detail.get("args"))]
    match kind:
        case "local":
            words = [str(detail["command"]), *arguments]
        case "npx":
            words = ["npx", "-y", str(detail["package"]), *arguments]
        case "uvx":
            words = ["uvx", str(detail["package"]), *arguments]
        case "pipx":
            words = ["pipx", "run", str(detail["package"]), *arguments]
        case "python":
            words = ["python3", "-m", str(detail["module"]), *arguments]
        case "cargo":
            yield TrustEffect("command", shlex.join(["cargo", "install", str(detail["crate"])]))
            words = [str(detail.get("binary") or detail["crate"]), *arguments]
        case _:
            yield from _archives(detail)
            return
    yield TrustEffect("command", shlex.join(words))


def _archives(platforms: Mapping[str, Any]) -> Iterator[TrustEffect]:
    for platform, target in platforms.items():
        found = as_object(target)
        arguments = [str(each) for each in as_list(found.get("args"))]
        words = shlex.join([str(found.get("cmd")), *arguments])
        yield TrustEffect("command", f"{words}, from {found.get('archive')} ({platform})")
        yield from _variables(found)


def _variables(detail: Mapping[str, Any]) -> Iterator[TrustEffect]:
    for name, value in as_object(detail.get("env")).items():
        yield TrustEffect("variable", f"{name}={value}")
