"""What is recorded of a chain: its messages as a trace, the lines of its wires as a debug log."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from peerwire.jsonrpc.transport import Transport
from symposium.chain_spec import ChainSpec
from symposium.conductor.conductor import Settings


@dataclass(frozen=True, slots=True)
class Recorded:
    """A chain that is recorded, or not.

    Attributes:
        settings: for its conductor.
        client: makes the client's transport one whose lines are logged.
    """

    settings: Settings
    client: Callable[[Transport], Transport]


@contextmanager
def recorded(
    chain: ChainSpec, settings: Settings, *, trace_dir: str | None, log_dir: str | None = None
) -> Generator[Recorded]:
    """Record what a chain does inside the block, each into a new file of its directory.

    Raises:
        RecordingError: a directory cannot be made or written to.
    """
    if trace_dir is None and log_dir is None:
        yield Recorded(settings, _as_it_is)
        return
    from contextlib import ExitStack  # noqa: PLC0415 - as the two below
    from pathlib import Path  # noqa: PLC0415 - as the two below

    from symposium.conductor.debug_log import open_debug_log  # noqa: PLC0415 - see IMPORTS_LATE
    from symposium.conductor.trace import open_trace  # noqa: PLC0415 - see IMPORTS_LATE
    from symposium.redaction import secret_values  # noqa: PLC0415 - see IMPORTS_LATE

    known = (*chain.secrets, *secret_values(os.environ))
    client = _as_it_is
    with ExitStack() as files:
        if trace_dir is not None:
            trace = open_trace(Path(trace_dir), known)
            files.callback(trace.close)
            settings = replace(settings, watcher=trace)
        if log_dir is not None:
            log = open_debug_log(Path(log_dir), known)
            files.callback(log.close)
            settings = replace(settings, tap=log.tap, on_stderr=log.on_stderr)
            client = log.tap
        yield Recorded(settings, client)


def _as_it_is(transport: Transport) -> Transport:
    return transport
