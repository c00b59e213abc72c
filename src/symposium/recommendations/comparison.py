"""What is recommended beside what is configured: what to offer, and never more than that; pure."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from symposium.config.user_config import Config, ModEntry
from symposium.recommendations.facts import Facts
from symposium.recommendations.predicate import holds, reason, reason_gone
from symposium.recommendations.recommendation import ORIGIN, Recommendation, identity


@dataclass(frozen=True, slots=True)
class Addition:
    """A mod that suits the workspace and is not configured.

    Attributes:
        recommendation: which.
        because: why it suits; empty for what always does.
    """

    recommendation: Recommendation
    because: str


@dataclass(frozen=True, slots=True)
class Removal:
    """A mod that was added for this workspace and suits it no longer; `because` says why."""

    mod: ModEntry
    because: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What to offer to the user."""

    additions: tuple[Addition, ...] = ()
    removals: tuple[Removal, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to offer."""
        return bool(self.additions or self.removals)


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user has said before, as identities of mods.

    Attributes:
        declined: never to be offered again.
        added_here: added for this workspace, and for no other.
        kept: not to be taken away, whatever suits.
    """

    declined: AbstractSet[str] = frozenset()
    added_here: AbstractSet[str] = frozenset()
    kept: AbstractSet[str] = frozenset()


def compare(
    mods: Sequence[ModEntry],
    recommendations: Iterable[Recommendation],
    facts: Facts,
    answers: Answers,
) -> Changes:
    """What to add and what to take away (acp-host §4.11).

    A disabled mod counts as known. Only what a recommendation has brought, for this workspace
    alone, is ever offered to be taken away.
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
        Removal(mod, _why_gone(by_identity.get(identity(mod)), facts))
        for mod in mods
        if mod.origin == ORIGIN and identity(mod) in answers.added_here - answers.kept - suits
    ]
    return Changes(tuple(additions), tuple(removals))


def applied(config: Config, add: Iterable[ModEntry], remove: Iterable[ModEntry]) -> Config:
    """The config with these mods at its end, and without those."""
    gone = {identity(mod) for mod in remove}
    kept = [mod for mod in config.mods if mod.origin != ORIGIN or identity(mod) not in gone]
    return config.with_mods(*kept, *add)


def _why_gone(recommendation: Recommendation | None, facts: Facts) -> str:
    if recommendation is None:
        return "it is no longer recommended"
    return reason_gone(recommendation.when, facts) or "it no longer suits"
