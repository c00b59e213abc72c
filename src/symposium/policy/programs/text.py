"""Programs that search, select, and transform text."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.policy.programs.vocabulary import Program, Style

_HELP: Final = "--help --version "

_GREP: Final = Program(
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

TEXT: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "grep": _GREP,
        "egrep": _GREP,
        "fgrep": _GREP,
        "rg": Program(
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
        "sed": Program(
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
        "awk": Program(
            _HELP + "-F=value -v=value --field-separator=value --assign=value -f=run --file=run"
            " -e=awk --source=awk -i=run --include=run -l=run --load=run --posix --traditional"
            " --sandbox --csv",
            {"": "awk read*", "-f": "read*", "--file": "read*", "-e": "read*", "--source": "read*"},
            stops=True,
            about="`system`, `getline`, pipes, `print >`, programs in files",
        ),
        "sort": Program(
            _HELP + "-bdfgiMhnRrVcCmsuz -k=value -t=value -S=value -o=output --output=output"
            " --key=value --field-separator=value --buffer-size=value --parallel=number"
            " --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort"
            " --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort"
            " --sort=value --check? --merge --stable --unique --zero-terminated"
            " --compress-program=run",
            "read*",
            about="`--compress-program`, `--files0-from`",
        ),
        "uniq": Program(
            _HELP + "-cdDiuz -f=number -s=number -w=number --count --repeated --all-repeated?"
            " --skip-fields=number --ignore-case --skip-chars=number --unique --check-chars=number",
            "read output",
        ),
        "cut": Program(
            _HELP + "-nsz -b=value -c=value -d=value -f=value --bytes=value --characters=value"
            " --delimiter=value --fields=value --complement --only-delimited"
            " --output-delimiter=value",
            "read*",
        ),
        "tr": Program(
            _HELP + "-cCdst --complement --delete --squeeze-repeats --truncate-set1", "value value"
        ),
        "wc": Program(
            _HELP + "-clLmw --bytes --chars --lines --max-line-length --words --total=value",
            "read*",
        ),
        "nl": Program(
            _HELP + "-p -b=value -d=value -f=value -h=value -i=number -l=number -n=value -s=value"
            " -v=number -w=number",
            "read*",
        ),
        "diff": Program(
            _HELP + "-abBcdeEiNnpPqrstTuwyZ -NUM -C=number -U=number -W=number -I=value -x=value"
            " -X=read -F=value -L=value --brief --recursive --unified? --context? --new-file"
            " --report-identical-files --side-by-side --width=number --color? --ignore-case"
            " --ignore-all-space --ignore-space-change --ignore-blank-lines --exclude=value"
            " --exclude-from=read --text --minimal --suppress-common-lines --label=value"
            " --strip-trailing-cr --no-dereference --normal --show-c-function",
            "read read",
        ),
        "cmp": Program(
            _HELP + "-bls -n=value -i=value --print-bytes --verbose --quiet --silent --bytes=value",
            "read read value*",
        ),
        "comm": Program(_HELP + "-123z --check-order --nocheck-order --total", "read read"),
        "paste": Program(_HELP + "-sz -d=value --delimiters=value --serial", "read*"),
        "fold": Program(_HELP + "-bs -w=number --bytes --spaces --width=number", "read*"),
        "jq": Program(
            _HELP + "-acCehjMnrRsS --raw-output --compact-output --slurp --null-input --raw-input"
            " --sort-keys --exit-status --join-output --tab --indent=number --color-output"
            " --monochrome-output --seq --stream --ascii-output",
            "jq read*",
            about="`-f`, `-L`, `import`, and options that take two values",
        ),
        "echo": Program("-neE", "value*"),
        "printf": Program("", "value*", stops=True),
        "true": Program("", "value*"),
        "false": Program("", "value*"),
        "seq": Program(_HELP + "-w -NUM -f=value -s=value --equal-width", "number number number"),
        "sleep": Program(_HELP, "value*"),
        "date": Program(
            _HELP + "-uRI -d=value --date=value --iso-8601? --rfc-3339=value --utc --universal"
            " -r=read --reference=read",
            "format",
        ),
        "test": Program(
            "! ( ) -a -b -c -d -e -f -g -h -k -L -n -o -p -r -s -u -w -x -z -ef -nt -ot -eq -ne"
            " -lt -le -gt -ge",
            "value*",
            style=Style.WORDS,
        ),
    }
)
