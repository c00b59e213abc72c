"""Recommend mods for a workspace, and store the user's answers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from localio.files import read_text, write_whole
from symposium.config.paths import Paths
from symposium.config.user_config import Config, ModEntry
from symposium.errors import SymposiumError
from symposium.permissions.trust_store import Question, TrustStore
from symposium.permissions.trusted_content import TrustItem
from symposium.planning.recommendation_sources import (
    NONE,
    RemoteRecommendations,
    StoredRecommendations,
    address_of,
    read_stored,
    usable,
    workspace_of,
)
from symposium.planning.recommendations import (
    ORIGIN,
    Listed,
    Recommendation,
    RecommendationError,
    WorkspaceFacts,
    holds,
    identity,
    leaves,
    merged,
    read_recommendations,
    reason,
    reason_gone,
)
from symposium.planning.survey import survey


@dataclass(frozen=True, slots=True)
class Addition:
    """A recommended mod that is not configured.

    Attributes:
        because: the conditions that hold; empty for an unconditional recommendation.
    """

    recommendation: Recommendation
    because: str


@dataclass(frozen=True, slots=True)
class RecommendationRemoval:
    """A mod that was added for this workspace and is no longer recommended, with the reason."""

    mod: ModEntry
    because: str


@dataclass(frozen=True, slots=True)
class RecommendationChanges:
    """Changes to offer to the user."""

    additions: tuple[Addition, ...] = ()
    removals: tuple[RecommendationRemoval, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are changes to offer."""
        return bool(self.additions or self.removals)


@dataclass(frozen=True, slots=True)
class RecommendationAnswers:
    """Earlier decisions of the user, as identities of mods.

    Attributes:
        declined: mods not to offer again.
        added_here: mods added for this workspace and no other.
        kept: mods not to offer for removal.
    """

    declined: AbstractSet[str] = frozenset()
    added_here: AbstractSet[str] = frozenset()
    kept: AbstractSet[str] = frozenset()


def compare(
    mods: Sequence[ModEntry],
    recommendations: Iterable[Recommendation],
    facts: WorkspaceFacts,
    answers: RecommendationAnswers,
) -> RecommendationChanges:
    """Compute the mods to add and to remove (acp-host §4.11).

    A disabled mod counts as configured. A mod is only offered for removal if a recommendation
    added it for this workspace and no other.
    """
    listed = list(recommendations)
    suiting = [each for each in listed if holds(each.when, facts)]
    known = {identity(mod) for mod in mods} | {mod.name for mod in mods}
    additions = [
        Addition(each, reason(each.when, facts))
        for each in suiting
        if not {each.identity, each.mod.name} & known and each.identity not in answers.declined
    ]
    suits = {each.identity for each in suiting}
    by_identity = {each.identity: each for each in listed}
    removals = [
        RecommendationRemoval(mod, _why_gone(by_identity.get(identity(mod)), facts))
        for mod in mods
        if mod.origin == ORIGIN and identity(mod) in answers.added_here - answers.kept - suits
    ]
    return RecommendationChanges(tuple(additions), tuple(removals))


def applied(config: Config, add: Iterable[ModEntry], remove: Iterable[ModEntry]) -> Config:
    """Return the config with mods added at its end, and others removed."""
    gone = {identity(mod) for mod in remove}
    kept = [mod for mod in config.mods if mod.origin != ORIGIN or identity(mod) not in gone]
    return config.with_mods(*kept, *add)


def _why_gone(recommendation: Recommendation | None, facts: WorkspaceFacts) -> str:
    if recommendation is None:
        return "it is no longer recommended"
    return reason_gone(recommendation.when, facts) or "it no longer suits"


FILE: Final = "recommendation-answers.json"


class _Kept(Struct, forbid_unknown_fields=False):
    declined: set[str] = msgspec.field(default_factory=set[str])
    kept: set[str] = msgspec.field(default_factory=set[str])
    added: dict[str, set[str]] = msgspec.field(default_factory=dict[str, set[str]])
    """By workspace."""


class AnswerMemory:
    """Stored answers of one user; a damaged file counts as empty, and the next write replaces it.

    Attributes:
        problem: problem of the last read of the file; None if it succeeded.
    """

    def __init__(self, home: Path) -> None:
        self.problem: str | None = None
        self._file = home / FILE

    def answers(self, workspace: Path) -> RecommendationAnswers:
        """Return the decisions for a workspace."""
        kept = self._read()
        elsewhere = {
            each for place, added in kept.added.items() if place != str(workspace) for each in added
        }
        here = kept.added.get(str(workspace), set[str]()) - elsewhere
        return RecommendationAnswers(
            frozenset(kept.declined), frozenset(here), frozenset(kept.kept)
        )

    def decline(self, identities: Iterable[str]) -> None:
        """Stop offering these mods.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.declined |= set(identities)
        self._write(kept)

    def keep(self, identities: Iterable[str]) -> None:
        """Stop offering to remove these mods.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.kept |= set(identities)
        self._write(kept)

    def added(self, workspace: Path, identities: Iterable[str]) -> None:
        """Store that these mods were added for a workspace.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.added.setdefault(str(workspace), set()).update(identities)
        self._write(kept)

    def forget(self) -> int:
        """Delete the `declined` and `kept` decisions; return their number.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        count = len(kept.declined) + len(kept.kept)
        kept.declined, kept.kept = set(), set()
        self._write(kept)
        return count

    def _read(self) -> _Kept:
        self.problem = None
        try:
            text = read_text(self._file)
            return _Kept() if text is None else msgspec.json.decode(text, type=_Kept)
        except (OSError, ValueError) as error:
            self.problem = f"{self._file} cannot be read ({error}): nothing is remembered"
            return _Kept()

    def _write(self, kept: _Kept) -> None:
        try:
            text = msgspec.json.format(msgspec.json.encode(kept, order="sorted"))
            write_whole(self._file, text.decode() + "\n")
        except OSError as error:
            raise SymposiumError(f"{self._file} cannot be written: {error}", "") from error


USER_FILE: Final = "config/recommendations.toml"
"""Path in the home directory, the same as in the reference (acp-host §4.2)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Recommendations for one workspace.

    Attributes:
        workspace: canonical path.
        recommendations: all recommendations, including those whose condition does not hold.
        facts: facts about the workspace that the conditions need.
        items: stored content of the workspace that requires trust.
        questions: items for which the user has not decided yet.
        problems: messages about unusable files and entries.
    """

    workspace: Path
    recommendations: Sequence[Recommendation]
    facts: WorkspaceFacts
    items: Sequence[TrustItem]
    questions: Sequence[Question]
    problems: Sequence[str]


class Advisor:
    """Recommends mods to one user.

    Attributes:
        trust: decisions about stored content.
        memory: answers to recommendations.
        remote: downloaded recommendations.

    Args:
        paths: directories of the user.
        env: environment of this process.
        builtins: returns the names of the built-in mods.
        readers: functions that read other content of a workspace that requires trust.
    """

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        builtins: Callable[[], Collection[str]],
        readers: Sequence[Callable[[Path], Sequence[TrustItem]]] = (),
    ) -> None:
        self.trust = TrustStore(paths.home)
        self.memory = AnswerMemory(paths.home)
        address = address_of(env)
        self.remote = RemoteRecommendations(address, paths)
        self._is_alone = address == NONE
        self._paths = paths
        self._builtins = builtins
        self._readers = readers

    def advise(self, directory: str | Path) -> Advice:
        """Return the recommendations for a workspace; only reads files."""
        workspace = workspace_of(directory)
        problems: list[str] = []
        stored = read_stored(workspace)
        problems += stored.problems
        items = [*stored.items, *(item for read in self._readers for item in read(workspace))]
        questions = self.trust.questions(items)
        if self.trust.problem:
            problems.append(self.trust.problem)
        layers = [*self._layers(problems), self._of_workspace(stored, problems)]
        recommendations = merged(layers)
        asked = [leaf for each in recommendations for leaf in leaves(each.when)]
        facts = survey(workspace, asked)
        problems += facts.problems
        return Advice(workspace, recommendations, facts, items, questions, tuple(problems))

    def changes(self, advice: Advice, mods: Sequence[ModEntry]) -> RecommendationChanges:
        """Return the changes to offer to a user with these mods."""
        answers = self.memory.answers(advice.workspace)
        return compare(mods, advice.recommendations, advice.facts, answers)

    def _layers(self, problems: list[str]) -> Iterable[Sequence[Recommendation]]:
        known = self._builtins()
        for layer, read in (
            ("built-in", self._built_in),
            ("remote", self.remote.here),
            ("user", self._of_user),
        ):
            try:
                listed = read()
            except RecommendationError as error:
                problems.append(f"{layer}: {error.message}")
                continue
            problems += [f"{layer}: {problem}" for problem in listed.problems]
            for each in listed.recommendations:
                if each.mod.source is None and each.mod.name not in known and layer != "built-in":
                    problems.append(f"{layer}: there is no built-in mod {each.mod.name!r}")
            yield [
                each
                for each in listed.recommendations
                if each.mod.source is not None or each.mod.name in known
            ]

    def _built_in(self) -> Listed:
        if self._is_alone:
            return Listed()
        file = files("symposium.planning").joinpath("builtin_recommendations.toml")
        text = file.read_text("utf-8")
        return read_recommendations(text, "built-in")

    def _of_user(self) -> Listed:
        file = self._paths.home / USER_FILE
        try:
            text = read_text(file)
        except (OSError, UnicodeDecodeError) as error:
            raise RecommendationError(f"{file}: {error}", "") from error
        return Listed() if text is None else read_recommendations(text, "user")

    def _of_workspace(
        self, stored: StoredRecommendations, problems: list[str]
    ) -> Sequence[Recommendation]:
        known = self._builtins()
        try:
            found = usable(stored, self.trust.trusted(stored.items), self._paths.home / "trusted")
        except OSError as error:
            problems.append(f"a copy of a stored program cannot be made: {error}")
            return ()
        return [each for each in found if each.mod.source is not None or each.mod.name in known]
