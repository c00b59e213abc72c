"""Execute a program in another directory: `start_in_directory.py DIRECTORY PROGRAM [WORD]...`.

Uses only the standard library and few imports, because it runs before every MCP server.
"""

import os
import sys

if __name__ == "__main__":
    os.chdir(sys.argv[1])
    try:
        os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")
