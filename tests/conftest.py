"""Settings for every test."""

import gc
import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, core, settings
from tests.support.known_signals import take_known_signals
from tests.support.memory_files import in_memory
from tests.support.nursery import NURSERY, Kind
from tests.support.own_home import leave_own_home, take_own_home
from tests.support.random_inputs import EXAMPLES, FRESH_EXAMPLES, choose_seed
from tests.support.worker_order import in_order

take_known_signals()

if "TMPDIR" not in os.environ and (memory := in_memory()):
    # `TMPDIR=/tmp make test` puts them on a disk.
    os.environ["TMPDIR"] = tempfile.tempdir = str(memory)

HOME = take_own_home()
"""Set before any test module is imported: some read the environment then."""

NURSERY.kind = Kind.of_this_process()
"""Read before any test module is imported: the kind of a test process, unchanged by tests."""

SEEDED = choose_seed()
"""Seed of random inputs; None for the same inputs in every run."""

settings.register_profile(
    "house",
    max_examples=EXAMPLES if SEEDED is None else FRESH_EXAMPLES,
    deadline=None,
    derandomize=SEEDED is None,
    database=None,
    print_blob=True,
    # A busy machine fails no test.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")
if SEEDED is not None:
    # Like `--hypothesis-seed`, for every worker.
    core.global_force_seed = SEEDED


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each core: a test of programs waits for about half of its time."""
    del config
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(scope="module", autouse=True)
def unchanged_process() -> Iterator[None]:
    """Fail if tests of a module leave changed signals, limits, or rights of their process.

    The nursery would fork nothing from then on, and every other test would be slower.
    """
    yield
    changed = Kind.of_this_process().differs(NURSERY.kind)
    assert not changed


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every worker its share of the long tests first; `worksteal` cuts the list evenly."""
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        items[:] = in_order(items, workers, kind=_kind, module=_module)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of the garbage collections of the tests."""
    gc.collect()
    gc.freeze()


def _kind(item: pytest.Item) -> int:
    """Return 0 for tests of minutes, 1 for tests that start programs, 2 for the rest."""
    mark = item.get_closest_marker("timeout")
    starts_programs = ("tests/process/", "tests/test_", "tests/unit/tasks/")
    return 0 if mark else 1 if item.nodeid.startswith(starts_programs) else 2


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to repeat the same random inputs."""
    if SEEDED is not None:
        terminalreporter.write_line(f"random inputs: SEED={SEEDED} gives them again")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the home."""
    del config
    leave_own_home(HOME)
