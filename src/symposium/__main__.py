"""Starts the command line: `symposium` and `python -m symposium`."""

from symposium.cli.quick_imports import quick_imports

with quick_imports():
    import click

    from symposium.cli.front import Front
    from symposium.config.paths import leave_relative_places


@click.group(cls=Front, context_settings={"help_option_names": ["--help", "-h"]})
@click.version_option(package_name="symposium-host", prog_name="symposium")
def main() -> None:
    """Run chains of ACP components between an editor and its agent."""
    # Where we are may be any workspace: nobody starts what lies there by chance.
    leave_relative_places()


if __name__ == "__main__":
    main()
