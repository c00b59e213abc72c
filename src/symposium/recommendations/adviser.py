"""Puts together what is recommended, what suits, what is trusted and what the user has said."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from localio.files import read_text
from symposium.config.paths import Paths
from symposium.config.user_config import ModEntry
from symposium.recommendations.comparison import Changes, compare
from symposium.recommendations.facts import Facts
from symposium.recommendations.memory import AnswerMemory
from symposium.recommendations.predicate import leaves
from symposium.recommendations.recommendation import (
    Listed,
    Recommendation,
    RecommendationError,
    merged,
    read_recommendations,
)
from symposium.recommendations.remote import NONE, RemoteRecommendations, address_of
from symposium.recommendations.stored import Stored, read_stored, usable, workspace_of
from symposium.recommendations.survey import survey
from symposium.trust.item import Item
from symposium.trust.store import Question, TrustStore

USER_FILE: Final = "config/recommendations.toml"
"""Below our home, as in the reference's layout (acp-host §4.2)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What is known of one workspace.

    Attributes:
        workspace: canonical.
        recommendations: all that may be offered, whether they suit or not.
        facts: what the workspace is like.
        items: everything it stores that is to be judged before it is used.
        questions: what of that the user has not judged yet.
        problems: what could not be used, and why.
    """

    workspace: Path
    recommendations: Sequence[Recommendation]
    facts: Facts
    items: Sequence[Item]
    questions: Sequence[Question]
    problems: Sequence[str]


class Adviser:
    """Recommends mods to one user.

    Attributes:
        trust: what stored content the user allows.
        memory: what the user has answered.
        remote: the recommendations of others.

    Args:
        paths: the user's directories.
        env: our environment.
        builtins: the names of the mods that come with us.
        readers: what else a workspace stores that is to be judged.
    """

    def __init__(
        self,
        paths: Paths,
        env: Mapping[str, str],
        builtins: Callable[[], Collection[str]],
        readers: Sequence[Callable[[Path], Sequence[Item]]] = (),
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
        """What is recommended for a workspace; reads files, and starts and asks nothing."""
        workspace = workspace_of(directory)
        problems: list[str] = []
        stored = read_stored(workspace)
        problems += stored.problems
        items = [*stored.items, *(item for read in self._readers for item in read(workspace))]
        questions = self.trust.questions(items)
        if self.trust.trouble:
            problems.append(self.trust.trouble)
        layers = [*self._layers(problems), self._of_workspace(stored, problems)]
        recommendations = merged(layers)
        asked = [leaf for each in recommendations for leaf in leaves(each.when)]
        facts = survey(workspace, asked)
        problems += facts.troubles
        return Advice(workspace, recommendations, facts, items, questions, tuple(problems))

    def changes(self, advice: Advice, mods: Sequence[ModEntry]) -> Changes:
        """What to offer to whoever has these mods."""
        answers = self.memory.answers(advice.workspace)
        return compare(mods, advice.recommendations, advice.facts, answers)

    def _layers(self, problems: list[str]) -> Iterable[Sequence[Recommendation]]:
        known = self._builtins()
        for layer, read in (
            ("built-in", self._of_ours),
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

    def _of_ours(self) -> Listed:
        if self._is_alone:
            return Listed()
        text = files("symposium.recommendations").joinpath("builtin.toml").read_text("utf-8")
        return read_recommendations(text, "built-in")

    def _of_user(self) -> Listed:
        file = self._paths.home / USER_FILE
        try:
            text = read_text(file)
        except (OSError, UnicodeDecodeError) as error:
            raise RecommendationError(f"{file}: {error}", "") from error
        return Listed() if text is None else read_recommendations(text, "user")

    def _of_workspace(self, stored: Stored, problems: list[str]) -> Sequence[Recommendation]:
        known = self._builtins()
        try:
            found = usable(stored, self.trust.trusted(stored.items), self._paths.home / "trusted")
        except OSError as error:
            problems.append(f"a copy of a stored program cannot be made: {error}")
            return ()
        return [each for each in found if each.mod.source is not None or each.mod.name in known]
