"""Offers for a workspace: to trust its contents, and to add or remove mods.

Each offer is one text, a few words that answer it, and what they do. Nothing happens unasked.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from localio.errors import ExplainedError
from localio.text import plain_text
from symposium.catalog import OTHER_NAMES, mod_names
from symposium.config.paths import Paths
from symposium.config.user_config import ConfigError, ModEntry, load, save
from symposium.documents.guidance import checkout_of, project_items
from symposium.permissions.trust_store import Question, consent_text, effect_line
from symposium.permissions.trusted_content import TrustItem, foreign_items
from symposium.planning.mod_advisor import (
    Addition,
    Advice,
    Advisor,
    RecommendationChanges,
    RecommendationRemoval,
    applied,
)
from symposium.planning.recommendations import effects_of, identity
from symposium.tasks.handlers.approvals import item_of, lines_of
from symposium.tasks.recipe_files import read_set_up

REST: Final = (
    "Any other message goes to the agent; `/symposium:recommendations` shows this question again."
)

_TRUST: Final = re.compile(r"trust", re.IGNORECASE)
_LATER: Final = re.compile(r"not now|no", re.IGNORECASE)
_NEVER: Final = re.compile(r"never", re.IGNORECASE)
_CHOICE: Final = re.compile(r"(add|remove|never)((?:[\s,]+\d{1,4})*)", re.IGNORECASE | re.ASCII)


_Change = TypeVar("_Change", Addition, RecommendationRemoval)


@dataclass(frozen=True, slots=True)
class TrustOffer:
    """Offer to trust everything in a workspace that needs a decision.

    Attributes:
        adviser: stores the answer.
        workspace: the workspace.
        questions: the contents to decide on; the answer applies to exactly these.
        passed: offers that the user postponed in this process.
    """

    adviser: Advisor
    workspace: Path
    questions: Sequence[Question]
    passed: set[str]

    def text(self) -> str:
        """Return the text that asks for the decision, with all questions."""
        return (
            f"**This workspace contains items that need your decision** "
            f"(`{_code(self.workspace)}`). Until you decide, Symposium uses none of them.\n\n"
            f"{_fenced(consent_text(self.questions))}\n\n"
            f"Answer `trust`, `not now`, or `never`. {REST}\n\n"
        )

    def takes(self, answer: str) -> bool:
        """Whether this is one of the three answers."""
        return any(each.fullmatch(answer) for each in (_TRUST, _LATER, _NEVER))

    def do(self, answer: str) -> str:
        items = [each.item for each in self.questions]
        if _TRUST.fullmatch(answer):
            self.adviser.trust.grant(items)
            return "Trusted. If the content changes, Symposium asks you again.\n\n"
        if _NEVER.fullmatch(answer):
            self.adviser.trust.refuse(items)
            return "Symposium does not use them. It asks you again only if they change.\n\n"
        self.passed.update(map(question_key, self.questions))
        return "Not used. Symposium asks you again after it restarts.\n\n"


@dataclass(frozen=True, slots=True)
class ChangeOffer:
    """Offer to add mods that suit the workspace, and to remove those that no longer do.

    Attributes:
        adviser: stores the answer.
        workspace: the workspace.
        config: the config file.
        changes: the offered changes.
        passed: offers that the user postponed in this process.
    """

    adviser: Advisor
    workspace: Path
    config: Path
    changes: RecommendationChanges
    passed: set[str]

    def text(self) -> str:
        """Format the added and removed lines, each with its number and reason."""
        added, removed = self.changes.additions, self.changes.removals
        lines = [line for at, each in enumerate(added, 1) for line in _added(at, each)]
        lines += [_removed(at, each) for at, each in enumerate(removed, len(added) + 1)]
        words = ["`add` (with numbers, such as `add 1`, only those)"] if added else []
        words += ["`remove`"] if removed else []
        return (
            "**New recommendations for this workspace**\n\n"
            f"{_fenced(chr(10).join(lines), 'diff')}\n\n"
            f"Answer {', '.join(words)}, `not now`, or `never`. {REST}\n\n"
        )

    def takes(self, answer: str) -> bool:
        """Whether this is an offered word, with numbers of the list."""
        if _LATER.fullmatch(answer):
            return True
        found = _CHOICE.fullmatch(answer)
        if found is None:
            return False
        verb, numbers = found[1].lower(), _numbers(found[2])
        adds, removes = self._chosen(verb, numbers)
        return bool(adds or removes) and len(adds) + len(removes) >= len(numbers)

    def do(self, answer: str) -> str:
        """Change the config, or store the refusal."""
        found = _CHOICE.fullmatch(answer)
        if found is None:
            offered = [
                *map(_identity, self.changes.additions),
                *map(_identity, self.changes.removals),
            ]
            self.passed.update(f"{self.workspace}\0{each}" for each in offered)
            return "Nothing was changed. Symposium offers this again after it restarts.\n\n"
        verb = found[1].lower()
        adds, removes = self._chosen(verb, _numbers(found[2]))
        if verb == "never":
            self.adviser.memory.decline(map(_identity, adds))
            self.adviser.memory.keep(map(_identity, removes))
            return "Nothing was changed. This is not offered again.\n\n"
        return self._change([each.recommendation.mod for each in adds], [r.mod for r in removes])

    def _chosen(
        self, verb: str, numbers: Sequence[int]
    ) -> tuple[Sequence[Addition], Sequence[RecommendationRemoval]]:
        count = len(self.changes.additions)
        adds = [] if verb == "remove" else _picked(self.changes.additions, 1, numbers)
        removes = [] if verb == "add" else _picked(self.changes.removals, count + 1, numbers)
        return adds, removes

    def _change(self, add: Sequence[ModEntry], remove: Sequence[ModEntry]) -> str:
        loaded = load(self.config)
        if loaded is None:
            raise ConfigError(f"{self.config} no longer exists", "open a new session")
        mods = _known_mods(loaded.config.mods)
        known = {identity(mod) for mod in mods} | {mod.name for mod in mods}
        new = [mod for mod in add if not {identity(mod), mod.name} & known]
        save(self.config, applied(loaded.config, new, remove), loaded.text)
        self.adviser.memory.added(self.workspace, map(identity, new))
        messages = [f"Added {_names(new)}."] if new else []
        messages += [f"Removed {_names(remove)}."] if remove else []
        if not messages:
            return "Nothing was changed: the config already has this.\n\n"
        return f"{' '.join(messages)} New sessions use the changed list of mods.\n\n"


WorkspaceOffer: TypeAlias = TrustOffer | ChangeOffer


def next_offer(
    adviser: Advisor, directory: str, config: Path, passed: set[str], *, include_postponed: bool
) -> WorkspaceOffer | None:
    """Return the next offer for a session's directory; None if there is nothing to ask.

    Args:
        adviser: source of recommendations.
        directory: the session's directory.
        config: the config file.
        passed: offers that the user postponed in this process.
        include_postponed: include postponed offers.
    """
    advice = adviser.advise(directory)
    kept = set[str]() if include_postponed else passed
    questions = [each for each in advice.questions if question_key(each) not in kept]
    if questions:
        return TrustOffer(adviser, advice.workspace, questions, passed)
    changes = _changes(adviser, advice, config, kept)
    return ChangeOffer(adviser, advice.workspace, config, changes, passed) if changes else None


def question_key(question: Question) -> str:
    """Key of a question, equal for equal content at the same place."""
    item = question.item
    return "\0".join([*item.place, item.digest, *(link.text for link in item.links)])


def _changes(
    adviser: Advisor, advice: Advice, config: Path, passed: set[str]
) -> RecommendationChanges:
    try:
        loaded = load(config)
    except ExplainedError:
        return RecommendationChanges()  # reported when the config is used
    if loaded is None:
        return RecommendationChanges()
    found = adviser.changes(advice, _known_mods(loaded.config.mods))

    def is_open(each: Addition | RecommendationRemoval) -> bool:
        return f"{advice.workspace}\0{_identity(each)}" not in passed

    additions = tuple(filter(is_open, found.additions))
    return RecommendationChanges(additions, tuple(filter(is_open, found.removals)))


def _known_mods(mods: Sequence[ModEntry]) -> list[ModEntry]:
    """The mods of a config, also under their other names."""
    others = [ModEntry(OTHER_NAMES[mod.name]) for mod in mods if mod.name in OTHER_NAMES]
    return [*mods, *others]


def _identity(change: Addition | RecommendationRemoval) -> str:
    match change:
        case Addition(recommendation):
            return recommendation.identity
        case RecommendationRemoval(mod):
            return identity(mod)


def _picked(listed: Sequence[_Change], first: int, numbers: Sequence[int]) -> list[_Change]:
    return [each for at, each in enumerate(listed, first) if not numbers or at in numbers]


def _numbers(text: str) -> list[int]:
    return [int(each) for each in dict.fromkeys(re.findall(r"\d+", text))]


def _added(at: int, addition: Addition) -> Iterable[str]:
    mod = addition.recommendation.mod
    whose = {
        "built-in": "",
        "remote": "",
        "user": "from your own list",
        "workspace": "recommended by this workspace",
    }
    parts = [addition.because, whose[addition.recommendation.layer]]
    because = "; ".join(filter(None, parts))
    yield f"+ {at}. {_line(mod.name)}" + (f" ({_line(because)})" if because else "")
    yield from (f"       {effect_line(effect)}" for effect in effects_of(mod))


def _removed(at: int, removal: RecommendationRemoval) -> str:
    return f"- {at}. {_line(removal.mod.name)} ({_line(removal.because)})"


def _names(mods: Iterable[ModEntry]) -> str:
    return ", ".join(f"`{_code(mod.name)}`" for mod in mods)


def _line(text: str) -> str:
    return " ".join(plain_text(text).split())


def _code(text: object) -> str:
    return _line(str(text)).replace("`", "'")


def _fenced(text: str, language: str = "text") -> str:
    """Format a code block that the text cannot end."""
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}{language}\n{text}\n{fence}"


_log = logging.getLogger(__name__)


def adviser_for(paths: Paths, env: Mapping[str, str]) -> Advisor:
    """Make the adviser of the user."""
    return Advisor(paths, env, mod_names, [_guidance, _set_up, foreign_items])


async def refreshed(paths: Paths, env: Mapping[str, str]) -> None:
    """Update remote recommendations if they are old; log problems."""
    remote = adviser_for(paths, env).remote
    problem = await remote.refresh() if remote.is_stale else ""
    if problem:
        _log.info("could not update the recommendations: %s", problem)


def _set_up(workspace: Path) -> list[TrustItem]:
    """List the setup commands of this clone's tasks, which the daemon asks about, too."""
    root = checkout_of(workspace)
    recipe = read_set_up(root, root)
    return [item_of(str(root), recipe.digest, lines_of(recipe))] if lines_of(recipe) else []


def _guidance(workspace: Path) -> list[TrustItem]:
    return project_items(checkout_of(workspace))


@dataclass(frozen=True, slots=True)
class CustomMods:
    """Available mods, by name; a name in the config hides the same name elsewhere.

    Attributes:
        mods: mods with their own sources.
        whose: owner of each name, as text.
        problem: reason why mods of the config are missing; empty if none are.
    """

    mods: Mapping[str, ModEntry]
    whose: Mapping[str, str]
    problem: str = ""


def custom_mods(config: Path, paths: Paths, env: Mapping[str, str], workspace: Path) -> CustomMods:
    """Find all mods; those that a workspace recommends only if it is trusted."""
    problem = ""
    try:
        loaded = load(config)
    except ConfigError as error:
        loaded, problem = None, error.message
    mods: dict[str, ModEntry] = {}
    whose: dict[str, str] = {}
    for mod in () if loaded is None else loaded.config.mods:
        if mod.source is not None and mods.setdefault(mod.name, mod) is mod:
            whose[mod.name] = "of the config"
    for each in adviser_for(paths, env).advise(workspace).recommendations:
        mod = each.mod
        if mod.source is not None and mods.setdefault(mod.name, mod) is mod:
            whose[mod.name] = f"recommended ({each.layer})"
    return CustomMods(mods, whose, problem)
