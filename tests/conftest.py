"""Settings that hold for every test."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
"""The same examples everywhere, and none that fails because the machine is busy."""
