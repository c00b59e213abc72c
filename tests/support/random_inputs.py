"""Random inputs of tests: the same in every run of `make test`, new ones with a fresh seed."""

import os
import random
import secrets
from typing import Final

SEED: Final = "SEED"
"""Variable for the seed: a number, `fresh` for a new one, or nothing for the usual inputs."""


EXAMPLES: Final = 10
FRESH_EXAMPLES: Final = 100
"""Number of inputs of a property test without its own number: by default, and with a seed."""


def choose_seed() -> int | None:
    """Return the seed of this run for all its processes; None for the usual inputs."""
    if os.environ.get(SEED) == "fresh":
        os.environ[SEED] = str(secrets.randbelow(2**32))
    chosen = os.environ.get(SEED, "")
    return int(chosen) if chosen else None


def random_source(*of: object) -> random.Random:
    """Return random choices for one test, which its name and number determine."""
    return random.Random(repr((os.environ.get(SEED, ""), *of)))  # noqa: S311 - not for secrets
