"""What is recorded of a chain: its messages as a trace, the lines of its wires as a debug log."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from peerwire.jsonrpc.transport import Transport
from symposium.chain.conductor import Settings
from symposium.chain_spec import ChainSpec


class Recorded(Struct, frozen=True):
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
    from symposium.cli.recorders import recorders  # noqa: PLC0415 - see IMPORTS_LATE

    with recorders(chain.secrets, trace_dir, log_dir) as (trace, log):
        client = _as_it_is
        if trace is not None:
            settings = replace(settings, watcher=trace)
        if log is not None:
            settings = replace(settings, tap=log.tap, on_stderr=log.on_stderr)
            client = log.tap
        yield Recorded(settings, client)


def _as_it_is(transport: Transport) -> Transport:
    return transport
