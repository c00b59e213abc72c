"""Programs that list, copy, move, and change files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.policy.programs.vocabulary import Program, Style

_HELP: Final = "--help --version "

FILES: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "ls": Program(
            _HELP + "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --escape"
            " --block-size=value --ignore-backups --color? --colour? --directory --file-type"
            " --format=value --full-time --group-directories-first --no-group --human-readable"
            " --hide=value --classify? --inode -I=value --ignore=value --indicator-style=value"
            " --literal --numeric-uid-gid --quote-name --quoting-style=value --reverse --recursive"
            " --size --sort=value --time=value --time-style=value -T=number -w=number"
            " --width=number --zero --dereference --si",
            "read*",
        ),
        "cat": Program(
            _HELP + "-AbeEnstTuv --show-all --number --number-nonblank --squeeze-blank --show-ends"
            " --show-tabs --show-nonprinting",
            "read*",
        ),
        "head": Program(
            _HELP + "-qvz -NUM -n=value -c=value --lines=value --bytes=value --quiet --silent"
            " --verbose --zero-terminated",
            "read*",
        ),
        "tail": Program(
            _HELP + "-fFqvz -NUM -n=value -c=value -s=number --lines=value --bytes=value --follow?"
            " --retry --pid=number --sleep-interval=number --quiet --silent --verbose",
            "read*",
        ),
        "cp": Program(
            _HELP + "-abdfHilLnpPrRsTuvxZ --archive --force --interactive --link --dereference"
            " --no-dereference --no-clobber --recursive --reflink? --sparse=value --symbolic-link"
            " --no-target-directory --update? --verbose --one-file-system --preserve?"
            " --no-preserve=value --parents --remove-destination --strip-trailing-slashes"
            " --backup? -t=write --target-directory=write",
            {"": "read* write", "-t": "read*", "--target-directory": "read*"},
        ),
        "mv": Program(
            _HELP + "-bfinTuvZ --force --interactive --no-clobber --no-target-directory --update?"
            " --verbose --strip-trailing-slashes --backup? -t=write --target-directory=write",
            {"": "remove* write", "-t": "remove*", "--target-directory": "remove*"},
            about="the workspace itself as the file to move",
        ),
        "rm": Program(
            _HELP + "-dfiIrRv --force --interactive? --recursive --dir --verbose"
            " --one-file-system --preserve-root?",
            "remove*",
            about="the workspace itself, `--no-preserve-root`",
        ),
        "rmdir": Program(_HELP + "-pv --parents --verbose --ignore-fail-on-non-empty", "remove*"),
        "mkdir": Program(_HELP + "-pvZ --parents --verbose -m=value --mode=value", "write*"),
        "touch": Program(
            _HELP + "-acfhm --no-create --no-dereference -d=value --date=value -t=number"
            " --time=value -r=read --reference=read",
            "write*",
        ),
        "ln": Program(
            _HELP + "-bfinLPrsTv --force --interactive --logical --no-dereference --physical"
            " --relative --symbolic --no-target-directory --verbose --backup? -t=write"
            " --target-directory=write",
            {"": "write* write", "-t": "write*", "--target-directory": "write*"},
            about="a link whose target is outside the workspace",
        ),
        "chmod": Program(
            _HELP + "-cfvR --changes --silent --quiet --verbose --recursive --preserve-root"
            " --reference=read",
            {"": "value write*", "--reference": "write*"},
        ),
        "stat": Program(
            _HELP + "-Lft --dereference --file-system --terse -c=value --format=value"
            " --printf=value",
            "read*",
        ),
        "file": Program(
            _HELP + "-bhiIkLNprsvz0 --brief --mime --mime-type --mime-encoding --dereference"
            " --no-dereference --extension --raw",
            "read*",
        ),
        "du": Program(
            _HELP + "-abcDhHklLmPsSx0 --all --apparent-size --bytes --total --human-readable"
            " --summarize --separate-dirs --si -d=number --max-depth=number --exclude=value"
            " -t=value --threshold=value -B=value --block-size=value --one-file-system",
            "read*",
        ),
        "df": Program(
            _HELP + "-ahHiklPTv --all --human-readable --inodes --local --portability"
            " --print-type --total -t=value --type=value -x=value --exclude-type=value",
            "read*",
        ),
        "tree": Program(
            "-adfilnpqrstucCDFghNQ --dirsfirst --noreport --gitignore --du --si --prune"
            " -L=number -I=value -P=value --filelimit=number --matchdirs --ignore-case",
            "read*",
        ),
        "pwd": Program(_HELP + "-LP --logical --physical"),
        "cd": Program("-LP", "read"),
        "realpath": Program(
            _HELP + "-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical"
            " --physical --quiet --strip --no-symlinks --relative-to=read --relative-base=read",
            "read*",
        ),
        "readlink": Program(
            _HELP + "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing"
            " --no-newline --quiet --silent --verbose",
            "read*",
        ),
        "basename": Program(_HELP + "-az --multiple -s=value --suffix=value --zero", "value*"),
        "dirname": Program(_HELP + "-z --zero", "value*"),
        "tee": Program(_HELP + "-aip --append --ignore-interrupts", "write*"),
        "dd": Program(
            _HELP + "if=read of=write bs=value ibs=value obs=value cbs=value count=value"
            " skip=value seek=value conv=value iflag=value oflag=value status=value",
            style=Style.WORDS,
        ),
        "md5sum": Program(_HELP + "-bctwz --binary --check --quiet --status --tag", "read*"),
        "sha256sum": Program(_HELP + "-bctwz --binary --check --quiet --status --tag", "read*"),
        "truncate": Program(
            _HELP + "-co --no-create -s=value --size=value -r=read --reference=read", "write*"
        ),
    }
)
