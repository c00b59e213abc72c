"""What a set-up file asks for; pure values."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one file asks for, and from where.

    Attributes:
        source: the file, relative to the clone.
        copy: patterns as in `.gitignore`, of untracked files that are copied.
        link: paths that become links to the clone's own.
        setup: shell commands, run in the new worktree, in order.
        run: starts the program; for people.
        check: shell commands that must pass before work lands.
        teardown: shell commands, run before the worktree is removed.
        env: variables for all of these.
        ports: how many are wanted; None for the usual number.
        notes: what the file also says that is not done.
    """

    source: str
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])
    ports: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """All but the variables, by the kind of each, in the order in which they are done."""
        return {
            "copy": self.copy,
            "link": self.link,
            "setup": self.setup,
            "run": self.run,
            "check": self.check,
            "teardown": self.teardown,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """What may be done, each with its kind, for people; what is only shown is left out."""
        for kind, lines in self.by_kind.items():
            for line in lines if kind != "run" else ():
                yield kind, line
        for name, value in self.env.items():
            yield "env", f"{name}={value}"


@dataclass(frozen=True, slots=True)
class Guess:
    """What a lock file suggests; shown, never run unasked."""

    source: str
    command: str


@dataclass(frozen=True, slots=True)
class SetUp:
    """All that a clone's files ask for.

    Attributes:
        broken: files that could not be read, and why.
    """

    recipes: tuple[Recipe, ...] = ()
    guesses: tuple[Guess, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Changes when anything that would be done changes: trust is for this very content."""
        told = [[each.source, kind, line] for each in self.recipes for kind, line in each.lines()]
        # No command can be written so that it reads like two.
        return sha256(json.dumps(told).encode()).hexdigest()

    def all_of(self, kind: str) -> tuple[str, ...]:
        """One kind of lines of all recipes, in order, each once."""
        found = [line for each in self.recipes for line in each.by_kind[kind]]
        return tuple(dict.fromkeys(found))

    @property
    def env(self) -> dict[str, str]:
        """The variables of all recipes; the first to name one decides."""
        found: dict[str, str] = {}
        for each in self.recipes:
            found = {**each.env, **found}
        return found

    @property
    def ports(self) -> int | None:
        """The most that one of them wants."""
        return max((each.ports for each in self.recipes if each.ports is not None), default=None)
