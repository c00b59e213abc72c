"""What is known of a workspace, as far as any condition asks; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Ecosystem: TypeAlias = Literal["crate", "python", "npm"]

_PYTHON_SEPARATORS: Final = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a survey has found.

    Attributes:
        files: those of the paths asked about that are there.
        packages: the direct dependencies, by ecosystem, in their canonical spelling.
        troubles: what could not be read, in words.
    """

    files: frozenset[str] = frozenset()
    packages: Mapping[Ecosystem, frozenset[str]] = field(
        default_factory=dict[Ecosystem, frozenset[str]]
    )
    troubles: tuple[str, ...] = ()

    def has_package(self, ecosystem: Ecosystem, name: str) -> bool:
        """Whether the workspace depends on it directly."""
        return canonical(ecosystem, name) in self.packages.get(ecosystem, frozenset())


def canonical(ecosystem: Ecosystem, name: str) -> str:
    """The one spelling of a package's name: registries take some spellings for the same."""
    match ecosystem:
        case "crate":
            return name.strip().replace("_", "-").lower()
        case "python":
            return _PYTHON_SEPARATORS.sub("-", name.strip()).lower()
        case "npm":
            return name.strip()
