"""Record a chain: its messages as a trace, the lines of its transports as a debug log."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from peerwire.jsonrpc.transport import Transport
from symposium.chain.conductor import Settings
from symposium.planning.chain_spec import ChainSpec


class Recorded(Struct, frozen=True):
    """Recording of a chain, possibly none.

    Attributes:
        settings: the settings of its conductor.
        client: wraps the client's transport to log its lines.
    """

    settings: Settings
    client: Callable[[Transport], Transport]


@contextmanager
def recorded(
    chain: ChainSpec, settings: Settings, *, trace_dir: str | None, log_dir: str | None = None
) -> Generator[Recorded]:
    """Record a chain in the block, into new files of the given directories.

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
