"""Where guidance is kept, for somebody who works in a directory."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.config.paths import paths

IN_PROJECT: Final = ".symposium/guidance"
"""Relative to the root of a checkout."""

TEAM_VARIABLE: Final = "SYMPOSIUM_TEAM_GUIDANCE"
"""Names the directory of the team, where it is not `team/guidance` in the user's own."""

BUILT_IN: Final = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True)
class Places:
    """The directories that hold texts; none need exist.

    Attributes:
        project: the root of the checkout; its texts are a stranger's until the user trusts them.
        team: shared by the people one works with; the user has put it there.
        user: the user's own.
        home: where the user's decisions on what to trust are.
    """

    project: Path
    team: Path
    user: Path
    home: Path


def places_for(directory: Path, environment: Mapping[str, str] | None = None) -> Places:
    """The places for somebody who works in a directory; looks at the disk for the project's root.

    Args:
        directory: where the agent works.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    home = paths(env).home
    team = Path(env.get(TEAM_VARIABLE) or home / "team" / "guidance")
    return Places(checkout_of(directory), team, home / "guidance", home)


def checkout_of(directory: Path) -> Path:
    """The root of the checkout that a directory is in; the directory itself if it is in none."""
    here = directory.absolute()
    for place in (here, *here.parents):
        if (place / ".git").exists():
            return place
    return here
