"""Random inputs of tests: the same in every run of `make test`, new ones with a fresh seed."""

import os
import random
import secrets
from typing import Final

SEED: Final = "SEED"
"""The variable with the seed: a number, `fresh` for a new one, or nothing for the usual inputs."""


EXAMPLES: Final = 30
FRESH_EXAMPLES: Final = 100
"""Inputs of a property test that names no number: the usual ones, and those of a seed."""


def choose_seed() -> int | None:
    """The seed of this run, for every process of it; None for the usual inputs."""
    if os.environ.get(SEED) == "fresh":
        os.environ[SEED] = str(secrets.randbelow(2**32))
    chosen = os.environ.get(SEED, "")
    return int(chosen) if chosen else None


def random_source(*of: object) -> random.Random:
    """Random choices for one test; its name and number keep it apart from others."""
    return random.Random(repr((os.environ.get(SEED, ""), *of)))  # noqa: S311 - not for secrets
