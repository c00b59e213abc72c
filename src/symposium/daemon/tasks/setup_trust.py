"""Whether the set-up that a repository asks for may be done: once for each content (users B-3)."""

from collections.abc import Sequence
from pathlib import Path

from symposium.permissions.trust_store import TrustStore
from symposium.permissions.trusted_content import Effect, Item
from symposium.taskspaces.setup_files.recipe import SetUp

SETUP_KIND = "setup"


class SetUpTrust:
    """Asks what the user has decided before; a person is asked through the inbox.

    Args:
        store: what the user trusts.
    """

    def __init__(self, store: TrustStore) -> None:
        self._store = store

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Whether the user trusts exactly this."""
        return self._store.is_trusted(item_of(project, digest, commands))

    def grant(self, project: str, recipe: SetUp) -> None:
        """The user trusts exactly this.

        Raises:
            TrustError: it cannot be written down.
        """
        self._store.grant([item_of(project, recipe.digest, lines_of(recipe))])


def lines_of(recipe: SetUp) -> list[str]:
    """What a set-up would do, for people, in order."""
    return [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]


def item_of(project: str, digest: str, commands: Sequence[str]) -> Item:
    """What the user is asked about: the same wherever it is asked."""
    content = "\n".join([digest, *commands]).encode(errors="surrogateescape")
    allows = tuple(Effect("command", command) for command in commands)
    return Item(Path(project), SETUP_KIND, "set-up of taskspaces", content, allows=allows)
