"""Resolve the sources of a config to commands."""

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.synced_files import SyncedFiles
from tests.support.web import reply, serving

from localio.errors import ExplainedError
from localio.processes import ProgramNotFoundError, find_program, look_up, reachable
from peerwire.transports.command import Command
from symposium.config.component_source import ComponentSource
from symposium.errors import NotFoundError, SpecError
from symposium.registry.agent_choice import (
    ChosenAgent,
    UnknownAgentError,
    choose,
    choose_here,
    known_ids,
)
from symposium.registry.index import (
    AddedAgent,
    InstallReceipt,
    RegistryContext,
    id_of,
    write_receipt,
)
from symposium.registry.probe import AgentProbe
from symposium.registry.provision import obtain_source


@pytest.fixture
def context(tmp_path: Path) -> RegistryContext:
    file = tmp_path / "registry.json"
    file.write_text('{"agents": []}')
    env = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    return RegistryContext(env, tmp_path, tmp_path / "cache", "linux-x86_64", str(file))


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.requirement("registry.sources")
@pytest.mark.parametrize("first", ["#!/bin/sh", "#!/usr/bin/env", "#!", "", "\x7fELF"])
async def test_program_without_interpreter_starts_unchanged(first: str, tmp_path: Path) -> None:
    program = executable(tmp_path / "tool")
    program.write_text(f"{first}\n")

    command = await reachable(Command((str(program), "-x"), {"A": "b"}), {"PATH": "/nowhere"})

    assert command.argv == (str(program), "-x")


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
async def test_source_without_installation_gives_a_command(
    kind: str, value: Any, argv: tuple[str, ...], context: RegistryContext
) -> None:
    obtained = await obtain_source(ComponentSource(kind, value), context)

    assert obtained.command.argv == argv


@pytest.mark.requirement("registry.sources")
async def test_added_agent_takes_precedence_for_a_registry_source(context: RegistryContext) -> None:
    context.added.add(AddedAgent("mine", ("my-agent",), {"A": "b"}))

    obtained = await obtain_source(ComponentSource("registry", "mine"), context)

    assert (obtained.command.argv, obtained.command.env) == (("my-agent",), {"A": "b"})
    with pytest.raises(NotFoundError, match="Agent 'none' not found in registry"):
        await obtain_source(ComponentSource("registry", "none"), context)


@pytest.mark.requirement("registry.sources")
async def test_binaries_and_entries_at_a_url_are_downloaded(context: RegistryContext) -> None:
    with serving() as web:
        digest = hashlib.sha256(b"#!/bin/sh\n").hexdigest().upper()
        target = {"archive": web.url("/agent"), "cmd": "./agent", "args": ["acp"], "sha256": digest}
        entry = {"id": "far", "name": "Far", "version": "1.0.0", "description": "d"}
        ways = {"binary": {"linux-x86_64": target}}
        web.answers["/agent"] = reply(b"#!/bin/sh\n")
        web.answers["/mod.json"] = reply(json.dumps({**entry, "distribution": ways}).encode())

        binary = await obtain_source(ComponentSource("binary", {"linux-x86_64": target}), context)
        context = replace(context, notify=(lines := list[str]()).append)
        far = await obtain_source(ComponentSource("url", web.url("/mod.json")), context)

    assert Path(binary.command.argv[0]).parent.parent == context.bin_directory / "agent"
    assert lines == ["installing far 1.0.0; this can take a minute …"]
    assert binary.receipt is not None
    assert binary.receipt.is_verified
    assert far.command.argv == (str(context.bin_directory / "far" / "1.0.0" / "agent"), "acp")


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
async def test_source_that_is_not_a_program_is_an_error(
    kind: str, value: Any, context: RegistryContext
) -> None:
    with pytest.raises(ExplainedError):
        await obtain_source(ComponentSource(kind, value), context)


@pytest.mark.requirement("registry.sources")
async def test_error_names_the_mcp_server_used_as_a_program(context: RegistryContext) -> None:
    source = ComponentSource("http", {"name": "weather", "url": "https://x"})

    with pytest.raises(SpecError, match=r"^weather is the address of an MCP server"):
        await obtain_source(source, context)


@pytest.mark.requirement("registry.cli-add")
def test_added_agents_are_private_sorted_and_synced_to_disk(
    context: RegistryContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch)
    context = replace(context, home=context.home / "home")

    for name, program in (("b", "/bin/old"), ("a", "/bin/x"), ("b", "/bin/x")):
        context.added.add(AddedAgent(name, (program,), {"KEY": "k"}))

    assert [(each.id, *each.argv) for each in context.added.all()] == [
        ("a", "/bin/x"),
        ("b", "/bin/x"),
    ]
    assert not context.added.remove("c")
    assert context.added.remove("b")
    assert [each.id for each in context.added.all()] == ["a"]
    assert synced.lost(context.home) == []
    assert [each.name for each in context.home.iterdir()] == ["agents.json"]
    assert (context.home / "agents.json").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("registry.cli-add")
@pytest.mark.parametrize(
    ("argv", "name", "expected"),
    [
        (("/opt/My_Agent.sh",), None, "my-agent-sh"),
        (("x",), "Claude Code", "claude-code"),
        (("3d",), None, "d"),
    ],
)
def test_id_is_derived_from_a_name(argv: tuple[str, ...], name: str | None, expected: str) -> None:
    assert id_of(Command(argv, {}, name)) == expected
    with pytest.raises(SpecError, match="from '42'; specify one with --id"):
        id_of(Command(("42",)))


@pytest.mark.requirement("registry.directory-shadowing")
def test_agent_is_known_once_added_or_installed(context: RegistryContext) -> None:
    place = context.bin_directory / "two" / "1.0"
    place.mkdir(parents=True)
    given = InstallReceipt(
        id="two",
        name="Two",
        version="1.0",
        source="npm",
        origin="two@1.0",
        argv=("./two",),
        when=1.0,
    )
    write_receipt(given, place)
    context.added.add(AddedAgent("one", ("/bin/one",)))

    assert [context.has_agent(name) for name in ("one", "two", "three")] == [True, True, False]


@pytest.mark.requirement("registry.cli-test")
def test_session_methods_are_those_that_the_agent_supports() -> None:
    offered: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}}}
    bare = AgentProbe({}, 0.0).session_methods
    found = AgentProbe({"agentCapabilities": offered}, 0.0).session_methods

    assert bare == ["session/new", "session/prompt", "session/cancel"]
    assert {*found} == {*bare, "session/load", "session/list"}


@pytest.mark.requirement("registry.path-known-places")
def test_directory_and_non_executable_file_are_not_programs(tmp_path: Path) -> None:
    (tmp_path / "one" / "agent").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "agent").write_text("")
    program = executable(tmp_path / "three" / "agent")
    places = [str(tmp_path / each) for each in ("one", "two", "three")]

    assert look_up("agent", places) == program
    assert look_up(str(tmp_path / "one" / "agent"), places) is None
    assert look_up("agent", places[:2]) is None


@pytest.mark.requirement("registry.path-not-found")
async def test_error_names_the_first_of_many_directories(tmp_path: Path) -> None:
    places = [str(tmp_path / str(number)) for number in range(40)]
    env = {"PATH": os.pathsep.join(places), "HOME": str(tmp_path), "SHELL": "/bin/false"}

    with pytest.raises(ProgramNotFoundError) as caught:
        await find_program("no-such-agent", env)

    assert f"{places[11]} and " in caught.value.message
    assert places[12] not in caught.value.message


@pytest.mark.requirement("registry.sources")
async def test_name_is_an_agent_a_program_or_an_error_with_a_guess(
    context: RegistryContext, tmp_path: Path
) -> None:
    executable(tmp_path / "bin" / "my-agent")
    here = replace(context, env={**context.env, "PATH": str(tmp_path / "bin")})
    here.added.add(AddedAgent("one", ("/bin/one",)))

    assert await choose("my-agent", here) == ChosenAgent("my-agent")
    assert json.loads((await choose("one", here)).spec)["command"] == "/bin/one"
    for wrong, meant in (("elizza", "eliza"), ("el", "eliza"), ("on", "one")):
        with pytest.raises(UnknownAgentError) as caught:
            await choose(wrong, here)
        assert caught.value.hint.startswith(f"did you mean {meant}")


def packaged(agent_id: str, package: str) -> dict[str, Any]:
    ways = {"npx": {"package": package, "args": ["--acp"], "env": {"A": "b"}}}
    members = {"id": agent_id, "name": agent_id, "version": "1.0.0", "description": "d"}
    return {**members, "distribution": ways}


@pytest.mark.requirement("registry.sources", "registry.cli-resolve")
async def test_agents_on_this_machine_can_be_chosen_by_another_agent(
    context: RegistryContext, tmp_path: Path
) -> None:
    for name in ("gemini", "codex-acp", "qwen", "unlisted"):
        executable(tmp_path / "path" / name)
    ids = ("gemini", "codex-acp", "qwen-code", "absent")
    agents = [packaged(each, f"@x/{each}@1") for each in ids]
    file = tmp_path / "registry.json"
    file.write_text(json.dumps({"version": "1.0.0", "agents": agents}))
    here = replace(context, env={**context.env, "PATH": str(tmp_path / "path")})
    here.added.add(AddedAgent("mine", ("/bin/mine",)))
    (here.bin_directory / "installed").mkdir(parents=True)

    for written, program in (
        ("gemini", "gemini"),
        (" codex ", "codex-acp"),
        ("qwen-code", "qwen"),
    ):
        for chosen in (await choose_here(written, here), await choose(written, here)):
            spec = json.loads(chosen.spec)
            assert (spec["command"], spec["args"]) == (str(tmp_path / "path" / program), ["--acp"])
            assert spec["env"] == {"A": "b"}
            assert chosen.note == ""
    assert json.loads((await choose_here("mine", here)).spec)["command"] == "/bin/mine"
    assert await choose_here(" eliza", here) == ChosenAgent("eliza")
    assert await choose(" eliza", here) == ChosenAgent(" eliza")
    assert await choose("some-agent --acp", here) == ChosenAgent("some-agent --acp")
    assert known_ids(here) == sorted([*ids, "installed", "mine"])
    for written, guess in (
        ("absent", "did you mean absent? "),
        ("MIN", "did you mean mine? "),
        ("unlisted", ""),
        ("/bin/sh -c true", ""),
    ):
        with pytest.raises(UnknownAgentError) as caught:
            await choose_here(written, here)
        assert caught.value.message == f"{written!r} is not the id of an agent on this machine"
        assert caught.value.hint == (
            f"{guess}`symposium agents list` shows the known agents; "
            "only the user installs or adds agents"
        )


@pytest.mark.requirement("registry.sources")
async def test_program_on_path_is_found_without_the_login_shell(tmp_path: Path) -> None:
    program = executable(tmp_path / "a-tool-of-this-test")
    asked = tmp_path / "asked"
    shell = executable(tmp_path / "shell")
    shell.write_text(f"#!/bin/sh\n: > {asked}\n")
    env = {"PATH": str(tmp_path), "SHELL": str(shell), "HOME": str(tmp_path / "home")}

    found = await find_program(program.name, env)

    assert found.program == program
    assert not asked.exists()
