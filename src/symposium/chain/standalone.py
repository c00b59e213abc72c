"""One mod as a program of its own: a conductor in proxy mode with nothing else in its chain."""

import asyncio
from typing import Any

from peerwire.transports.fd import stdio_transport
from symposium.chain.blueprint import Blueprint, InProcess
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.mod import Mod

INTERRUPTED = 130
"""The exit code of a program that was interrupted from its terminal."""


def serve_alone(mod: Mod) -> int:
    """Serve the mod over our standard streams until the host ends them; the exit code."""

    async def serve() -> int:
        conductor = Conductor(stdio_transport(), instantiate, Settings(is_proxy=True))
        return await conductor.run()

    def instantiate(_: Any) -> Blueprint:
        return Blueprint([InProcess(type(mod).__name__, mod)], None)

    try:
        return asyncio.run(serve())
    except KeyboardInterrupt:
        return INTERRUPTED
