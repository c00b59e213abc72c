"""Versions and ranges, as Cargo and npm read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.code.packages.versions import (
    Range,
    Version,
    parse_cargo_range,
    parse_npm_range,
    parse_version,
)

NUMBERS = st.tuples(*[st.integers(0, 3)] * 3)


def allowed(read: Range | None, *versions: str) -> list[str]:
    assert read is not None
    parsed = {each: parse_version(each) for each in versions}
    return [each for each, version in parsed.items() if version and read.allows(version)]


@pytest.mark.requirement("package-sources.cargo-ranges")
@pytest.mark.parametrize(
    ("wanted", "yes", "no"),
    [
        ("1.2.3", "1.2.3 1.2.10 1.9.0", "1.2.2 2.0.0 2.0.0-alpha 1.3.0-alpha"),
        ("1.2", "1.2.0 1.99.0", "1.1.9 2.0.0"),
        ("1", "1.0.0 1.99.0", "0.9.0 2.0.0"),
        ("0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"),
        ("0.0.3", "0.0.3", "0.0.4 0.1.0"),
        ("0.0", "0.0.0 0.0.9", "0.1.0"),
        ("0", "0.0.0 0.9.9", "1.0.0"),
        ("~1.2.3", "1.2.3 1.2.9", "1.3.0"),
        ("~1", "1.0.0 1.9.0", "2.0.0"),
        ("1.*", "1.0.0 1.9.9", "2.0.0 0.9.0"),
        ("1.2.*", "1.2.0 1.2.9", "1.3.0 1.1.0"),
        ("*", "0.0.0 9.9.9", "1.0.0-alpha"),
        ("=1.2.3", "1.2.3 1.2.3+build.7", "1.2.4"),
        ("=1.2", "1.2.0 1.2.9", "1.3.0"),
        (">=1.2, <1.5", "1.2.0 1.4.9", "1.1.0 1.5.0"),
        (">1.2", "1.3.0", "1.2.0 1.2.9"),
        ("<=1.2", "1.2.9", "1.3.0"),
        ("1.0.0-beta.2", "1.0.0-beta.2 1.0.0-beta.11 1.0.0 1.1.0", "1.0.0-beta.1 1.0.0-alpha"),
    ],
)
def test_a_requirement_of_cargo(wanted: str, yes: str, no: str) -> None:
    read = parse_cargo_range(wanted)
    assert allowed(read, *yes.split(), *no.split()) == yes.split()


@pytest.mark.requirement("package-sources.npm-ranges")
@pytest.mark.parametrize(
    ("wanted", "yes", "no"),
    [
        ("1.2.3", "1.2.3", "1.2.4"),
        ("1.2", "1.2.0 1.2.9", "1.3.0"),
        ("^1.2 || ^3", "1.2.0 1.9.0 3.0.0", "2.0.0 4.0.0"),
        ("1.2.3 - 2.3", "1.2.3 2.3.9", "1.2.2 2.4.0"),
        (">= 1.2 < 2", "1.2.0 1.9.9", "2.0.0"),
        ("~> 1.2", "1.2.0 1.2.9", "1.3.0"),
        ("", "0.0.1 9.0.0", "1.0.0-rc.1"),
        ("v1.x", "1.0.0", "2.0.0"),
        (">1.0.0-rc.1", "1.0.0-rc.2 1.0.0 3.0.0", "1.0.0-rc.1 2.0.0-rc.1"),
        ("<*", "", "0.0.0 1.0.0"),
    ],
)
def test_a_range_of_npm(wanted: str, yes: str, no: str) -> None:
    read = parse_npm_range(wanted)
    assert allowed(read, *yes.split(), *no.split()) == yes.split()


@pytest.mark.requirement("package-sources.npm-ranges", "package-sources.cargo-ranges")
@pytest.mark.parametrize("text", ["latest", "1.2.3.4", "01.2.3", ">>1", "git+https://a/b", "^"])
def test_what_is_no_range(text: str) -> None:
    assert parse_npm_range(text) is None
    assert parse_cargo_range(text) is None


@pytest.mark.requirement("package-sources.npm-ranges", "package-sources.cargo-ranges")
@given(st.text("0123456789.xX*^~<>=|- ,-rc", max_size=40))
def test_any_text_is_a_range_or_none(text: str) -> None:
    for read in (parse_npm_range(text), parse_cargo_range(text)):
        assert read is None or read.allows(Version((1, 0, 0))) in {True, False}


@pytest.mark.requirement("package-sources.cargo-ranges")
@given(NUMBERS, NUMBERS)
def test_a_caret_never_leaves_the_first_number_that_is_not_zero(
    low: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    read = parse_cargo_range(".".join(map(str, low)))
    assert read is not None
    first = next((at for at, each in enumerate(low) if each), 2)
    expected = other >= low and other[: first + 1] == low[: first + 1]
    assert read.allows(Version(other)) == expected


@pytest.mark.requirement("package-sources.cargo-ranges")
def test_previews_come_before_what_they_preview_in_the_order_of_semver() -> None:
    ordered = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
    ]
    versions = [version for each in ordered if (version := parse_version(each))]
    assert sorted(versions, key=lambda each: each.key) == versions
