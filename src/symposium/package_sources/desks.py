"""The desk of each ecosystem, for one user and one project."""

import os
from collections.abc import Mapping
from pathlib import Path

from symposium.config.paths import paths
from symposium.package_sources.desk import SourceDesk
from symposium.package_sources.index_settings import (
    cargo_settings,
    npm_settings,
    python_settings,
)
from symposium.package_sources.model import Ecosystem, Packages
from symposium.package_sources.npm import NpmPackages
from symposium.package_sources.python import Distributions
from symposium.package_sources.rust import Crates
from symposium.package_sources.store import SourceStore

FOLDER = "package-sources"
"""Of the user's cache."""


def desk_of(
    ecosystem: Ecosystem,
    project: Path,
    *,
    interpreter: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> SourceDesk:
    """The desk of an ecosystem, as the user's own tools are set up.

    Args:
        ecosystem: whose packages.
        project: a directory of the project.
        interpreter: of Python, whose installed distributions count instead of the project's.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    store = SourceStore(paths(env).cache / FOLDER)
    packages: Packages
    match ecosystem:
        case Ecosystem.RUST:
            packages = Crates(cargo_settings(env))
        case Ecosystem.PYTHON:
            packages = Distributions(python_settings(env), env, interpreter)
        case Ecosystem.NPM:
            packages = NpmPackages(npm_settings(env))
    return SourceDesk(packages, store, project)
