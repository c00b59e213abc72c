"""Starts the command line: `symposium` and `python -m symposium`."""

import sys


def main() -> int:
    """Say what this version can do; the commands arrive with the command line.

    Returns:
        The exit status for the shell.
    """
    sys.stderr.write("symposium: this version has no command yet\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
