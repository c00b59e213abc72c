"""Where a Python project's distributions are installed; found by looking, not by asking Python."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from symposium.package_sources.places import upward

_NAMES: Final = (".venv", "venv")
_SITES: Final = ("site-packages", "dist-packages")
_MARK: Final = "pyvenv.cfg"
_ABOVE: Final = 2
"""Where the environment is, among the parents of its `lib/python3.x/site-packages`."""


def site_directories(
    project: Path, env: Mapping[str, str], interpreter: Path | None = None
) -> Iterator[Path]:
    """Directories of installed distributions, the likeliest first, each once.

    Args:
        project: whose `.venv` counts, or that of a directory above it.
        env: whose `VIRTUAL_ENV` counts.
        interpreter: the path of one that was named; then only its own count.
    """
    seen: set[Path] = set()
    for prefix, is_named in _prefixes(project, env, interpreter):
        for found in sorted(prefix.glob("lib/python3*/*-packages"), reverse=True):
            # What a workspace calls its environment may be a link: it must lead into a real one.
            site = found.resolve()
            if site.name not in _SITES or len(site.parents) <= _ABOVE or site in seen:
                continue
            if is_named or (site.parents[_ABOVE] / _MARK).is_file():
                seen.add(site)
                yield site


def _prefixes(
    project: Path, env: Mapping[str, str], interpreter: Path | None
) -> Iterator[tuple[Path, bool]]:
    if interpreter is not None:
        # Not resolved: the link in an environment is what tells it from its Python.
        yield interpreter.absolute().parent.parent, True
        return
    for folder in upward(project):
        for name in _NAMES:
            yield folder / name, False
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := env.get(name):
            yield Path(value), True
