"""Run the test agent over stdio: `python -m symposium.agents.testy`."""

import asyncio
import sys

from peerwire.transports.fd import stdio_transport
from symposium.agents.testy.agent import serve_testy

INTERRUPTED = 130
"""Exit code after an interrupt from the terminal."""


async def _main() -> None:
    await serve_testy(stdio_transport())


if __name__ == "__main__":
    try:
        asyncio.run(_main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
