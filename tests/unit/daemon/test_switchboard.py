"""Connections of the daemon need a hello in time."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.in_process_daemon import daemon_of

from symposium.bus.envelope import Sender, envelope_of, write_envelope
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import PROTOCOL, DaemonStatus, Hello
from symposium.bus.protocol import Role
from symposium.daemon import connection_table
from symposium.daemon.part import LocalPeer


class Idle:
    """A part that does nothing."""

    def answers(self) -> HandlerTable:
        return HandlerTable()

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        return False


def line(message: Hello | DaemonStatus) -> bytes:
    return write_envelope(envelope_of(message, Sender("/"))) + b"\n"


def hello(protocol: int = PROTOCOL) -> bytes:
    return line(Hello(protocol=protocol, role=Role.MCP_SERVER, name="test"))


async def payload(reader: asyncio.StreamReader) -> Any:
    return json.loads(await reader.readline())["payload"]


@pytest.mark.requirement("daemon.hello-time")
async def test_client_without_a_hello_is_disconnected_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_table, "HELLO_TIME", 2.0)
    async with asyncio.timeout(60), daemon_of(Idle(), tmp_path):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "run" / "s")
        writer.write(hello())
        welcome = await payload(reader)
        # It connected later: the deadline of the other one is earlier.
        silent, its_writer = await asyncio.open_unix_connection(tmp_path / "run" / "s")
        said = await silent.read()
        its_writer.close()
        writer.write(line(DaemonStatus()))
        status = await payload(reader)
        writer.close()

    assert welcome["success"]
    assert said == b""
    assert (status["data"]["connections"], status["data"]["cuts"]) == (1, [])


@pytest.mark.requirement("bus.hello")
async def test_client_with_a_rejected_hello_gets_an_error_and_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_table, "HELLO_TIME", 1000.0)
    async with asyncio.timeout(30), daemon_of(Idle(), tmp_path):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "run" / "s")
        writer.write(hello(protocol=99))
        answer = await payload(reader)
        rest = await reader.read()
        writer.close()

    assert not answer["success"]
    assert rest == b""
