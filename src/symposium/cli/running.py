"""Runs a command's one coroutine, and ends it cleanly on SIGINT and SIGTERM."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from symposium.cli.ending import ExitCode


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run it to its end; its exit code, or that of the signal that ended it.

    A signal cancels the work, which ends what it has started; a second Ctrl-C gives up waiting.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        terminated = False

        async def main() -> int:
            task = asyncio.current_task()
            assert task is not None

            def terminate() -> None:
                nonlocal terminated
                terminated = True
                task.cancel()

            loop.add_signal_handler(signal.SIGTERM, terminate)
            return await work

        try:
            return runner.run(main())
        except asyncio.CancelledError:
            return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
