"""TOML files of a workspace are parsed in bounded time."""

import re
from pathlib import Path

import pytest

from localio.toml import MAX_KEY_DOTS, parse_toml

SOURCES = Path(__file__).parents[3] / "src"
AT_LIMIT = ".".join("a" * (MAX_KEY_DOTS + 1))


@pytest.mark.requirement("trust.toml-bounded")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{AT_LIMIT}.a = 1", "a key with more than 200 dots"),
        (f"[{AT_LIMIT}.a]", "a key with more than 200 dots"),
        (f"  [[ {AT_LIMIT}.a ]]", "a key with more than 200 dots"),
        (f"x = {{b = 1, {AT_LIMIT}.a = 1}}", "a key with more than 200 dots"),
        ("x = " + "[" * 100_000, "values are nested too deeply"),
        ("x = {", "Invalid initial character for a key part (at end of document)"),
    ],
)
def test_text_that_would_take_long_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        parse_toml(text)


@pytest.mark.requirement("trust.toml-bounded")
def test_long_values_and_keys_of_the_maximum_length_are_parsed() -> None:
    dots = "." * 1000
    text = f'{AT_LIMIT} = 1\nb = "{dots}"\nc = ["{dots}", "{dots}"]\nd = {{e = "{dots}", f = 2}}\n'

    parsed = parse_toml(text)
    deepest = parsed.pop("a")
    for _ in range(MAX_KEY_DOTS):
        deepest = deepest["a"]
    assert deepest == 1
    assert parsed == {"b": dots, "c": [dots, dots], "d": {"e": dots, "f": 2}}


@pytest.mark.requirement("trust.toml-bounded")
def test_only_the_policy_of_the_user_is_parsed_without_bounds() -> None:
    users = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if "import tomllib" in path.read_text(encoding="utf-8")
    }

    assert users == {"localio/toml.py", "symposium/permissions/policy.py"}
