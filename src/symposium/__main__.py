"""Starts the command line: `symposium` and `python -m symposium`."""

import click

from symposium.cli.front import Front


@click.group(cls=Front, context_settings={"help_option_names": ["--help", "-h"]})
@click.version_option(package_name="symposium-host", prog_name="symposium")
def main() -> None:
    """Run chains of ACP components between an editor and its agent."""


if __name__ == "__main__":
    main()
