"""Setup of a worktree as its files describe it; pure values."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Recipe:
    """Setup that one file asks for.

    Attributes:
        source: the file, relative to the clone.
        copy: patterns as in `.gitignore`, of untracked files that are copied.
        link: paths that become links to the clone's own.
        setup: shell commands, run in order in the new worktree.
        run: starts the program; shown only.
        check: shell commands that must pass before work lands.
        teardown: shell commands, run before the worktree is removed.
        env: variables for all of these.
        ports: number of ports; None for the default.
        notes: parts of the file that are ignored.
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
        """Everything but the variables, by kind, in the order of execution."""
        return {
            "copy": self.copy,
            "link": self.link,
            "setup": self.setup,
            "run": self.run,
            "check": self.check,
            "teardown": self.teardown,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """Actions, each with its kind, for display; without parts that are only shown."""
        for kind, lines in self.by_kind.items():
            for line in lines if kind != "run" else ():
                yield kind, line
        for name, value in self.env.items():
            yield "env", f"{name}={value}"


@dataclass(frozen=True, slots=True)
class Guess:
    """A suggestion from a lock file; shown, never run without approval."""

    source: str
    command: str


@dataclass(frozen=True, slots=True)
class SetUpRecipe:
    """Setup of all files of a clone.

    Attributes:
        broken: unreadable files, with the reason.
    """

    recipes: tuple[Recipe, ...] = ()
    guesses: tuple[Guess, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Changes with every action: trust applies to exactly this content."""
        lines = [[each.source, kind, line] for each in self.recipes for kind, line in each.lines()]
        # JSON: no command can look like two.
        return sha256(json.dumps(lines).encode()).hexdigest()

    def all_of(self, kind: str) -> tuple[str, ...]:
        """Lines of one kind of all files, in order, without duplicates."""
        found = [line for each in self.recipes for line in each.by_kind[kind]]
        return tuple(dict.fromkeys(found))

    @property
    def env(self) -> dict[str, str]:
        """The variables of all files; the first file to define one wins."""
        found: dict[str, str] = {}
        for each in self.recipes:
            found = {**each.env, **found}
        return found

    @property
    def ports(self) -> int | None:
        """The highest number of ports that a file asks for."""
        return max((each.ports for each in self.recipes if each.ports is not None), default=None)
