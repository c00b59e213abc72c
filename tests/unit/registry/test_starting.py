"""From the sources that a config names to commands."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.web import reply, serving

from localio.errors import ExplainedError
from peerwire.transports.command import Command
from symposium.config.component_source import ComponentSource
from symposium.errors import NotFoundError, SpecError
from symposium.registry.index import AddedAgent, Receipt, Surroundings, id_of, write_receipt
from symposium.registry.probe import Handshake
from symposium.registry.provision import obtain_source


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    file = tmp_path / "registry.json"
    file.write_text('{"agents": []}')
    env = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    return Surroundings(env, tmp_path, tmp_path / "cache", "linux-x86_64", str(file))


@pytest.mark.requirement("registry.sources", "registry.directory-shadowing")
@pytest.mark.parametrize(
    ("kind", "value", "argv"),
    [
        ("builtin", "eliza", (sys.executable, "-P", "-m", "symposium", "eliza")),
        ("registry", "eliza", (sys.executable, "-P", "-m", "symposium", "eliza")),
        ("local", {"command": "x", "args": ["--acp"]}, ("x", "--acp")),
        ("npx", {"package": "@a/b@1", "args": ["--acp"]}, ("npx", "-y", "@a/b@1", "--acp")),
        ("uvx", {"package": "b"}, ("uvx", "b")),
        ("pipx", {"package": "b"}, ("pipx", "run", "b")),
        ("python", {"module": "m", "args": ["--acp"]}, (sys.executable, "-P", "-m", "m", "--acp")),
    ],
)
async def test_a_source_that_needs_no_installation_is_a_command_at_once(
    kind: str, value: Any, argv: tuple[str, ...], around: Surroundings
) -> None:
    obtained = await obtain_source(ComponentSource(kind, value), around)

    assert obtained.command.argv == argv


@pytest.mark.requirement("registry.sources")
async def test_a_registry_source_is_first_what_was_added(around: Surroundings) -> None:
    around.added.add(AddedAgent("mine", ("my-agent",), {"A": "b"}))

    obtained = await obtain_source(ComponentSource("registry", "mine"), around)

    assert (obtained.command.argv, obtained.command.env) == (("my-agent",), {"A": "b"})
    with pytest.raises(NotFoundError, match="Agent 'none' not found in registry"):
        await obtain_source(ComponentSource("registry", "none"), around)


@pytest.mark.requirement("registry.sources")
async def test_binaries_and_entries_at_a_url_are_fetched(around: Surroundings) -> None:
    with serving() as web:
        target = {"archive": web.url("/agent"), "cmd": "./agent", "args": ["acp"]}
        entry = {"id": "far", "name": "Far", "version": "1.0.0", "description": "d"}
        ways = {"binary": {"linux-x86_64": target}}
        web.answers["/agent"] = reply(b"#!/bin/sh\n")
        web.answers["/mod.json"] = reply(json.dumps({**entry, "distribution": ways}).encode())

        binary = await obtain_source(ComponentSource("binary", {"linux-x86_64": target}), around)
        far = await obtain_source(ComponentSource("url", web.url("/mod.json")), around)

    assert Path(binary.command.argv[0]).parent.parent == around.bin_directory / "agent"
    assert far.command.argv == (str(around.bin_directory / "far" / "1.0.0" / "agent"), "acp")


@pytest.mark.requirement("registry.sources")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("http", {"name": "x", "url": "https://x"}),
        ("local", {"command": 3}),
        ("npx", {"package": "x", "args": "--acp"}),
        ("binary", {}),
        ("binary", {"linux-x86_64": {"archive": "https://x"}}),
        ("url", "http://example.org/mod.json"),
    ],
)
async def test_a_source_that_is_no_program_is_an_error_in_words(
    kind: str, value: Any, around: Surroundings
) -> None:
    with pytest.raises(ExplainedError):
        await obtain_source(ComponentSource(kind, value), around)


@pytest.mark.requirement("registry.cli-add")
@pytest.mark.parametrize(
    ("argv", "name", "expected"),
    [
        (("/opt/My_Agent.sh",), None, "my-agent-sh"),
        (("x",), "Claude Code", "claude-code"),
        (("3d",), None, "d"),
    ],
)
def test_an_id_is_made_of_a_name(argv: tuple[str, ...], name: str | None, expected: str) -> None:
    assert id_of(Command(argv, {}, name)) == expected
    with pytest.raises(SpecError, match="--id"):
        id_of(Command(("42",)))


@pytest.mark.requirement("registry.directory-shadowing")
def test_an_agent_is_here_once_it_was_added_or_installed(around: Surroundings) -> None:
    place = around.bin_directory / "two" / "1.0"
    place.mkdir(parents=True)
    given = Receipt(
        id="two",
        name="Two",
        version="1.0",
        source="npm",
        origin="two@1.0",
        argv=("./two",),
        when=1.0,
    )
    write_receipt(given, place)
    around.added.add(AddedAgent("one", ("/bin/one",)))

    assert [around.has_agent(name) for name in ("one", "two", "three")] == [True, True, False]


@pytest.mark.requirement("registry.cli-test")
def test_the_methods_of_a_session_are_those_that_the_agent_offers() -> None:
    offered: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}}}
    bare = Handshake({}, 0.0).session_methods
    found = Handshake({"agentCapabilities": offered}, 0.0).session_methods

    assert {*found} - {*bare} == {"session/load", "session/list"}
    assert all(each.startswith("session/") for each in found)
