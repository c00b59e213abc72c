"""The crates that a workspace depends on directly, from its lock file or its manifests; pure.

Cargo itself is not asked: it reads what a workspace stores, and runs it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from symposium.recommendations.tables import list_of, table_of, text_of

TRANSPARENT: Final = "-battery-pack"
"""How the names of crates end that only bring others: what they bring counts (acp-host §4.11)."""

_CARGO_SECTIONS: Final = ("dependencies", "dev-dependencies", "build-dependencies")


def crates_of_lock(lock: Mapping[str, Any]) -> frozenset[str]:
    """What the members of a `Cargo.lock` depend on; a member is a package without a source."""
    needs: dict[str, set[str]] = defaultdict(set)
    members: set[str] = set()
    for package in map(table_of, list_of(lock.get("package"))):
        name = text_of(package.get("name"))
        # An entry is `name`, `name version` or `name version (source)`.
        listed = [text_of(each).partition(" ")[0] for each in list_of(package.get("dependencies"))]
        needs[name].update(filter(None, listed))
        if "source" not in package:
            members.add(name)
    direct = {name for member in members for name in needs[member]}
    return frozenset(_through_battery_packs(direct, needs))


def crates_of_manifests(manifests: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What `Cargo.toml`s depend on, where no lock file has been written yet."""
    return frozenset(name for each in manifests for name in _of_manifest(each) if name)


def _of_manifest(manifest: Mapping[str, Any]) -> Iterator[str]:
    targets = map(table_of, table_of(manifest.get("target")).values())
    for table in (manifest, table_of(manifest.get("workspace")), *targets):
        for section in _CARGO_SECTIONS:
            for name, detail in table_of(table.get(section)).items():
                yield text_of(table_of(detail).get("package")) or name


def _through_battery_packs(direct: set[str], needs: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(direct)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += needs.get(name, ()) if name.endswith(TRANSPARENT) else ()
    return found
