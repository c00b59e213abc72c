"""Subcommands, one module each; its first line is the help in `--help`."""
