"""Chains read from the SPECs of a command line."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from symposium.catalog import mod_names
from symposium.errors import SpecError
from symposium.planning.chain_spec import DEFAULTS, FORMS, read_chain


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")


UNKNOWN_MOD = (
    f"--proxy 2: 'feris' is neither a built-in mod ({', '.join([*mod_names(), DEFAULTS])}) "
    "nor a program on PATH"
)
UNKNOWN_AGENT = "--agent: 'elisa' is neither a built-in agent (eliza, testy) nor a program on PATH"


@pytest.mark.requirement("cli.bad-spec", "cli.specs-unknown-name", "cli.specs-name")
@pytest.mark.parametrize(
    ("proxies", "agent", "message", "hint"),
    [
        (
            ["eliza"],
            None,
            "--proxy: eliza is an agent, and a mod is wanted",
            "write --agent eliza; it stands at the end of the chain",
        ),
        (
            [],
            "ferris",
            "--agent: ferris is a mod, and an agent is wanted",
            "write --proxy ferris, and an agent such as eliza after --agent",
        ),
        (["ferris", "feris"], None, UNKNOWN_MOD, f"did you mean ferris? Otherwise: {FORMS}"),
        ([], "elisa", UNKNOWN_AGENT, f"did you mean eliza? Otherwise: {FORMS}"),
        ([], "qq", UNKNOWN_AGENT.replace("elisa", "qq"), FORMS),
    ],
)
def test_error_names_the_option_the_word_and_the_right_use(
    proxies: Sequence[str], agent: str | None, message: str, hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read_chain(proxies, agent)

    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.requirement("cli.specs-name")
def test_chain_has_the_mods_in_order_then_those_of_the_host_and_the_agent() -> None:
    program = '{"command": "x/y", "env": {"KEY": "hidden"}}'
    spec = read_chain(["defaults", "policy", program], "FOO=other z/agent", bridge="off")

    assert [mod.name for mod in spec.users_mods()] == ["guidance", "ferris", "cargo", "y"]
    assert [mod.name for mod in spec.hosts_mods()][-1] == "policy"
    names = [each.name for each in [*spec.users_mods(), *spec.hosts_mods()]]
    assert [each.name for each in spec.blueprint().mods] == names
    assert (spec.agent_name, spec.bridge, spec.secrets) == ("agent", "off", ("hidden", "other"))

    proxy = read_chain(["policy"], None)
    assert [mod.name for mod in proxy.blueprint().mods] == ["policy"]
    assert (proxy.agent_name, proxy.agent) == ("", None)
