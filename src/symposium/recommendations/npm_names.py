"""The npm packages that a workspace depends on directly; pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from symposium.recommendations.tables import list_of, table_of, text_of

_NPM_SECTIONS: Final = (
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
)


def packages_of_manifest(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What a `package.json` depends on."""
    for section in _NPM_SECTIONS:
        yield from table_of(manifest.get(section))


def workspaces_of(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Where the manifests of its members are, as patterns."""
    listed = manifest.get("workspaces")
    patterns = table_of(listed).get("packages") if isinstance(listed, Mapping) else listed
    yield from filter(None, map(text_of, list_of(patterns)))
