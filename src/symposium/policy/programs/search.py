"""Programs that find files and show facts about the machine."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.policy.programs.vocabulary import Program, Style

_HELP: Final = "--help --version "

SEARCH: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "find": Program(
            "-H -L -P -O0 -O1 -O2 -O3 ( ) ! , -a -and -o -or -not -true -false -depth -d -mount"
            " -xdev -daystart -follow -noleaf -nowarn -warn -ignore_readdir_race -print -print0 -ls"
            " -prune -quit -empty -executable -readable -writable -nouser -nogroup -help -version"
            " -name=value -iname=value -path=value -ipath=value -wholename=value -iwholename=value"
            " -regex=value -iregex=value -regextype=value -lname=value -ilname=value -type=value"
            " -xtype=value -size=value -perm=value -user=value -group=value -uid=value -gid=value"
            " -inum=value -links=value -fstype=value -maxdepth=number -mindepth=number -mmin=value"
            " -mtime=value -amin=value -atime=value -cmin=value -ctime=value -newer=read"
            " -anewer=read -cnewer=read -newermt=value -newerct=value -samefile=read -used=value"
            " -printf=value -fprint=output -fprint0=output -fls=output",
            "read*",
            style=Style.WORDS,
            about="`-exec`, `-ok`, `-execdir`, `-delete`, `-fprintf`, `-files0-from`",
        ),
        "fd": Program(
            _HELP + "-HIuLpasiFlq01 --hidden --no-ignore --no-ignore-vcs --unrestricted --follow"
            " --full-path --absolute-path --case-sensitive --ignore-case --fixed-strings --glob -g"
            " --list-details --quiet --max-results=number -t=value --type=value -e=value"
            " --extension=value -E=value --exclude=value -d=number --max-depth=number"
            " --min-depth=number -c=value --color=value -j=number --threads=number -S=value"
            " --size=value --changed-within=value --changed-before=value --print0",
            "value read*",
            about="`-x`, `-X`, `--exec`, `--exec-batch`, `--base-directory`",
        ),
        "which": Program(_HELP + "-as --all", "name*"),
        "type": Program("-afptP", "name*"),
        "whoami": Program(_HELP),
        "id": Program(_HELP + "-aGgnruz --groups --group --name --real --user", "name*"),
        "uname": Program(
            _HELP + "-amnprsvio --all --kernel-name --nodename --kernel-release --machine"
            " --operating-system"
        ),
        "nproc": Program(_HELP + "--all --ignore=number"),
        "hostname": Program("-AdfiIs --fqdn --short --all-ip-addresses"),
        "printenv": Program(_HELP + "-0 --null", "name*"),
        "ps": Program(
            "-aAdefFjlLTyw --forest --no-headers -o=value -p=value -C=value -u=value -U=value"
            " -g=value -t=value --pid=value --ppid=value --sort=value --user=value --format=value",
            "name*",
        ),
        "free": Program(_HELP + "-bkmghtw --human --mega --giga --total"),
        "uptime": Program(_HELP + "-psr --pretty --since"),
    }
)
