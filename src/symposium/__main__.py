"""Start the command line: `symposium` and `python -m symposium`."""

from symposium.cli.quick_imports import quick_imports

with quick_imports():
    import click

    from symposium.cli.app import RootGroup
    from symposium.config.paths import leave_relative_places

HELP = """Run coding agents from any editor, several at a time, with your rules, your tools, and an
undo.

`symposium COMMAND --help` shows the options of a command, and an example.
"""


@click.group(cls=RootGroup, help=HELP, context_settings={"help_option_names": ["--help", "-h"]})
@click.version_option(package_name="symposium-host", prog_name="symposium")
def main() -> None:
    """Run a command of Symposium."""
    # The current directory may be an untrusted workspace: run no program from it by accident.
    leave_relative_places()


if __name__ == "__main__":
    main()
