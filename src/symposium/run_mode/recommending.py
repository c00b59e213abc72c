"""Recommendations in run mode; imports their code for the first session only."""

import os
from collections.abc import Mapping
from pathlib import Path

from symposium.config.paths import paths
from symposium.run_mode.offers import Offer


class Recommending:
    """Offer mods that suit a workspace, and trust in what it stores."""

    def __init__(self, config: Path, *, is_offline: bool = False) -> None:
        self._config = config
        self._env: Mapping[str, str] = os.environ
        self._passed: set[str] = set()
        self._is_asked = is_offline

    def offer(self, directory: str, *, anew: bool) -> Offer | None:
        """Return the next offer for a session's directory."""
        from symposium.run_mode.advice import adviser_for  # noqa: PLC0415 - as said above
        from symposium.run_mode.offering import next_offer  # noqa: PLC0415 - as said above

        adviser = adviser_for(paths(self._env), self._env)
        return next_offer(adviser, directory, self._config, self._passed, anew=anew)

    async def refresh(self) -> None:
        """Ask the network once, if what is known is older than a day; the next session has it."""
        if self._is_asked:
            return
        self._is_asked = True
        from symposium.run_mode.advice import refreshed  # noqa: PLC0415 - as said above

        await refreshed(paths(self._env), self._env)
