"""The adviser of this program: with our own mods, and all that a workspace can store for us."""

import logging
from collections.abc import Mapping
from pathlib import Path

from symposium.catalog import mod_names
from symposium.config.paths import Paths
from symposium.daemon.tasks.setup_trust import item_of, lines_of
from symposium.documents.guidance import checkout_of, project_items
from symposium.permissions.trusted_content import Item, foreign_items
from symposium.planning.advisor import Adviser
from symposium.taskspaces.setup_files.reading import read_set_up

_log = logging.getLogger(__name__)


def adviser_for(paths: Paths, env: Mapping[str, str]) -> Adviser:
    """The adviser of one user."""
    return Adviser(paths, env, mod_names, [_guidance, _set_up, foreign_items])


async def refreshed(paths: Paths, env: Mapping[str, str]) -> None:
    """Ask for the recommendations of others, if ours are old; what is wrong is logged."""
    remote = adviser_for(paths, env).remote
    trouble = await remote.refresh() if remote.is_stale else ""
    if trouble:
        _log.info("the recommendations could not be renewed: %s", trouble)


def _set_up(workspace: Path) -> list[Item]:
    """List the set-up commands of this clone's tasks, which the daemon asks about, too."""
    root = checkout_of(workspace)
    recipe = read_set_up(root, root)
    return [item_of(str(root), recipe.digest, lines_of(recipe))] if lines_of(recipe) else []


def _guidance(workspace: Path) -> list[Item]:
    return project_items(checkout_of(workspace))
