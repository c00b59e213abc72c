"""Denies system calls to this process and its children, as other kernels do."""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from typing import Final

CLONE_PARENT: Final = 0x00008000
PR_SET_MM: Final = 35

_NUMBERS: Final = {"x86_64": (56, 157), "aarch64": (220, 167)}
"""The system calls clone and prctl."""

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _HAS_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST = 0, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def refuse_clone_parent() -> None:
    """Deny starting a sibling process."""
    _refuse(_NUMBERS[os.uname().machine][0], _HAS_BITS, CLONE_PARENT)


def refuse_new_arguments() -> None:
    """Deny changing the arguments that a process shows."""
    _refuse(_NUMBERS[os.uname().machine][1], _EQUALS, PR_SET_MM)


def _refuse(number: int, comparison: int, value: int) -> None:
    """Deny a system call whose first argument has this value, or these bits."""
    lines = [
        (_LOAD, 0, 0, _NUMBER),
        (_EQUALS, 0, 3, number),
        (_LOAD, 0, 0, _FIRST),
        (comparison, 0, 1, value),
        (_RETURN, 0, 0, _ERROR | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    _install(lines)


def _install(lines: Sequence[tuple[int, int, int, int]]) -> None:
    program = b"".join(struct.pack("=HBBI", *line) for line in lines)
    kept = ctypes.create_string_buffer(program)
    head = struct.pack("@HP", len(lines), ctypes.addressof(kept))
    library = ctypes.CDLL(None, use_errno=True)
    for words in ((_SET_NO_NEW_PRIVILEGES, 1, 0), (_SET_SECCOMP, _FILTER, head)):
        if library.prctl(*words, 0, 0):
            raise OSError(ctypes.get_errno(), "no system call can be refused here")
