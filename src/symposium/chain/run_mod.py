"""Run a mod's file as a program; does nothing when the file is imported."""

from typing import NoReturn

from symposium.chain.mod import Mod


def run_mod(mod: Mod) -> NoReturn:
    """Run this mod as a proxy on stdin and stdout, then exit.

    Any host of ACP proxies can start it, for example `symposium run-with --proxy 'python
    my_mod.py'`.

    Raises:
        SystemExit: always; 0 when the host closed the connection.
    """
    from symposium.chain.serve_one_mod import serve_alone

    raise SystemExit(serve_alone(mod))
