"""A group of subcommands that answers an unknown name with those that may be meant."""

from collections.abc import Sequence
from typing import Final

import click

from localio.text import near_names

EQUIVALENTS: Final = (
    frozenset({"rm", "remove", "delete", "del", "forget", "revoke"}),
    frozenset({"new", "create", "add", "install", "make", "start", "grant", "allow"}),
    frozenset({"show", "view", "info", "status", "inspect", "describe"}),
    frozenset({"list", "ls"}),
    frozenset({"stop", "kill", "end", "cancel"}),
    frozenset({"log", "logs", "tail"}),
    frozenset({"say", "send", "prompt", "message"}),
    frozenset({"rename", "mv", "move"}),
    frozenset({"undo", "restore", "revert"}),
    frozenset({"land", "merge"}),
    frozenset({"update", "upgrade"}),
    frozenset({"answer", "reply", "approve"}),
    frozenset({"verify", "check", "validate"}),
    frozenset({"gc", "prune", "clean"}),
)
"""Names that other programs give to the same action."""


def meant_names(name: str, known: Sequence[str]) -> list[str]:
    """The known names of the same action, then those spelled alike; each once."""
    words = {word for group in EQUIVALENTS if name.lower() in group for word in group}
    found = [each for each in known if each in words]
    return list(dict.fromkeys([*found, *near_names(name, known)]))


class CommandGroup(click.Group):
    """Suggests subcommands for an unknown name, and lists them all."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that the words name, and the words that are its own."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            near = meant_names(name, known)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(
                f"No such command {name!r}.{meant} There are: {', '.join(known)}.", ctx
            )
        return super().resolve_command(ctx, args)
