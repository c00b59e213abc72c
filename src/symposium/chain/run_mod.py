"""Run a mod's own file as a program; does nothing where that file is only imported."""

from typing import NoReturn

from symposium.chain.mod import Mod


def run_mod(mod: Mod) -> NoReturn:
    """Be a program with this one mod: speak as a proxy on standard input and output, then exit.

    Any host of ACP proxies can start it: `symposium run-with --proxy 'python my_mod.py'`.

    Raises:
        SystemExit: always; 0 when the host has ended the connection.
    """
    from symposium.chain.standalone import serve_alone  # noqa: PLC0415 - hosts import mods

    raise SystemExit(serve_alone(mod))
