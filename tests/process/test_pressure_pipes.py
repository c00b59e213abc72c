"""Slow and disconnecting clients over real pipes, with a program that floods them."""

import asyncio
import json
import os
import sys

import pytest

from peerwire.transports.command import Command
from peerwire.transports.fd import FdTransport
from symposium.chain.blueprint import Blueprint, Program
from symposium.chain.conductor import Conductor

FLOOD = """
import os, sys
count = int(sys.argv[1])
sys.stdin.readline()
os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}\\n')
head = b'{"jsonrpc":"2.0","method":"session/update","params":'
for number in range(count):
    os.write(1, head + b'{"n":%d,"p":"%b"}}\\n' % (number, b"x" * 2000))
sys.stdin.read()
"""
OPEN = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
COUNT = 4000


class Watched(FdTransport):
    """Transport that records its largest backlog."""

    largest = 0

    def send(self, line: bytes) -> None:
        super().send(line)
        self.largest = max(self.largest, self.backlog)


class Wires:
    """Two pipes of the client; the test holds one end of each."""

    def __init__(self) -> None:
        self.there_read, self.there_write = os.pipe()
        self.back_read, self.back_write = os.pipe()
        self.transport = Watched(self.there_read, self.back_write)

    def conductor(self, count: int) -> Conductor:
        command = Command((sys.executable, "-I", "-c", FLOOD, str(count)), {})
        agent = Program("flood", command)
        return Conductor(self.transport, lambda _: Blueprint([], agent))


@pytest.mark.requirement("conductor.pressure-slow-client", "jsonrpc.invariant-bounded")
async def test_slowly_reading_client_gets_everything_with_a_small_backlog() -> None:
    wires = Wires()
    conductor = wires.conductor(COUNT)
    numbers: list[int] = []
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(conductor.run())
        os.write(wires.there_write, OPEN)
        rest = b""
        while len(numbers) < COUNT:
            rest += await asyncio.to_thread(os.read, wires.back_read, 16384)
            *lines, rest = rest.split(b"\n")
            messages = [json.loads(line) for line in lines]
            numbers += [one["params"]["n"] for one in messages if "params" in one]
        os.close(wires.there_write)
        assert await running == 0
    os.close(wires.back_read)
    assert numbers == [*range(COUNT)]
    assert wires.transport.largest < 512 * 1024


@pytest.mark.requirement("conductor.pressure-client")
async def test_chain_ends_when_the_client_disconnects_during_a_write() -> None:
    wires = Wires()
    conductor = wires.conductor(10**9)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(conductor.run())
        os.write(wires.there_write, OPEN)
        await asyncio.to_thread(os.read, wires.back_read, 16384)
        os.close(wires.back_read)
        async with asyncio.timeout(45):
            assert await running == 0
    os.close(wires.there_write)
