"""The same signal settings for every test process, however it was started."""

import signal
from typing import Final

_OF_PYTHON: Final = {signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that Python ignores in every program."""


def take_known_signals() -> None:
    """Block no signal, and ignore none but those that Python ignores.

    A shell lets a program in the background ignore Ctrl-C; `nohup` lets it ignore SIGHUP.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals() - _OF_PYTHON:
        if signal.getsignal(number) is signal.SIG_IGN:
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
