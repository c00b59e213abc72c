"""Settings that hold for every test."""

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
    # `TMPDIR=/tmp make test` has them on a disk.
    os.environ["TMPDIR"] = tempfile.tempdir = str(memory)

HOME = take_own_home()
"""Taken before any test module is read: some read the environment when they are imported."""

NURSERY.kind = Kind.of_this_process()
"""Taken before any test module is read: what a test process is, whatever a test makes of it."""

SEEDED = choose_seed()
"""The seed of random inputs; None for the same inputs everywhere."""

settings.register_profile(
    "house",
    max_examples=EXAMPLES if SEEDED is None else FRESH_EXAMPLES,
    deadline=None,
    derandomize=SEEDED is None,
    database=None,
    print_blob=True,
    # No test fails because the machine is busy.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")
if SEEDED is not None:
    # As `--hypothesis-seed` does, for every worker.
    core.global_force_seed = SEEDED


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each core: a test of programs waits for about half of its time."""
    del config
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(scope="module", autouse=True)
def unchanged_process() -> Iterator[None]:
    """Fail where tests of a module leave signals, limits, or rights of their process changed.

    The nursery would fork nothing from then on, so that every other test would take its time.
    """
    yield
    changed = Kind.of_this_process().differs(NURSERY.kind)
    assert not changed


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every worker begin with its share of the long tests; `worksteal` cuts the list evenly."""
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
        items[:] = in_order(items, workers, kind=_kind, module=_module)


def _kind(item: pytest.Item) -> int:
    """0 for tests of minutes on a busy machine, 1 for those that start programs, 2 for the rest."""
    mark = item.get_closest_marker("timeout")
    starts_programs = ("tests/process/", "tests/test_", "tests/unit/tasks/")
    return 0 if mark else 1 if item.nodeid.startswith(starts_programs) else 2


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to have the same random inputs again."""
    if SEEDED is not None:
        terminalreporter.write_line(f"random inputs: SEED={SEEDED} gives them again")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no home behind."""
    del config
    leave_own_home(HOME)
