"""Answers of the package tools."""

from pathlib import Path

import pytest

from symposium.code.packages.answers import crate_answer, search_answer
from symposium.code.packages.model import PatternError


@pytest.mark.requirement("package-sources.pattern-first")
async def test_a_pattern_is_checked_before_a_package_is_looked_up(tmp_path: Path) -> None:
    # No index offers a package of this name: to look it up would be another error.
    with pytest.raises(PatternError):
        await crate_answer(tmp_path, "no/crate", None, "(")
    with pytest.raises(PatternError):
        await search_answer(tmp_path, ("python", "no/package", None), "(")
