"""All programs with a table, by name; tables of build and test tools."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from symposium.permissions.programs.files import ARCHIVES, FILES, SEARCH, TEXT
from symposium.permissions.programs.git import GIT
from symposium.permissions.programs.vocabulary import KnownProgram, Style

_HELP: Final = "--help --version "
_CARGO: Final = (
    "-qvr -vv -p=value -F=value -j=number --quiet --verbose --release --profile=value"
    " --package=value --workspace --all --exclude=value --all-targets --lib --bins --bin=value"
    " --examples --example=value --tests --test=value --benches --bench=value --doc"
    " --features=value --all-features --no-default-features --target=value --locked --offline"
    " --frozen --no-run --no-fail-fast --message-format=value --color=value --keep-going"
    " --jobs=number --no-deps --document-private-items --check --fix --allow-dirty --allow-staged"
)
_LIBTEST: Final = KnownProgram(
    "-q --nocapture --ignored --include-ignored --exact --quiet --show-output --list"
    " --test-threads=number --skip=value",
    "value*",
)
_LINTS: Final = KnownProgram("-D=value -W=value -A=value -F=value")
_GO: Final = (
    "-v -race -a -n -x -short -failfast -cover -json -benchmem -m -u -s -w -l -d -tidy"
    " -trimpath -count=number -run=value -skip=value -bench=value -timeout=value -tags=value"
    " -p=number -parallel=number -coverprofile=output -o=output -f=value -mod=value -e -deps -test"
)
_PLAIN: Final = KnownProgram("", "unknown*")
_INSTALL: Final = KnownProgram(
    "-DEs --save --save-dev --save-exact --omit=value --include=value --ignore-scripts"
    " --no-audit --no-fund --prefer-offline --offline --silent --dry-run",
    "run*",
    about="packages that the command line names",
)
_SCRIPTS: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "test": KnownProgram("-s --silent --if-present", "name*", rest=_PLAIN),
        "t": KnownProgram("-s --silent --if-present", "name*", rest=_PLAIN),
        "run": KnownProgram("-s --silent --if-present", "name*", rest=_PLAIN),
        "install": _INSTALL,
        "i": _INSTALL,
        "ci": _INSTALL,
        "ls": KnownProgram("-al --all --long --depth=number --json --omit=value", "name*"),
        "outdated": KnownProgram("-al --all --long --json", "name*"),
        "audit": KnownProgram("--json --omit=value --audit-level=value"),
        "view": KnownProgram("--json", "value*"),
        "version": KnownProgram("--json"),
    }
)
_INTERPRETED: Final = "a script, code, or a module that no rule names"

BUILDING: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "make": KnownProgram(
            _HELP + "-BdeiknpqrRstw -j? -l? -C=enter -f=run -o=value -W=value --always-make"
            " --directory=enter --file=run --jobs? --keep-going --dry-run --just-print"
            " --question --silent --quiet --trace --no-print-directory --touch --output-sync?",
            "name*",
            about="`-f`, `--eval`, and variables (`CC=x`)",
        ),
        "npm": KnownProgram(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "pnpm": KnownProgram(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "yarn": KnownProgram(_HELP + "-v -s --silent", commands=_SCRIPTS, stops=True),
        "node": KnownProgram(
            _HELP + "-v --test --watch --no-warnings --trace-warnings --check -e=run -p=run"
            " --eval=run --print=run -r=run --require=run --import=run --loader=run",
            {"": "module", "-e": "unknown*", "-p": "unknown*", "--test": "read*"},
            stops=True,
            about=_INTERPRETED,
        ),
        "python": KnownProgram(
            _HELP + "-bBdEhiIOPqRsSuvVx -W=value -X=value -m=module -c=run",
            {"": "module", "-c": "unknown*"},
            stops=True,
            about=_INTERPRETED,
        ),
        "pytest": KnownProgram(
            _HELP + "-qvxslhV -vv -k=value -m=value -n=value -r=value --maxfail=number --exitfirst"
            " --lf --last-failed --ff --failed-first --nf --sw --stepwise --tb=value --showlocals"
            " --durations=number --collect-only --co --no-header --no-summary --color=value"
            " --capture=value --strict-markers --disable-warnings --timeout=number --cov?"
            " --cov-report=name --no-cov --ignore=value --deselect=value --runxfail --quiet"
            " --verbose --markers --fixtures -p=run --pyargs --setup-show --cache-clear",
            "read*",
            about="`-p`, `-c`, `-o`, `--rootdir`, `--basetemp`, reports in files",
        ),
        "pip": KnownProgram(
            _HELP + "-qvV",
            commands=MappingProxyType(
                {
                    "list": KnownProgram(
                        "-o --outdated --format=value --not-required --local --user"
                    ),
                    "show": KnownProgram("-f --files", "name*"),
                    "freeze": KnownProgram("--all --local --user -l"),
                    "check": KnownProgram(""),
                    "install": KnownProgram(
                        "-qvU --upgrade --quiet --no-deps --no-cache-dir --user --dry-run"
                        " --require-hashes -r=read --requirement=read -e=write --editable=write",
                        "run*",
                        about="packages that the command line names, `--index-url`",
                    ),
                }
            ),
            stops=True,
        ),
        "cargo": KnownProgram(
            "-qvV --quiet --verbose --version --list --locked --offline --frozen",
            commands=MappingProxyType(
                {
                    **{
                        name: KnownProgram(_CARGO, "value*", rest=_LIBTEST)
                        for name in ("test", "bench")
                    },
                    "clippy": KnownProgram(_CARGO, "", rest=_LINTS),
                    "fmt": KnownProgram(_CARGO, "", rest=KnownProgram("--check --emit=value")),
                    "run": KnownProgram(_CARGO, "unknown*", rest=_PLAIN),
                    **{
                        name: KnownProgram(_CARGO, "")
                        for name in ("build", "check", "doc", "clean")
                    },
                    "tree": KnownProgram(_CARGO + " --depth=number --invert? -i? -d -e=value", ""),
                    "metadata": KnownProgram(_CARGO + " --format-version=number", ""),
                    "fetch": KnownProgram(_CARGO, ""),
                }
            ),
            stops=True,
            about="`--config`, `--manifest-path`, `--target-dir`, `install`",
        ),
        "go": KnownProgram(
            "",
            commands=MappingProxyType(
                {
                    **{
                        name: KnownProgram(_GO, "read*", style=Style.WORDS)
                        for name in ("build", "test", "vet", "fmt", "list", "doc")
                    },
                    "mod": KnownProgram(
                        commands=MappingProxyType(
                            {
                                name: KnownProgram("-v -e", "name*", style=Style.WORDS)
                                for name in ("tidy", "download", "verify", "graph", "why")
                            }
                        )
                    ),
                    "env": KnownProgram("-json", "name*", style=Style.WORDS),
                    "version": KnownProgram("-m", "read*", style=Style.WORDS),
                }
            ),
            stops=True,
            about="`run`, `generate`, `install`, `-exec`, `-toolexec`, `-vettool`, `-ldflags`",
        ),
        "ruff": KnownProgram(
            "-qvV --quiet --verbose --version",
            commands=MappingProxyType(
                {
                    "check": KnownProgram(
                        "-neqv --fix --unsafe-fixes --diff --watch --show-fixes --no-cache"
                        " --exit-zero --select=value --ignore=value --extend-select=value"
                        " --output-format=value"
                        " --statistics --preview --target-version=value --line-length=number",
                        "write*",
                    ),
                    "format": KnownProgram(
                        "-nqv --check --diff --no-cache --preview --line-length=number"
                        " --target-version=value",
                        "write*",
                    ),
                    "version": KnownProgram(""),
                    "rule": KnownProgram("", "name*"),
                }
            ),
            stops=True,
            about="`--config`, `--output-file`",
        ),
        "tsc": KnownProgram(
            "-bwhv --noEmit --watch --build --pretty --strict --skipLibCheck --listFiles"
            " -p=read --project=read --outDir=output --target=value --module=value",
            "read*",
        ),
        "mypy": KnownProgram(
            _HELP + "--strict --pretty --show-error-codes --ignore-missing-imports"
            " --no-incremental -p=value -m=value",
            "read*",
            about="`--config-file`, `--python-executable`, reports",
        ),
        "eslint": KnownProgram(
            _HELP + "-vh --fix --cache --quiet --ext=value --max-warnings=number -f=name"
            " --format=name",
            "write*",
            about="`-c`, `--plugin`, `--resolve-plugins-relative-to`, `--rulesdir`",
        ),
    }
)


GROUPS: Final[Mapping[str, Mapping[str, KnownProgram]]] = MappingProxyType(
    {
        "Files": FILES,
        "Text": TEXT,
        "Search and machine": SEARCH,
        "Git": GIT,
        "Archives and transfer": ARCHIVES,
        "Build and test": BUILDING,
    }
)

PROGRAMS: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {name: program for group in GROUPS.values() for name, program in group.items()}
)

_ALIASES: Final = MappingProxyType(
    {"gawk": "awk", "mawk": "awk", "gsed": "sed", "nodejs": "node", "py.test": "pytest"}
)
_VERSIONED: Final = re.compile(r"(python|pip)\d+(?:\.\d+)?")
_SYSTEM: Final = frozenset({"", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})


def system_program(word: str) -> str | None:
    """Program found for a word in PATH or in a system directory; None if not found."""
    directory, slash, name = word.rpartition("/")
    if directory not in _SYSTEM or (slash and not directory):
        return None
    return name


def program_for(word: str) -> KnownProgram | None:
    """The table for the first word of a command; None for an unknown program.

    A program with a path can be anything: `./cp` is not `cp`.
    """
    name = system_program(word)
    if name is None:
        return None
    versioned = _VERSIONED.fullmatch(name)
    name = versioned[1] if versioned is not None else _ALIASES.get(name, name)
    return PROGRAMS.get(name)


def module_program(name: str) -> KnownProgram | None:
    """Table for a module run by an interpreter, such as `pytest` in `python -m pytest`."""
    return PROGRAMS.get(PurePosixPath(name).name) if "/" not in name else None
