"""All programs that have a table, by name; the tables of build and test tools."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from symposium.permissions.programs.files import ARCHIVES, FILES, SEARCH, TEXT
from symposium.permissions.programs.git import GIT
from symposium.permissions.programs.vocabulary import Program, Style

_HELP: Final = "--help --version "
_CARGO: Final = (
    "-qvr -vv -p=value -F=value -j=number --quiet --verbose --release --profile=value"
    " --package=value --workspace --all --exclude=value --all-targets --lib --bins --bin=value"
    " --examples --example=value --tests --test=value --benches --bench=value --doc"
    " --features=value --all-features --no-default-features --target=value --locked --offline"
    " --frozen --no-run --no-fail-fast --message-format=value --color=value --keep-going"
    " --jobs=number --no-deps --document-private-items --check --fix --allow-dirty --allow-staged"
)
_LIBTEST: Final = Program(
    "-q --nocapture --ignored --include-ignored --exact --quiet --show-output --list"
    " --test-threads=number --skip=value",
    "value*",
)
_LINTS: Final = Program("-D=value -W=value -A=value -F=value")
_GO: Final = (
    "-v -race -a -n -x -short -failfast -cover -json -benchmem -m -u -s -w -l -d -tidy"
    " -trimpath -count=number -run=value -skip=value -bench=value -timeout=value -tags=value"
    " -p=number -parallel=number -coverprofile=output -o=output -f=value -mod=value -e -deps -test"
)
_PLAIN: Final = Program("", "unknown*")
_INSTALL: Final = Program(
    "-DEs --save --save-dev --save-exact --omit=value --include=value --ignore-scripts"
    " --no-audit --no-fund --prefer-offline --offline --silent --dry-run",
    "run*",
    about="packages that the command line names",
)
_SCRIPTS: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "test": Program("-s --silent --if-present", "name*", rest=_PLAIN),
        "t": Program("-s --silent --if-present", "name*", rest=_PLAIN),
        "run": Program("-s --silent --if-present", "name*", rest=_PLAIN),
        "install": _INSTALL,
        "i": _INSTALL,
        "ci": _INSTALL,
        "ls": Program("-al --all --long --depth=number --json --omit=value", "name*"),
        "outdated": Program("-al --all --long --json", "name*"),
        "audit": Program("--json --omit=value --audit-level=value"),
        "view": Program("--json", "value*"),
        "version": Program("--json"),
    }
)
_INTERPRETED: Final = "a script, code, or a module that no rule names"

BUILDING: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "make": Program(
            _HELP + "-BdeiknpqrRstw -j? -l? -C=enter -f=run -o=value -W=value --always-make"
            " --directory=enter --file=run --jobs? --keep-going --dry-run --just-print"
            " --question --silent --quiet --trace --no-print-directory --touch --output-sync?",
            "name*",
            about="`-f`, `--eval`, and variables (`CC=x`)",
        ),
        "npm": Program(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "pnpm": Program(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "yarn": Program(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "node": Program(
            _HELP + "-v --test --watch --no-warnings --trace-warnings --check -e=run -p=run"
            " --eval=run --print=run -r=run --require=run --import=run --loader=run",
            {"": "module", "-e": "unknown*", "-p": "unknown*", "--test": "read*"},
            stops=True,
            about=_INTERPRETED,
        ),
        "python": Program(
            _HELP + "-bBdEhiIOPqRsSuvVx -W=value -X=value -m=module -c=run",
            {"": "module", "-c": "unknown*"},
            stops=True,
            about=_INTERPRETED,
        ),
        "pytest": Program(
            _HELP + "-qvxslhV -vv -k=value -m=value -n=value -r=value --maxfail=number --exitfirst"
            " --lf --last-failed --ff --failed-first --nf --sw --stepwise --tb=value --showlocals"
            " --durations=number --collect-only --co --no-header --no-summary --color=value"
            " --capture=value --strict-markers --disable-warnings --timeout=number --cov?"
            " --cov-report=name --no-cov --ignore=value --deselect=value --runxfail --quiet"
            " --verbose --markers --fixtures -p=run --pyargs --setup-show --cache-clear",
            "read*",
            about="`-p`, `-c`, `-o`, `--rootdir`, `--basetemp`, reports in files",
        ),
        "pip": Program(
            _HELP + "-qvV",
            commands=MappingProxyType(
                {
                    "list": Program("-o --outdated --format=value --not-required --local --user"),
                    "show": Program("-f --files", "name*"),
                    "freeze": Program("--all --local --user -l"),
                    "check": Program(""),
                    "install": Program(
                        "-qvU --upgrade --quiet --no-deps --no-cache-dir --user --dry-run"
                        " --require-hashes -r=read --requirement=read -e=write --editable=write",
                        "run*",
                        about="packages that the command line names, `--index-url`",
                    ),
                }
            ),
            stops=True,
        ),
        "cargo": Program(
            "-qvV --quiet --verbose --version --list --locked --offline --frozen",
            commands=MappingProxyType(
                {
                    **{
                        name: Program(_CARGO, "value*", rest=_LIBTEST) for name in ("test", "bench")
                    },
                    "clippy": Program(_CARGO, "", rest=_LINTS),
                    "fmt": Program(_CARGO, "", rest=Program("--check --emit=value")),
                    "run": Program(_CARGO, "unknown*", rest=_PLAIN),
                    **{name: Program(_CARGO, "") for name in ("build", "check", "doc", "clean")},
                    "tree": Program(_CARGO + " --depth=number --invert? -i? -d -e=value", ""),
                    "metadata": Program(_CARGO + " --format-version=number", ""),
                    "fetch": Program(_CARGO, ""),
                }
            ),
            stops=True,
            about="`--config`, `--manifest-path`, `--target-dir`, `install`",
        ),
        "go": Program(
            "",
            commands=MappingProxyType(
                {
                    **{
                        name: Program(_GO, "read*", style=Style.WORDS)
                        for name in ("build", "test", "vet", "fmt", "list", "doc")
                    },
                    "mod": Program(
                        commands=MappingProxyType(
                            {
                                name: Program("-v -e", "name*", style=Style.WORDS)
                                for name in ("tidy", "download", "verify", "graph", "why")
                            }
                        )
                    ),
                    "env": Program("-json", "name*", style=Style.WORDS),
                    "version": Program("-m", "read*", style=Style.WORDS),
                }
            ),
            stops=True,
            about="`run`, `generate`, `install`, `-exec`, `-toolexec`, `-vettool`, `-ldflags`",
        ),
        "ruff": Program(
            "-qvV --quiet --verbose --version",
            commands=MappingProxyType(
                {
                    "check": Program(
                        "-neqv --fix --unsafe-fixes --diff --watch --show-fixes --no-cache"
                        " --exit-zero --select=value --ignore=value --extend-select=value"
                        " --output-format=value"
                        " --statistics --preview --target-version=value --line-length=number",
                        "write*",
                    ),
                    "format": Program(
                        "-nqv --check --diff --no-cache --preview --line-length=number"
                        " --target-version=value",
                        "write*",
                    ),
                    "version": Program(""),
                    "rule": Program("", "name*"),
                }
            ),
            stops=True,
            about="`--config`, `--output-file`",
        ),
        "tsc": Program(
            "-bwhv --noEmit --watch --build --pretty --strict --skipLibCheck --listFiles"
            " -p=read --project=read --outDir=output --target=value --module=value",
            "read*",
        ),
        "mypy": Program(
            _HELP + "--strict --pretty --show-error-codes --ignore-missing-imports"
            " --no-incremental -p=value -m=value",
            "read*",
            about="`--config-file`, `--python-executable`, reports",
        ),
        "eslint": Program(
            _HELP + "-vh --fix --cache --quiet --ext=value --max-warnings=number -f=name"
            " --format=name",
            "write*",
            about="`-c`, `--plugin`, `--resolve-plugins-relative-to`, `--rulesdir`",
        ),
    }
)


GROUPS: Final[Mapping[str, Mapping[str, Program]]] = MappingProxyType(
    {
        "Files": FILES,
        "Text": TEXT,
        "Search and machine": SEARCH,
        "Git": GIT,
        "Archives and transfer": ARCHIVES,
        "Build and test": BUILDING,
    }
)

PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {name: program for group in GROUPS.values() for name, program in group.items()}
)

_ALIASES: Final = MappingProxyType(
    {"gawk": "awk", "mawk": "awk", "gsed": "sed", "nodejs": "node", "py.test": "pytest"}
)
_VERSIONED: Final = re.compile(r"(python|pip)\d+(?:\.\d+)?")
_SYSTEM: Final = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})


def system_program(word: str) -> str | None:
    """The name of a program that a word finds in PATH or in a system directory, else None."""
    directory, slash, name = word.rpartition("/")
    if directory not in _SYSTEM or (slash and not directory):
        return None
    return name


def program_for(word: str) -> Program | None:
    """The table for the first word of a command; None for an unknown program.

    A program by another path can be anything: `./cp` is not `cp`.
    """
    name = system_program(word)
    if name is None:
        return None
    versioned = _VERSIONED.fullmatch(name)
    name = versioned[1] if versioned is not None else _ALIASES.get(name, name)
    return PROGRAMS.get(name)


def module_program(name: str) -> Program | None:
    """The table for a module that an interpreter runs, such as `pytest` in `python -m pytest`."""
    return PROGRAMS.get(PurePosixPath(name).name) if "/" not in name else None
