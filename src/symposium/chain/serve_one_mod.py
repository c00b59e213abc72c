"""Run one mod as a program: a conductor in proxy mode without other components."""

import asyncio
from typing import Any

from peerwire.transports.fd import stdio_transport
from symposium.chain.blueprint import Blueprint, InProcess
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.mod import Mod

INTERRUPTED = 130
"""Exit code after an interrupt from the terminal."""


def serve_alone(mod: Mod) -> int:
    """Serve the mod on stdin and stdout until the host closes them; returns the exit code."""

    async def serve() -> int:
        conductor = Conductor(stdio_transport(), instantiate, Settings(is_proxy=True))
        return await conductor.run()

    def instantiate(_: Any) -> Blueprint:
        return Blueprint([InProcess(type(mod).__name__, mod)], None)

    try:
        return asyncio.run(serve())
    except KeyboardInterrupt:
        return INTERRUPTED
