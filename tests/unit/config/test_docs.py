"""The documentation of the config file matches the program."""

import re
from pathlib import Path

import pytest

from localio.jsonc import parse
from symposium.config.component_source import DETAILED, NAMED
from symposium.config.user_config import ConfigError, load, read_config

PAGE = (Path(__file__).parents[3] / "docs/reference/config.md").read_text()


@pytest.mark.requirement("config.fields")
def test_example_is_a_config() -> None:
    (example,) = re.findall(r"```jsonc\n(.*?)```", PAGE, re.DOTALL)

    config = read_config(parse(example).value)

    assert [mod.name for mod in config.mods] == ["ferris", "cargo", "mine", "tools-mcp"]


@pytest.mark.requirement("config.sources")
def test_every_source_is_documented() -> None:
    listed = set(re.findall(r'^\| `\{"(\w+)"|, `\{"(\w+)"', PAGE, re.MULTILINE))

    assert {name for pair in listed for name in pair if name} == NAMED | DETAILED.keys()


@pytest.mark.requirement("config.errors-have-places")
def test_documented_message_matches(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```text\n~/.symposium/config.jsonc(.*?)\n```", PAGE)
    path = tmp_path / "config.jsonc"
    lines = ["{", '"agent": "x",', '"proxies": [', "", "", '{"name": "a"},', '{"name": "b",']
    path.write_text("\n".join([*lines, '    "enabled": 1}]}']))

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert str(caught.value) == f"{path}{shown}"
