"""Programs that pack, unpack, and transfer files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.policy.programs.vocabulary import Program, Style

_HELP: Final = "--help --version "
_MODES: Final = ("-c", "--create", "-r", "--append", "-u", "--update", "-A")
_COMPRESS: Final = Program(
    _HELP + "-cdfhklLnNqrtvV -NUM --stdout --to-stdout --decompress --uncompress --force --keep"
    " --list --no-name --name --quiet --recursive --test --verbose --fast --best -S=name"
    " --suffix=name",
    {"": "write*", "-c": "read*", "--stdout": "read*", "-l": "read*", "-t": "read*"},
)

ARCHIVES: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "tar": Program(
            _HELP + "-ctxruAdzjJakmpvwhOSlWB --create --list --extract --get --append --update"
            " --diff --compare --delete --gzip --gunzip --bzip2 --xz --zstd --lzma"
            " --auto-compress --keep-old-files --keep-newer-files --skip-old-files --overwrite"
            " --touch --preserve-permissions --no-same-owner --no-same-permissions --verbose"
            " --dereference --to-stdout --sparse --verify --one-file-system --wildcards"
            " --no-recursion --numeric-owner --totals --show-transformed-names --no-wildcards"
            " --null --exclude-vcs --exclude-vcs-ignores --anchored --no-anchored"
            " --recursive-unlink --sort=value --mtime=value --owner=value --group=value"
            " --mode=value --format=value --exclude=value --strip-components=number"
            " --level=number -f=read"
            " --file=read -C=enter --directory=enter -X=read --exclude-from=read"
            " --xattrs --acls --hard-dereference --one-top-level?"
            " -I=run --use-compress-program=run --to-command=run --checkpoint?"
            " --checkpoint-action=run -F=run --info-script=run --new-volume-script=run"
            " --rmt-command=run --rsh-command=run",
            {
                "": "read*",
                "-x": "value*",
                "--extract": "value*",
                "--get": "value*",
                "-t": "value*",
                "--list": "value*",
            },
            when=dict.fromkeys((*_MODES, "--delete"), "-f=write --file=write"),
            implies=dict.fromkeys(("-x", "--extract", "--get"), "write"),
            style=Style.BUNDLE,
            names_hosts=True,
            about="`-P`, `-I`, `--to-command`, `--checkpoint-action`, `-T`, other hosts",
        ),
        "gzip": _COMPRESS,
        "gunzip": _COMPRESS,
        "bzip2": _COMPRESS,
        "xz": _COMPRESS,
        "zcat": Program(_HELP + "-fv", "read*"),
        "zip": Program(
            "-rqvjy0123456789uoX --recurse-paths --quiet -x=value -i=value",
            "write read*",
            about="`-m`, `-T`, `-TT`, `-O`, `-b`",
        ),
        "unzip": Program(
            "-lvtpZqonjuaLCf1 -d=write -x=value",
            "read value*",
            implies={"": "write"},
            about="`-:`, which lets members leave the directory",
        ),
        "curl": Program(
            _HELP + "-sSfLIivk0g46NGV --silent --show-error --fail --fail-with-body --location"
            " --head --include --verbose --compressed --no-progress-meter --progress-bar --globoff"
            " --no-buffer --get --http1.1 --http2 --ipv4 --ipv6 -H=data --header=data -X=value"
            " --request=value -d=data --data=data --data-binary=data --data-raw=value"
            " --json=data -A=value --user-agent=value -e=value"
            " --referer=value -m=number --max-time=number --connect-timeout=number --retry=number"
            " --retry-delay=number --retry-all-errors -r=value --range=value -w=data"
            " --write-out=data -o=output --output=output -O --remote-name --create-dirs"
            " -T=read --upload-file=read --cacert=read --url=url",
            "url*",
            implies={"-O": "output", "--remote-name": "output"},
            about="addresses other than http(s), `-K`, `-F`, `--data-urlencode`, `-b`, `-c`, `-u`",
        ),
        "wget": Program(
            _HELP + "-qvSNc46 --quiet --verbose --no-verbose --server-response --spider"
            " --timestamping --continue --no-check-certificate --show-progress -O=output"
            " --output-document=output -P=output --directory-prefix=output -t=number --tries=number"
            " -T=number --timeout=number -U=value --user-agent=value --header=value",
            "url*",
            implies={"": "output"},
            about="`-i`, `-e`, `-r`, `--use-askpass`, `--post-file`",
        ),
    }
)
