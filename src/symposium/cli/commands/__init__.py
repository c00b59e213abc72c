"""The subcommands: a module each, with its `command`; its first line is what `--help` lists."""
