"""Programs that find, change, pack, search, and transform files and text."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.permissions.programs.vocabulary import KnownProgram, Style

_HELP: Final = "--help --version "

FILES: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "ls": KnownProgram(
            _HELP + "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --escape"
            " --block-size=value --ignore-backups --color? --colour? --directory --file-type"
            " --format=value --full-time --group-directories-first --no-group --human-readable"
            " --hide=value --classify? --inode -I=value --ignore=value --indicator-style=value"
            " --literal --numeric-uid-gid --quote-name --quoting-style=value --reverse --recursive"
            " --size --sort=value --time=value --time-style=value -T=number -w=number"
            " --width=number --zero --dereference --si",
            "read*",
        ),
        "cat": KnownProgram(
            _HELP + "-AbeEnstTuv --show-all --number --number-nonblank --squeeze-blank --show-ends"
            " --show-tabs --show-nonprinting",
            "read*",
        ),
        "head": KnownProgram(
            _HELP + "-qvz -NUM -n=value -c=value --lines=value --bytes=value --quiet --silent"
            " --verbose --zero-terminated",
            "read*",
        ),
        "tail": KnownProgram(
            _HELP + "-fFqvz -NUM -n=value -c=value -s=number --lines=value --bytes=value --follow?"
            " --retry --pid=number --sleep-interval=number --quiet --silent --verbose",
            "read*",
        ),
        "cp": KnownProgram(
            _HELP + "-abdfHilLnpPrRsTuvxZ --archive --force --interactive --link --dereference"
            " --no-dereference --no-clobber --recursive --reflink? --sparse=value --symbolic-link"
            " --no-target-directory --update? --verbose --one-file-system --preserve?"
            " --no-preserve=value --parents --remove-destination --strip-trailing-slashes"
            " --backup? -t=write --target-directory=write",
            {"": "read* write", "-t": "read*", "--target-directory": "read*"},
        ),
        "mv": KnownProgram(
            _HELP + "-bfinTuvZ --force --interactive --no-clobber --no-target-directory --update?"
            " --verbose --strip-trailing-slashes --backup? -t=write --target-directory=write",
            {"": "remove* write", "-t": "remove*", "--target-directory": "remove*"},
            about="the workspace itself as the file to move",
        ),
        "rm": KnownProgram(
            _HELP + "-dfiIrRv --force --interactive? --recursive --dir --verbose"
            " --one-file-system --preserve-root?",
            "remove*",
            about="the workspace itself, `--no-preserve-root`",
        ),
        "rmdir": KnownProgram(
            _HELP + "-pv --parents --verbose --ignore-fail-on-non-empty", "remove*"
        ),
        "mkdir": KnownProgram(_HELP + "-pvZ --parents --verbose -m=value --mode=value", "write*"),
        "touch": KnownProgram(
            _HELP + "-acfhm --no-create --no-dereference -d=value --date=value -t=number"
            " --time=value -r=read --reference=read",
            "write*",
        ),
        "ln": KnownProgram(
            _HELP + "-bfinLPrsTv --force --interactive --logical --no-dereference --physical"
            " --relative --symbolic --no-target-directory --verbose --backup? -t=write"
            " --target-directory=write",
            {"": "write* write", "-t": "write*", "--target-directory": "write*"},
            about="a link whose target is outside the workspace",
        ),
        "chmod": KnownProgram(
            _HELP + "-cfvR --changes --silent --quiet --verbose --recursive --preserve-root"
            " --reference=read",
            {"": "value write*", "--reference": "write*"},
        ),
        "stat": KnownProgram(
            _HELP + "-Lft --dereference --file-system --terse -c=value --format=value"
            " --printf=value",
            "read*",
        ),
        "file": KnownProgram(
            _HELP + "-bhiIkLNprsvz0 --brief --mime --mime-type --mime-encoding --dereference"
            " --no-dereference --extension --raw",
            "read*",
        ),
        "du": KnownProgram(
            _HELP + "-abcDhHklLmPsSx0 --all --apparent-size --bytes --total --human-readable"
            " --summarize --separate-dirs --si -d=number --max-depth=number --exclude=value"
            " -t=value --threshold=value -B=value --block-size=value --one-file-system",
            "read*",
        ),
        "df": KnownProgram(
            _HELP + "-ahHiklPTv --all --human-readable --inodes --local --portability"
            " --print-type --total -t=value --type=value -x=value --exclude-type=value",
            "read*",
        ),
        "tree": KnownProgram(
            "-adfilnpqrstucCDFghNQ --dirsfirst --noreport --gitignore --du --si --prune"
            " -L=number -I=value -P=value --filelimit=number --matchdirs --ignore-case",
            "read*",
        ),
        "pwd": KnownProgram(_HELP + "-LP --logical --physical"),
        "cd": KnownProgram("-LP", "read"),
        "realpath": KnownProgram(
            _HELP + "-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical"
            " --physical --quiet --strip --no-symlinks --relative-to=read --relative-base=read",
            "read*",
        ),
        "readlink": KnownProgram(
            _HELP + "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing"
            " --no-newline --quiet --silent --verbose",
            "read*",
        ),
        "basename": KnownProgram(_HELP + "-az --multiple -s=value --suffix=value --zero", "value*"),
        "dirname": KnownProgram(_HELP + "-z --zero", "value*"),
        "tee": KnownProgram(_HELP + "-aip --append --ignore-interrupts", "write*"),
        "dd": KnownProgram(
            _HELP + "if=read of=write bs=value ibs=value obs=value cbs=value count=value"
            " skip=value seek=value conv=value iflag=value oflag=value status=value",
            style=Style.WORDS,
        ),
        "md5sum": KnownProgram(_HELP + "-bctwz --binary --check --quiet --status --tag", "read*"),
        "sha256sum": KnownProgram(
            _HELP + "-bctwz --binary --check --quiet --status --tag", "read*"
        ),
        "truncate": KnownProgram(
            _HELP + "-co --no-create -s=value --size=value -r=read --reference=read", "write*"
        ),
    }
)


SEARCH: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "find": KnownProgram(
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
        "fd": KnownProgram(
            _HELP + "-HIuLpasiFlq01 --hidden --no-ignore --no-ignore-vcs --unrestricted --follow"
            " --full-path --absolute-path --case-sensitive --ignore-case --fixed-strings --glob -g"
            " --list-details --quiet --max-results=number -t=value --type=value -e=value"
            " --extension=value -E=value --exclude=value -d=number --max-depth=number"
            " --min-depth=number -c=value --color=value -j=number --threads=number -S=value"
            " --size=value --changed-within=value --changed-before=value --print0",
            "value read*",
            about="`-x`, `-X`, `--exec`, `--exec-batch`, `--base-directory`",
        ),
        "which": KnownProgram(_HELP + "-as --all", "name*"),
        "type": KnownProgram("-afptP", "name*"),
        "whoami": KnownProgram(_HELP),
        "id": KnownProgram(_HELP + "-aGgnruz --groups --group --name --real --user", "name*"),
        "uname": KnownProgram(
            _HELP + "-amnprsvio --all --kernel-name --nodename --kernel-release --machine"
            " --operating-system"
        ),
        "nproc": KnownProgram(_HELP + "--all --ignore=number"),
        "hostname": KnownProgram("-AdfiIs --fqdn --short --all-ip-addresses"),
        "printenv": KnownProgram(_HELP + "-0 --null", "name*"),
        "ps": KnownProgram(
            "-aAdefFjlLTyw --forest --no-headers -o=value -p=value -C=value -u=value -U=value"
            " -g=value -t=value --pid=value --ppid=value --sort=value --user=value --format=value",
            "name*",
        ),
        "free": KnownProgram(_HELP + "-bkmghtw --human --mega --giga --total"),
        "uptime": KnownProgram(_HELP + "-psr --pretty --since"),
    }
)


_GREP: Final = KnownProgram(
    _HELP + "-abcEFGhHiIlLnoPqrRsTUvVwxyzZ -NUM -A=number -B=number -C=number -m=number -d=value"
    " -D=value -e=value -f=read --extended-regexp --fixed-strings --basic-regexp --perl-regexp"
    " --regexp=value --file=read --ignore-case --no-ignore-case --invert-match --word-regexp"
    " --line-regexp --count --color? --colour? --files-without-match --files-with-matches"
    " --max-count=number --only-matching --quiet --silent --no-messages --byte-offset"
    " --with-filename --no-filename --label=value --line-number --initial-tab --null"
    " --after-context=number --before-context=number --context=number --text --null-data"
    " --binary-files=value --devices=value --directories=value --exclude=value --exclude-from=read"
    " --exclude-dir=value --include=value --recursive --dereference-recursive --line-buffered",
    {"": "value read*", "-e": "read*", "-f": "read*", "--regexp": "read*", "--file": "read*"},
)

TEXT: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "grep": _GREP,
        "egrep": _GREP,
        "fgrep": _GREP,
        "rg": KnownProgram(
            _HELP + "-abcFhHiIlLnNoPpqsSuUvVwx0 -NUM -A=number -B=number -C=number -e=value"
            " -f=read -g=value -j=number -m=number -M=number -r=value -t=value -T=value -d=number"
            " --regexp=value --file=read --glob=value --iglob=value --type=value --type-not=value"
            " --type-list --files --hidden --no-hidden --no-ignore --no-ignore-vcs --follow"
            " --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --count"
            " --count-matches --line-number --no-line-number --column --heading --no-heading"
            " --json --only-matching --max-count=number --max-depth=number --max-columns=number"
            " --multiline --multiline-dotall --context=number --after-context=number"
            " --before-context=number --files-with-matches --files-without-match --invert-match"
            " --color=value --colors=value --sort=value --sortr=value --replace=value --quiet"
            " --with-filename --no-filename --text --trim --vimgrep --stats --null --pcre2"
            " --no-config --no-messages --threads=number --ignore-file=read --passthru"
            " --unrestricted --pre=run --hostname-bin=run",
            {
                "": "value read*",
                "-e": "read*",
                "-f": "read*",
                "--regexp": "read*",
                "--file": "read*",
                "--files": "read*",
                "--type-list": "",
            },
            about="`--pre`, `--search-zip`",
        ),
        "sed": KnownProgram(
            _HELP + "-nErsuz -i? --quiet --silent --regexp-extended --separate --unbuffered"
            " --null-data --posix --sandbox --in-place? -l=number -e=sed --expression=sed -f=run"
            " --file=run",
            {
                "-i -e": "output*",
                "-i --expression": "output*",
                "--in-place -e": "output*",
                "--in-place --expression": "output*",
                "-i": "sed output*",
                "--in-place": "sed output*",
                "-e": "read*",
                "--expression": "read*",
                "-f": "read*",
                "--file": "read*",
                "": "sed read*",
            },
            about="commands `e`, `w`, `W`, `r`, `R`, flags `e` and `w`, scripts in files",
        ),
        "awk": KnownProgram(
            _HELP + "-F=value -v=value --field-separator=value --assign=value -f=run --file=run"
            " -e=awk --source=awk -i=run --include=run -l=run --load=run --posix --traditional"
            " --sandbox --csv",
            {"": "awk read*", "-f": "read*", "--file": "read*", "-e": "read*", "--source": "read*"},
            stops=True,
            about="`system`, `getline`, pipes, `print >`, programs in files",
        ),
        "sort": KnownProgram(
            _HELP + "-bdfgiMhnRrVcCmsuz -k=value -t=value -S=value -o=output --output=output"
            " --key=value --field-separator=value --buffer-size=value --parallel=number"
            " --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort"
            " --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort"
            " --sort=value --check? --merge --stable --unique --zero-terminated"
            " --compress-program=run",
            "read*",
            about="`--compress-program`, `--files0-from`",
        ),
        "uniq": KnownProgram(
            _HELP + "-cdDiuz -f=number -s=number -w=number --count --repeated --all-repeated?"
            " --skip-fields=number --ignore-case --skip-chars=number --unique --check-chars=number",
            "read output",
        ),
        "cut": KnownProgram(
            _HELP + "-nsz -b=value -c=value -d=value -f=value --bytes=value --characters=value"
            " --delimiter=value --fields=value --complement --only-delimited"
            " --output-delimiter=value",
            "read*",
        ),
        "tr": KnownProgram(
            _HELP + "-cCdst --complement --delete --squeeze-repeats --truncate-set1", "value value"
        ),
        "wc": KnownProgram(
            _HELP + "-clLmw --bytes --chars --lines --max-line-length --words --total=value",
            "read*",
        ),
        "nl": KnownProgram(
            _HELP + "-p -b=value -d=value -f=value -h=value -i=number -l=number -n=value -s=value"
            " -v=number -w=number",
            "read*",
        ),
        "diff": KnownProgram(
            _HELP + "-abBcdeEiNnpPqrstTuwyZ -NUM -C=number -U=number -W=number -I=value -x=value"
            " -X=read -F=value -L=value --brief --recursive --unified? --context? --new-file"
            " --report-identical-files --side-by-side --width=number --color? --ignore-case"
            " --ignore-all-space --ignore-space-change --ignore-blank-lines --exclude=value"
            " --exclude-from=read --text --minimal --suppress-common-lines --label=value"
            " --strip-trailing-cr --no-dereference --normal --show-c-function",
            "read read",
        ),
        "cmp": KnownProgram(
            _HELP + "-bls -n=value -i=value --print-bytes --verbose --quiet --silent --bytes=value",
            "read read value*",
        ),
        "comm": KnownProgram(_HELP + "-123z --check-order --nocheck-order --total", "read read"),
        "paste": KnownProgram(_HELP + "-sz -d=value --delimiters=value --serial", "read*"),
        "fold": KnownProgram(_HELP + "-bs -w=number --bytes --spaces --width=number", "read*"),
        "jq": KnownProgram(
            _HELP + "-acCehjMnrRsS --raw-output --compact-output --slurp --null-input --raw-input"
            " --sort-keys --exit-status --join-output --tab --indent=number --color-output"
            " --monochrome-output --seq --stream --ascii-output",
            "jq read*",
            about="`-f`, `-L`, `import`, and options that take two values",
        ),
        "echo": KnownProgram("-neE", "value*"),
        "printf": KnownProgram("", "value*", stops=True),
        "true": KnownProgram("", "value*"),
        "false": KnownProgram("", "value*"),
        "seq": KnownProgram(
            _HELP + "-w -NUM -f=value -s=value --equal-width", "number number number"
        ),
        "sleep": KnownProgram(_HELP, "value*"),
        "date": KnownProgram(
            _HELP + "-uRI -d=value --date=value --iso-8601? --rfc-3339=value --utc --universal"
            " -r=read --reference=read",
            "format",
        ),
        "test": KnownProgram(
            "! ( ) -a -b -c -d -e -f -g -h -k -L -n -o -p -r -s -u -w -x -z -ef -nt -ot -eq -ne"
            " -lt -le -gt -ge",
            "value*",
            style=Style.WORDS,
        ),
    }
)


_MODES: Final = ("-c", "--create", "-r", "--append", "-u", "--update", "-A")
_COMPRESS: Final = KnownProgram(
    _HELP + "-cdfhklLnNqrtvV -NUM --stdout --to-stdout --decompress --uncompress --force --keep"
    " --list --no-name --name --quiet --recursive --test --verbose --fast --best -S=name"
    " --suffix=name",
    {"": "write*", "-c": "read*", "--stdout": "read*", "-l": "read*", "-t": "read*"},
)

ARCHIVES: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "tar": KnownProgram(
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
        "zcat": KnownProgram(_HELP + "-fv", "read*"),
        "zip": KnownProgram(
            "-rqvjy0123456789uoX --recurse-paths --quiet -x=value -i=value",
            "write read*",
            about="`-m`, `-T`, `-TT`, `-O`, `-b`",
        ),
        "unzip": KnownProgram(
            "-lvtpZqonjuaLCf1 -d=write -x=value",
            "read value*",
            implies={"": "write"},
            about="`-:`, which lets members leave the directory",
        ),
        "curl": KnownProgram(
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
        "wget": KnownProgram(
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
