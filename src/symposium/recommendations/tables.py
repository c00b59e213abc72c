"""Strangers' values taken as what they should be: another form counts as nothing."""

from collections.abc import Mapping
from typing import Any, cast


def table_of(value: Any) -> Mapping[str, Any]:
    """The table; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def list_of(value: Any) -> list[Any]:
    """The list; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """The text; an empty one for anything else."""
    return value if isinstance(value, str) else ""
