"""Mods as programs: the same answers as in process, over real pipes."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from peerwire.errors import RpcError
from peerwire.jsonrpc.transport import Transport
from peerwire.transports.command import Command
from symposium import Mod
from symposium.agents.testy.scenario import CallTool, render_command
from symposium.catalog import mod_names
from symposium.chain.blueprint import Program
from symposium.chain.mod import AgentSpec
from symposium.testing import FakeAgent, Received, chain_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "shout.py"
GREETING = "How do you do. Please state your problem."


def as_program(name: str) -> Program:
    """Run a built-in mod as a process that speaks `_proxy/*`."""
    script = f"from symposium.catalog import find_mod as f; r = f({name!r})"
    script += "; from symposium import run_mod; run_mod(r.make())"
    return Program(name, Command((sys.executable, "-c", script)))


def shout() -> Mod:
    """Load the example's mod from its file."""
    module_spec = importlib.util.spec_from_file_location("shout", EXAMPLE)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module.Shout()


@pytest.mark.requirement("cli.testing-example")
def test_example_has_up_to_fifteen_lines() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()

    assert len([line for line in lines if line.strip()]) <= 15


@pytest.mark.requirement("cli.testing-example")
async def test_example_shouts_in_process() -> None:
    async with chain_of(shout()) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == GREETING.upper()


@pytest.mark.requirement("cli.testing-example", "conductor.mod-mixed-with-processes")
async def test_example_shouts_as_a_program() -> None:
    program = Program("shout", Command((sys.executable, str(EXAMPLE))))
    async with chain_of("arrow", program, "arrow") as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>{GREETING.upper()}"


@pytest.mark.requirement("conductor.chain-two-arrows")
async def test_two_arrows_as_processes_both_mark_the_answer() -> None:
    async with chain_of(as_program("arrow"), as_program("arrow")) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>{GREETING}"


def without_uuids(received: list[Received]) -> str:
    """Return the messages without ids that differ from run to run."""
    return re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", repr(received))


def nested(*specs: str) -> Program:
    """Run a conductor in proxy mode as a process, with these mods in it."""
    proxies = [word for spec in specs for word in ("--proxy", spec)]
    argv = (sys.executable, "-m", "symposium", "run-with", *proxies)
    return Program("nested", Command(argv))


@pytest.mark.requirement("conductor.chain-nested-external", "cli.run-with-proxy-mode")
async def test_two_arrows_as_processes_of_a_nested_process_both_mark_the_answer() -> None:
    arrow = shlex.join(as_program("arrow").command.argv)
    async with chain_of(nested(arrow, arrow)) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>{GREETING}"


@pytest.mark.requirement("conductor.chain-nested-external", "cli.run-with-no-arguments")
async def test_nested_processes_combine_with_mods_in_any_order() -> None:
    async with chain_of(nested(), "arrow", nested("arrow", "pass"), nested("arrow")) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == f">>>{GREETING}"


@pytest.mark.requirement("cli.mods-as-processes")
@pytest.mark.parametrize("name", mod_names())
async def test_every_mod_runs_as_a_process(name: str) -> None:
    inside, outside = FakeAgent("Hello"), FakeAgent("Hello")
    async with chain_of(name, agent=inside, bridge="off") as editor:
        expected = await editor.prompt("Hello")

    async with chain_of(as_program(name), agent=outside, bridge="off") as editor:
        turn = await editor.prompt("Hello")

    assert turn == expected
    assert without_uuids(outside.received.items) == without_uuids(inside.received.items)


@pytest.mark.requirement("cli.testing-example")
def test_example_test_prints_the_output_on_the_page() -> None:
    said = subprocess.check_output([sys.executable, EXAMPLE.with_name("try_shout.py")], text=True)

    page = (ROOT / "docs" / "tutorial" / "write-a-mod.md").read_text(encoding="utf-8")
    assert said == f"{GREETING.upper()}\n"
    assert said in page


@pytest.mark.requirement("cli.testing-example", "cli.testing-fake-agent")
async def test_example_with_a_fake_agent_behaves_as_on_the_page() -> None:
    agent = FakeAgent("one", "two")
    async with chain_of(shout(), agent=agent) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == "ONETWO"
    assert agent.received.items[-1].method == "session/prompt"


@pytest.mark.requirement("cli.mod-echo", "cli.mods-as-processes")
async def test_tools_of_a_mod_program_are_reachable() -> None:
    async with chain_of("pass", as_program("echo"), "arrow", agent="testy") as editor:
        turn = await editor.prompt(render_command(CallTool("echo", "add", {"a": 2, "b": 3})))

    assert turn.text == '>OK: [{"type":"text","text":"5"}]'


@pytest.mark.requirement("cli.mods-as-processes")
def test_mod_program_exits_with_its_host() -> None:
    ended = subprocess.run([sys.executable, EXAMPLE], input=b"", capture_output=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.requirement("cli.mods-as-processes")
async def test_print_of_a_mod_does_not_reach_its_host(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        EXAMPLE.read_text(encoding="utf-8").replace("match ", "print('!')\n        match ")
    )
    async with chain_of(Program("noisy", Command((sys.executable, str(noisy))))) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == GREETING.upper()


@pytest.mark.requirement("cli.testing-example", "cli.prompt-agent-proxies")
def test_command_on_the_page_prints_the_output_on_the_page() -> None:
    page = (ROOT / "docs" / "tutorial" / "write-a-mod.md").read_text(encoding="utf-8")
    command, said = page.split("$ .venv/bin/symposium ")[1].split("\n", 1)
    words = shlex.split(command.replace(".venv/bin/python", shlex.quote(sys.executable)))

    ended = subprocess.run(
        [sys.executable, "-m", "symposium", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == said.split("```")[0]


@pytest.mark.requirement("cli.testing-example")
async def test_error_of_a_chain_names_the_agent_that_a_spec_gives() -> None:
    async def serve(transport: Transport) -> None:
        await transport.aclose()

    spec = AgentSpec("mute", "Ends at once.", serve)
    async with chain_of(agent=spec) as editor:
        with pytest.raises(RpcError) as failed:
            await editor.initialize()

    assert failed.value.data["component"] == "mute"
