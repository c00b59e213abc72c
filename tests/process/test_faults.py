"""kill -9, early exits, and damaged streams, with real processes (acp-host §1.9 R7, §6.7)."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, ChainHarness, Peer, chain_harness

from peerwire.transports.command import Command
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import Program
from symposium.chain.conductor import Settings

SUPPORT = Path(__file__).parents[1] / "support"
NESTED = (
    "from symposium.chain.serve_one_mod import serve_alone;"
    "from symposium.mods.arrow import Arrow;"
    "serve_alone(Arrow())"
)
NOTES_PID = 'echo $$ > "$0"; exec "$@"'


class Programs:
    """Programs of one chain, each with its process id in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: list[str] = []

    def add(self, name: str, *argv: str) -> Program:
        """Return a program that writes its process id when it starts."""
        self.names.append(name)
        note = str(self._folder / name)
        command = Command(("sh", "-c", NOTES_PID, note, sys.executable, *argv), {})
        return Program(name, command)

    def chain(self) -> list[Program]:
        """Three proxies: two without peerwire, and a nested conductor between them."""
        bare = ("-I", str(SUPPORT / "bare_proxy.py"))
        return [
            self.add("first", *bare),
            self.add("nested", "-c", NESTED),
            self.add("last", *bare),
        ]

    def agent(self, step: str, fault: str = "hang") -> Program:
        """Return the agent that misbehaves at a step."""
        return self.add("agent", "-I", str(SUPPORT / "bare_agent.py"), step, fault)

    def pid(self, name: str) -> int:
        """Return the process id, which is also that of the group."""
        return int((self._folder / name).read_text(encoding="utf-8"))

    def left(self) -> list[str]:
        """Programs whose group still has a process."""
        return [name for name in self.names if self._lives(self.pid(name))]

    def _lives(self, group: int) -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True


async def until(peer: Peer, *methods: str) -> dict[str, Any]:
    """Read until one of these messages arrives."""
    while True:
        message: dict[str, Any] = await peer.read()
        if message.get("method") in methods:
            return message


async def answers(peer: Peer, names: Sequence[Any]) -> dict[Any, dict[str, Any]]:
    """Return the responses to these requests, each exactly one."""
    found: dict[Any, dict[str, Any]] = {}
    while len(found) < len(names):
        message = await peer.read()
        if "method" not in message:
            assert message["id"] not in found
            found[message["id"]] = message
    assert found.keys() == set(names)
    return found


async def reach(it: ChainHarness, step: str) -> list[Any]:
    """Bring the chain to a step; return the open requests."""
    it.client.ask("initialize", "initialize", VERSION_ONE)
    if step == "initialize":
        await until(it.client, "agent/waiting")
        return ["initialize"]
    await it.client.read()
    it.client.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
    if step == "new":
        await until(it.client, "agent/waiting")
        return ["new"]
    await it.client.read()
    it.client.ask("prompt", "session/prompt", {"sessionId": "s", "prompt": []})
    await until(it.client, "agent/waiting", "session/request_permission", "session/update")
    if step == "cancel":
        it.client.tell("$/cancel_request", {"requestId": "prompt"})
        await until(it.client, "agent/waiting")
    return ["prompt"]


@pytest.mark.requirement(
    "conductor.kill-initialize",
    "conductor.kill-new",
    "conductor.kill-prompt",
    "conductor.kill-cancel",
    "conductor.death-pending-answered",
    "conductor.death-exit-code",
    "conductor.death-others-end",
)
@pytest.mark.chaos
@pytest.mark.parametrize("step", ["initialize", "new", "prompt", "permission", "cancel"])
@pytest.mark.parametrize("victim", ["first", "nested", "last", "agent"])
async def test_every_request_is_answered_and_no_process_is_left_after_any_kill(
    step: str, victim: str, tmp_path: Path
) -> None:
    programs = Programs(tmp_path)
    chain = programs.chain()
    async with chain_harness(*chain, agent=programs.agent(step)) as it:
        names = await reach(it, step)
        os.kill(programs.pid(victim), signal.SIGKILL)
        found = await answers(it.client, names)
        for answer in found.values():
            error = answer["error"]
            assert error["code"] == -32603
            assert error["data"]["reason"] == "component_exited"
            assert error["data"]["component"] == victim
            assert error["data"]["signal"] == "SIGKILL"
        if step == "initialize":
            await it.client.hang_up()
        assert await it.exit_code() == 1
        assert programs.left() == []


@pytest.mark.requirement("conductor.death-clean-exit", "conductor.peer-closes-early")
@pytest.mark.parametrize(
    ("step", "fault"),
    [("initialize", "exit"), ("new", "exit"), ("prompt", "exit"), ("prompt", "close")],
)
async def test_requests_are_answered_when_an_agent_exits_or_hangs(
    step: str, fault: str, tmp_path: Path
) -> None:
    programs = Programs(tmp_path)
    async with chain_harness(agent=programs.agent(step, fault)) as it:
        names = await reach(it, step)
        found = await answers(it.client, names)
        data = found[names[0]]["error"]["data"]
        assert data["reason"] == "component_exited"
        assert data["exitCode"] == (0 if fault == "exit" else None)
        assert data["stderrTail"] == ("leaving\n" if fault == "exit" else "")
        if step == "initialize":
            await it.client.hang_up()
        assert await it.exit_code() == 1
        assert programs.left() == []


@pytest.mark.requirement(
    "conductor.peer-prints-text", "conductor.peer-answers-twice", "conductor.peer-unknown-id"
)
@pytest.mark.parametrize("fault", ["print", "twice", "odd"])
async def test_chain_survives_invalid_output_of_an_agent(fault: str, tmp_path: Path) -> None:
    programs = Programs(tmp_path)
    async with chain_harness(agent=programs.agent("prompt", fault)) as it:
        names = await reach(it, "prompt")
        found = await answers(it.client, names)
        assert found["prompt"]["result"] == {"stopReason": "end_turn"}
        it.client.ask("after", "session/list", {})
        assert (await answers(it.client, ["after"]))["after"]["result"] == {}
        await it.client.hang_up()
        assert await it.exit_code() == 0
        assert programs.left() == []


@pytest.mark.requirement("conductor.peer-never-answers", "peers.eof-does-not-end-everyone")
async def test_client_that_disconnects_during_a_turn_leaves_no_process(
    tmp_path: Path,
) -> None:
    programs = Programs(tmp_path)
    chain = programs.chain()
    async with chain_harness(*chain, agent=programs.agent("prompt")) as it:
        await reach(it, "prompt")
        await it.client.hang_up()
        assert await it.exit_code() == 0
        assert programs.left() == []


@pytest.mark.requirement("conductor.death-while-starting")
async def test_missing_program_is_an_error_and_started_programs_are_ended(
    tmp_path: Path,
) -> None:
    programs = Programs(tmp_path)
    missing = Program("missing", Command((str(tmp_path / "missing"),), {}))
    async with chain_harness(programs.chain()[0], agent=missing) as it:
        it.client.ask(0, "initialize", VERSION_ONE)
        data = (await it.client.read())["error"]["data"]
        assert (data["reason"], data["component"]) == ("component_start_failed", "missing")
        await it.client.hang_up()
        assert await it.exit_code() == 1


async def turns(number: int) -> None:
    """Wait some turns of the loop: each message in memory takes one."""
    near, far = memory_pair()
    echo = Peer(far)
    for _ in range(number):
        near.send(b"{}")
        await echo.line()


@pytest.mark.requirement("conductor.cancelled-whole")
@pytest.mark.parametrize("client", ["stays", "has left"])
async def test_canceled_conductor_reaps_its_processes(client: str, tmp_path: Path) -> None:
    programs = Programs(tmp_path)
    chain = programs.chain()
    settings = Settings(quiet_grace=60)
    async with chain_harness(*chain, agent=programs.agent("prompt"), settings=settings) as it:
        await reach(it, "prompt")
        if client == "has left":
            await it.client.hang_up()
            await turns(10)
            assert not it.running.done()
        it.running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await it.running
        assert programs.left() == []
