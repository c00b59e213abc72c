"""The adviser of this program: with our own mods, and all that a workspace can store for us."""

import logging
from collections.abc import Mapping
from pathlib import Path

from symposium.catalog import mod_names
from symposium.config.paths import Paths
from symposium.guidance.places import checkout_of
from symposium.guidance.reading import project_items
from symposium.recommendations.adviser import Adviser
from symposium.trust.foreign import foreign_items
from symposium.trust.item import Item

_log = logging.getLogger(__name__)


def adviser_for(paths: Paths, env: Mapping[str, str]) -> Adviser:
    """The adviser of one user."""
    return Adviser(paths, env, mod_names, [_guidance, foreign_items])


async def refreshed(paths: Paths, env: Mapping[str, str]) -> None:
    """Ask for the recommendations of others, if ours are old; what is wrong is logged."""
    remote = adviser_for(paths, env).remote
    trouble = await remote.refresh() if remote.is_stale else ""
    if trouble:
        _log.info("the recommendations could not be renewed: %s", trouble)


def _guidance(workspace: Path) -> list[Item]:
    return project_items(checkout_of(workspace))
