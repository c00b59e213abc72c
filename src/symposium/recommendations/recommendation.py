"""Recommendations as their files state them: one bad entry hides no other (acp-host §4.11)."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from symposium.config.component_source import ComponentSource, SourceError, read_source
from symposium.config.user_config import ModEntry, ModKind
from symposium.errors import SymposiumError
from symposium.recommendations.predicate import Predicate, PredicateError, read_predicate
from symposium.recommendations.tables import list_of, table_of

Layer: TypeAlias = Literal["built-in", "remote", "user", "workspace"]
"""Whose file says so; a later one wins over an earlier one."""

ORIGIN: Final = "recommendation"
"""Marks what we have added to a config, so that we may offer to take it away again."""

MOST: Final = 500
"""Recommendations that are read of one file."""


class RecommendationError(SymposiumError):
    """A file of recommendations is none."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One mod, and when it suits.

    Attributes:
        mod: as it would stand in the config.
        when: the condition.
        layer: whose file says so.
    """

    mod: ModEntry
    when: Predicate
    layer: Layer

    @property
    def identity(self) -> str:
        """The same for two that bring the same component."""
        return identity(self.mod)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a file recommends, and a sentence for each entry that cannot be read."""

    recommendations: tuple[Recommendation, ...] = ()
    problems: tuple[str, ...] = ()


def read_recommendations(text: str, layer: Layer) -> Listed:
    """The recommendations of a file's text.

    Raises:
        RecommendationError: it is no TOML.
    """
    try:
        table: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecommendationError(f"the recommendations are no TOML: {error}", "") from error
    entries = list_of(table.get("recommendation"))
    problems: list[str] = []
    found: list[Recommendation] = []
    for at, entry in enumerate(entries[:MOST]):
        try:
            found.append(_recommendation(table_of(entry), f"recommendation[{at}]", layer))
        except (SourceError, PredicateError, RecommendationError) as error:
            where = "" if isinstance(error, SourceError) else f"recommendation[{at}]: "
            problems.append(f"{where}{error}")
    if len(entries) > MOST:
        problems.append(f"{len(entries) - MOST} more recommendations are not read")
    return Listed(tuple(found), tuple(problems))


def merged(layers: Iterable[Sequence[Recommendation]]) -> list[Recommendation]:
    """All of them, by the order of their first mention; of the same component the last one."""
    found: dict[str, Recommendation] = {}
    for recommendations in layers:
        for each in recommendations:
            found[each.identity] = each
    return list(found.values())


def identity(mod: ModEntry) -> str:
    """The source, however it is written; a built-in is one whether it says so or not."""
    source = ComponentSource("builtin", mod.name) if mod.source is None else mod.source
    return json.dumps([mod.kind, source.as_json()], sort_keys=True)


def _recommendation(entry: Mapping[str, Any], where: str, layer: Layer) -> Recommendation:
    kind: ModKind = entry.get("kind", "proxy")
    if kind not in {"proxy", "mcp"}:
        raise RecommendationError(f"`kind` is {kind!r}", 'write "proxy" or "mcp"')
    source = read_source(table_of(entry.get("source")), f"{where}.source")
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
