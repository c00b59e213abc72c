"""Lines that a person types, read without a thread, so that whoever waits can be cancelled."""

import asyncio
import os
import sys

import click


async def read_line(prompt: str) -> str:
    """Show a prompt on stderr and wait for one line of standard input, a terminal.

    Raises:
        EOFError: the person has ended the input.
    """
    click.echo(prompt, err=True, nl=False)
    loop = asyncio.get_running_loop()
    fd = sys.stdin.fileno()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
    # A terminal gives whole lines, one a read.
    data = os.read(fd, 4096)
    if not data:
        raise EOFError
    return data.decode(errors="replace").rstrip("\n")
