"""The registry's names for machines (acp-host §4.10)."""

from typing import Final

_SYSTEMS: Final = {"darwin": "darwin", "linux": "linux", "win32": "windows", "windows": "windows"}
_MACHINES: Final = {
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "x86_64": "x86_64",
    "amd64": "x86_64",
}

PLATFORMS: Final = tuple(
    f"{system}-{machine}"
    for system in ("darwin", "linux", "windows")
    for machine in ("aarch64", "x86_64")
)


def platform_key(system: str, machine: str) -> str:
    """The key of a machine, from what `sys.platform` and `os.uname().machine` say of it.

    A machine that the registry does not know has a key as well, which no entry offers.
    """
    system, machine = system.lower(), machine.lower()
    return f"{_SYSTEMS.get(system, system)}-{_MACHINES.get(machine, machine)}"
