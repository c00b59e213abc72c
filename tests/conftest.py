"""Settings that hold for every test."""

import os

import pytest
from hypothesis import settings
from tests.support.own_home import leave_own_home, take_own_home

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
"""The same examples everywhere, and none that fails because the machine is busy."""

HOME = take_own_home()
"""Taken before any test module is read: some read the environment when they are imported."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each core: a test of programs waits for about half of its time."""
    del config
    return 2 * (os.cpu_count() or 1)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no home behind."""
    del config
    leave_own_home(HOME)
