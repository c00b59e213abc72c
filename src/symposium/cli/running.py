"""Run a command's coroutine; stop it cleanly on SIGINT, SIGTERM, and SIGHUP."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from symposium.cli.ending import ExitCode


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run the work and return its exit code, or that of the signal that ended it.

    A signal cancels the work, which stops what it has started; a second Ctrl-C stops waiting.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        ending = ExitCode.INTERRUPTED

        async def main() -> int:
            task = asyncio.current_task()
            assert task is not None

            def terminate(code: ExitCode) -> None:
                nonlocal ending
                ending = code
                task.cancel()

            loop.add_signal_handler(signal.SIGTERM, terminate, ExitCode.TERMINATED)
            loop.add_signal_handler(signal.SIGHUP, terminate, ExitCode.HUNG_UP)
            return await work

        try:
            return runner.run(main())
        except asyncio.CancelledError:
            return ending
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
