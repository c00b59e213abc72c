"""Open the trace and the debug log of a chain; imported only if one is requested."""

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from localio.redaction import secret_values
from symposium.chain.debug_log import DebugLog, open_debug_log
from symposium.chain.trace import TraceRecorder, open_trace


@contextmanager
def trace_and_log(
    secrets: Sequence[str], trace_dir: str | None, log_dir: str | None
) -> Generator[tuple[TraceRecorder | None, DebugLog | None]]:
    """Open a trace and a debug log where a directory is given; close them after the block.

    Raises:
        RecordingError: a directory cannot be made or written to.
    """
    known = (*secrets, *secret_values(os.environ))
    trace: TraceRecorder | None = None
    log: DebugLog | None = None
    with ExitStack() as files:
        if trace_dir is not None:
            trace = open_trace(Path(trace_dir), known)
            files.callback(trace.close)
        if log_dir is not None:
            log = open_debug_log(Path(log_dir), known)
            files.callback(log.close)
        yield trace, log
