"""Processes that are no children of the test."""

import os
import select


def has_exited(pid: int) -> bool:
    """Wait for the exit of a process that is no child, for up to five seconds."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(5000))
    finally:
        os.close(handle)
