"""Composition of a chain from a config (acp-host §4.1, §4.2, §4.11)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import RpcError
from symposium.chain.blueprint import InProcess, Program, Served
from symposium.chain.capabilities import Mode
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.errors import SpecError, SymposiumError
from symposium.permissions.verdict import PolicyError
from symposium.registry.index import AddedAgent, AddedAgents
from symposium.run_mode.available_agents import FullDirectory, LocalDirectory
from symposium.run_mode.config_components import Composer, NoResolver, RegistryResolver
from symposium.run_mode.mcp_servers import McpServers


class FixedResolver:
    """A resolver with one registry id."""

    def __init__(self, program: str = "/opt/known") -> None:
        self._program = program

    async def resolve(self, source: ComponentSource) -> str:
        if source.value != "known":
            raise SpecError(f"{source.value}: unknown id", "choose another")
        env = [{"name": "K", "value": "secret"}]
        return json.dumps({"command": self._program, "args": ["acp"], "env": env})


def source(kind: str, value: Any) -> ComponentSource:
    return ComponentSource(kind, value)


async def composed(agent: str | ComponentSource, *mods: ModEntry) -> Any:
    return await Composer(FixedResolver(), "off").compose(Config(agent, mods))


@pytest.mark.requirement("run-mode.compose-agent")
@pytest.mark.parametrize(
    ("agent", "argv"),
    [
        ("TOKEN=x some-agent --acp", ("some-agent", "--acp")),
        (source("local", {"command": "/x/agent", "args": ["a"]}), ("/x/agent", "a")),
        (source("npx", {"package": "@z/agent"}), ("npx", "-y", "@z/agent")),
        (source("npx", {"package": "a", "args": ["acp"]}), ("npx", "-y", "a", "acp")),
        (source("uvx", {"package": "agent", "args": ["acp"]}), ("uvx", "agent", "acp")),
        (source("pipx", {"package": "a", "args": ["acp"]}), ("pipx", "run", "a", "acp")),
        (source("python", {"module": "a", "args": ["acp"]}), ("python3", "-m", "a", "acp")),
        (source("registry", "known"), ("/opt/known", "acp")),
        ("known", ("/opt/known", "acp")),
    ],
)
async def test_agent_command_follows_its_source(
    agent: str | ComponentSource,
    argv: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("some-agent", "npx", "uvx", "pipx", "python3"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    made = (await composed(agent)).chain.blueprint().agent
    assert isinstance(made, Program)
    program, *arguments = made.command.argv
    assert (Path(program).name, *arguments) == (Path(argv[0]).name, *argv[1:])


@pytest.mark.requirement("run-mode.compose-agent", "registry.gui-launch")
async def test_agent_that_path_lacks_is_found_in_a_usual_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / ".local" / "bin" / "an-agent-of-this-test"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/false")
    monkeypatch.setenv("PATH", "/nowhere")

    made = (await composed(f"{program.name} --acp")).chain.agent

    assert isinstance(made, Program)
    assert made.command.argv[-2:] == (str(program), "--acp")


@pytest.mark.requirement("run-mode.compose-agent")
@pytest.mark.parametrize("agent", ["eliza", source("builtin", "eliza")])
async def test_built_in_agent_runs_in_this_process(agent: str | ComponentSource) -> None:
    assert isinstance((await composed(agent)).chain.blueprint().agent, Served)


@pytest.mark.requirement("run-mode.compose-agent-missing")
@pytest.mark.parametrize("agent", ["", "unknown-agent", source("registry", "unknown")])
async def test_unavailable_agent_is_an_error(agent: str | ComponentSource) -> None:
    with pytest.raises(SymposiumError):
        await composed(agent)


@pytest.mark.requirement("run-mode.compose-mods", "run-mode.compose-missing-program")
async def test_enabled_mods_are_in_order_and_unavailable_ones_are_noted() -> None:
    made = await composed(
        "eliza",
        ModEntry("tag"),
        ModEntry("arrow", enabled=False),
        ModEntry("unknown-mod"),
        ModEntry("mine", source=source("local", {"command": "/bin/sh", "env": {"K": "secret"}})),
        ModEntry("gone", source=source("local", {"command": "/no/such/mod"})),
        ModEntry("pass"),
    )
    names = [mod.name for mod in made.chain.users_mods()]
    assert names == ["tag", "mine", "pass"]
    assert made.mods == ["tag", "mine", "pass"]
    note, missing = made.notes
    assert "`gone` is left out: " in missing
    assert "/no/such/mod" in missing
    assert note.startswith("_The mod `unknown-mod` is left out: ")
    assert "--proxy" not in note
    assert made.chain.secrets == ("secret",)


@pytest.mark.requirement("run-mode.compose-mcp")
async def test_mod_of_kind_mcp_is_offered_to_every_session() -> None:
    local = source("local", {"command": sys.executable, "args": ["a"], "env": {"K": "v"}})
    headers = [{"name": "Authorization", "value": "token"}]
    remote = source("http", {"name": "r", "url": "http://x/", "headers": headers})
    made = await composed(
        "TOKEN=x /bin/sh",
        ModEntry("own", source=local, kind="mcp"),
        ModEntry("web", source=remote, kind="mcp"),
        ModEntry("none", kind="mcp"),
        ModEntry("bare", source=source("sse", {"url": "http://y/"}), kind="mcp"),
    )
    assert made.chain.secrets == ("x", "v", "token")
    assert made.notes == [
        (
            "_The mod `none` is left out: an MCP server needs a `source`; "
            'such as {"local": {"command": "…"}}_\n\n'
        )
    ]
    (component,) = made.chain.users_mods()
    assert isinstance(component, InProcess)
    assert component.is_hidden
    mod = component.mod
    assert isinstance(mod, McpServers)
    theirs = {"name": "editor's", "command": "x"}
    body = json.dumps({"cwd": "/", "mcpServers": [theirs]}).encode()
    outcome = mod.offer(ChainMessage("session/new", body, is_request=True))
    assert isinstance(outcome, Forward)
    assert outcome.params["mcpServers"] == [
        theirs,
        {
            "name": "own",
            "command": sys.executable,
            "args": ["a"],
            "env": [{"name": "K", "value": "v"}],
        },
        {"type": "http", "name": "web", "url": "http://x/", "headers": headers},
        {"type": "sse", "name": "bare", "url": "http://y/", "headers": []},
    ]
    assert mod.bridge == "off"
    wanted = {each.method for each in mod.interceptions()}
    set_ups = {"session/new", "session/load", "session/resume", "session/fork"}
    assert wanted == {"initialize", *set_ups}


@pytest.mark.requirement("run-mode.compose-mcp")
async def test_server_of_the_editor_keeps_its_name() -> None:
    mod = McpServers([{"name": "same", "command": "ours"}])
    body = b'{"mcpServers":[{"name":"same","command":"theirs"}]}'
    outcome = mod.offer(ChainMessage("session/new", body, is_request=True))
    assert outcome.params["mcpServers"] == [{"name": "same", "command": "theirs"}]


@pytest.mark.requirement("run-mode.compose-mcp", "run-mode.compose-agent")
async def test_program_of_the_registry_keeps_its_arguments_and_variables() -> None:
    entry = ModEntry("far", source=source("registry", "known"), kind="mcp")

    made = await Composer(FixedResolver("/bin/sh")).compose(Config("eliza", (entry,)))

    (component,) = made.chain.users_mods()
    assert isinstance(component, InProcess)
    assert isinstance(component.mod, McpServers)
    (server,) = component.mod.servers
    pair = {"name": "K", "value": "secret"}
    assert server == {"name": "far", "command": "/bin/sh", "args": ["acp"], "env": [pair]}
    assert made.chain.secrets == ("secret",)


@pytest.mark.requirement("run-mode.mcp-mod-relayed")
@pytest.mark.parametrize(
    ("bridge", "taken", "names"),
    [
        ("off", {}, ["program"]),
        ("off", {"sse": True}, ["program", "sse"]),
        ("off", {"http": True}, ["program", "http"]),
        ("auto", {}, ["program", "http"]),
        ("stdio", {"http": True, "sse": True}, ["program", "http", "sse"]),
    ],
)
def test_servers_that_no_one_can_pass_to_the_agent_are_left_out(
    bridge: Mode, taken: dict[str, bool], names: list[str]
) -> None:
    servers = [{"name": "program"}, *({"name": each, "type": each} for each in ("http", "sse"))]
    mod = McpServers(servers, bridge)
    greeting = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": taken}}
    then = mod.greet(ChainMessage("initialize", b"{}", is_request=True)).then
    assert then is not None
    then(Answer(value=greeting))

    outcome = mod.offer(ChainMessage("session/new", b'{"cwd":"/"}', is_request=True))

    assert [each["name"] for each in outcome.params["mcpServers"]] == names
    assert outcome.params["cwd"] == "/"
    assert mod.offer(ChainMessage("session/new", b"[1]", is_request=True)) == Forward()


@pytest.mark.requirement("run-mode.no-registry")
async def test_nothing_is_downloaded_without_the_registry() -> None:
    with pytest.raises(SpecError):
        await NoResolver().resolve(source("registry", "known"))


@pytest.mark.requirement("run-mode.directory")
async def test_programs_on_the_path_are_listed_before_built_in_agents(tmp_path: Path) -> None:
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "goose").mkdir()
    agents = (await LocalDirectory(path=str(tmp_path)).choices()).agents
    assert [agent.name for agent in agents] == ["OpenCode", "Eliza", "Testy"]
    assert agents[0].agent == "opencode acp"
    assert agents[0].description == f"Found at {program}"
    assert [agent.agent for agent in agents[1:]] == ["eliza", "testy"]


@pytest.mark.requirement("policy.run-mode")
async def test_composition_fails_when_the_policy_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    composer = Composer(NoResolver(), "off")
    assert (await composer.compose(Config("eliza"))).chain.agent is not None
    (tmp_path / "policy.toml").write_text("[[rule")
    with pytest.raises(PolicyError, match="line 1, column 7"):
        await composer.compose(Config("eliza"))


def listed(agent_id: str) -> dict[str, Any]:
    ways = {"npx": {"package": agent_id, "args": ["--acp"]}}
    members = {"id": agent_id, "name": agent_id.title(), "version": "1.0.0", "description": "One."}
    return {**members, "distribution": ways}


def write_programs(folder: Path, *names: str) -> None:
    """Programs that fail."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)


@pytest.mark.requirement("run-mode.directory", "run-mode.overviews")
async def test_installed_agents_are_listed_first_and_the_registry_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_programs(tmp_path / "bin", "npx", "zed-here")
    index = {"version": "1", "agents": [listed("absent"), listed("zed-here")]}
    mods = [listed("a-mod"), listed("tag")]
    (tmp_path / "registry.json").write_text(json.dumps({**index, "mods": mods}))
    settings = {"HOME": "", "SYMPOSIUM_HOME": "home", "SYMPOSIUM_REGISTRY": "registry.json"}
    for variable, place in settings.items():
        monkeypatch.setenv(variable, str(tmp_path / place))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    agents = (await FullDirectory().choices()).agents
    assert [agent.name for agent in agents] == ["Zed-Here", "Eliza", "Testy", "Absent"]
    offered = (await FullDirectory().mods()).mods
    names = [mod.name for mod in offered]
    assert names[-1] == "a-mod"
    assert names.count("tag") == 1
    assert "ide-ops-adapter" not in names
    assert offered[-1].entry.source == source("registry", "a-mod")


@pytest.mark.requirement("run-mode.compose-agent", "registry.install-falls-back")
async def test_mods_and_agents_of_the_registry_are_resolved_by_their_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_programs(tmp_path / "bin", "npx", "npm")
    mods = [listed("a-mod"), {**listed("both"), "distribution": {"npx": {"package": "m"}}}]
    index = {"version": "1", "agents": [listed("both"), listed("agent")], "mods": mods}
    (tmp_path / "registry.json").write_text(json.dumps(index))
    settings = {"HOME": "", "SYMPOSIUM_HOME": "home", "SYMPOSIUM_REGISTRY": "registry.json"}
    for variable, place in settings.items():
        monkeypatch.setenv(variable, str(tmp_path / place))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    AddedAgents(tmp_path / "home").add(AddedAgent("mine", ("/bin/mine", "--acp")))

    words: dict[str, list[str]] = {}
    for name in ("a-mod", "both", "agent", "mine"):
        spec = json.loads(await RegistryResolver().resolve(source("registry", name)))
        words[name] = [spec["command"], *spec["args"]]

    assert words == {
        "a-mod": ["npx", "-y", "a-mod", "--acp"],
        "both": ["npx", "-y", "m"],
        "agent": ["npx", "-y", "agent", "--acp"],
        "mine": ["/bin/mine", "--acp"],
    }


@pytest.mark.requirement("run-mode.directory")
async def test_installed_agent_is_listed_once_with_or_without_a_registry_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("goose", "gemini", "claude-agent-acp"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    index = {"version": "1", "agents": [listed("gemini"), listed("absent")]}
    (tmp_path / "registry.json").write_text(json.dumps(index))
    settings = {"HOME": "", "SYMPOSIUM_HOME": "home", "SYMPOSIUM_REGISTRY": "registry.json"}
    for variable, place in settings.items():
        monkeypatch.setenv(variable, str(tmp_path / place))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    agents = (await FullDirectory().choices()).agents

    names = [agent.name for agent in agents]
    assert names == ["Gemini", "Claude Agent", "Goose", "Eliza", "Testy", "Absent"]
    assert agents[2].agent == "goose acp"
    labels = [each.labels for each in agents]
    assert (labels[0], labels[-1]) == (("gemini",), ("absent",))
    assert agents[-1].description == "One. (unavailable here: install npx)"
    assert agents[0].description == f"version unknown, {tmp_path / 'bin' / 'gemini'}"


@pytest.mark.requirement("run-mode.mcp-mods-here")
async def test_missing_mcp_server_is_omitted_with_a_note(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    def server(name: str, command: str, *, optional: bool | None = None) -> ModEntry:
        local = ComponentSource("local", {"command": command})
        return ModEntry(name, source=local, kind="mcp", optional=optional)

    made = await Composer(NoResolver()).compose(
        Config("eliza", (server("gone", "/no/such/program"), server("here", str(program))))
    )

    (hidden,) = [make() for make in made.chain.mods]
    assert isinstance(hidden, InProcess)
    assert isinstance(hidden.mod, McpServers)
    assert [each["name"] for each in hidden.mod.servers] == ["here"]
    (note,) = made.notes
    assert "The mod `gone` is left out: there is no program at /no/such/program" in note
    with pytest.raises(RpcError):
        await Composer(NoResolver()).compose(
            Config("eliza", (server("gone", "/no/such/program", optional=False),))
        )


@pytest.mark.requirement("registry.directory-shadowing")
async def test_built_in_mod_takes_precedence_over_the_registry() -> None:
    mods = (ModEntry("mine", source=source("registry", "arrow")),)
    made = await Composer(NoResolver()).compose(Config(source("registry", "eliza"), mods))

    assert isinstance(made.chain.agent, Served)
    assert made.notes == []
    assert [make().name for make in made.chain.mods] == ["arrow"]


@pytest.mark.requirement("run-mode.mod-alias")
async def test_mod_listed_under_both_of_its_names_runs_once() -> None:
    made = await composed("eliza", ModEntry("sparkle"), ModEntry("guidance"))

    components = made.chain.blueprint().mods
    assert [each.name for each in components].count("guidance") == 1
    assert "`guidance` is left out: the chain has it already" in made.notes[0]


@pytest.mark.requirement("run-mode.mod-python")
@pytest.mark.parametrize(
    ("command", "args", "argv"),
    [
        ("python", ["/w/mod.py", "x"], (sys.executable, "/w/mod.py", "x")),
        ("python3", ["mod.py"], (sys.executable, "mod.py")),
        (sys.executable, ["/w/mod.py"], (sys.executable, "/w/mod.py")),
        ("/bin/sh", ["/w/mod.py"], ("/bin/sh", "/w/mod.py")),
        (sys.executable, ["-m", "mod.py"], (sys.executable, "-m", "mod.py")),
    ],
)
async def test_script_runs_with_the_interpreter_of_symposium(
    command: str, args: list[str], argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    entry = ModEntry("mine", source=source("local", {"command": command, "args": args}))
    components = (await composed("eliza", entry)).chain.blueprint().mods
    (component,) = [each for each in components if isinstance(each, Program)]

    assert component.command.argv[-len(argv) :] == argv


@pytest.mark.requirement("run-mode.registry-age")
async def test_list_of_agents_warns_about_an_old_registry_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMPOSIUM_REGISTRY", raising=False)
    bundled = (await FullDirectory().choices()).warning
    (tmp_path / "registry.json").write_text('{"version": "1", "agents": []}')
    monkeypatch.setenv("SYMPOSIUM_REGISTRY", str(tmp_path / "registry.json"))
    own = (await FullDirectory().choices()).warning

    assert bundled is not None
    assert "bundled snapshot of 2026-02-07" in bundled
    assert own is None
