"""The Python packages that a workspace depends on directly, from what its tools write; pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from symposium.recommendations.tables import list_of, table_of, text_of

_NAME: Final = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_LOCAL: Final = frozenset({"editable", "virtual", "directory"})
"""How `uv.lock` marks the packages of the workspace itself."""


def packages_of_project(project: Mapping[str, Any]) -> Iterator[str]:
    """What a `pyproject.toml` depends on: extras, groups, uv's and Poetry's tables included."""
    own = table_of(project.get("project"))
    yield from _named(own.get("dependencies"))
    for extra in table_of(own.get("optional-dependencies")).values():
        yield from _named(extra)
    for group in table_of(project.get("dependency-groups")).values():
        yield from _named(group)
    tools = table_of(project.get("tool"))
    yield from _named(table_of(tools.get("uv")).get("dev-dependencies"))
    poetry = table_of(tools.get("poetry"))
    groups = map(table_of, table_of(poetry.get("group")).values())
    for table in (poetry, *groups):
        for section in ("dependencies", "dev-dependencies"):
            yield from (name for name in table_of(table.get(section)) if name != "python")


def packages_of_requirements(text: str) -> Iterator[str]:
    """What a `requirements.txt` names; its options and plain URLs are passed over."""
    for line in text.splitlines():
        found = _NAME.match(line)
        rest = "" if found is None else line[found.end() :].lstrip()
        if found is not None and not rest.startswith(("/", ":", "\\")):
            yield found[1]


def packages_of_uv_lock(lock: Mapping[str, Any]) -> Iterator[str]:
    """What the members of a `uv.lock` depend on."""
    for package in map(table_of, list_of(lock.get("package"))):
        if not _LOCAL & table_of(package.get("source")).keys():
            continue
        extras = table_of(package.get("optional-dependencies")).values()
        groups = table_of(package.get("dev-dependencies")).values()
        for listed in (package.get("dependencies"), *extras, *groups):
            for each in map(table_of, list_of(listed)):
                yield text_of(each.get("name"))


def _named(requirements: Any) -> Iterator[str]:
    for each in list_of(requirements):
        found = _NAME.match(text_of(each))
        if found is not None:
            yield found[1]
