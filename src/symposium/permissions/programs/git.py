"""Subcommands of git, with the options that run no program and name no other repository."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from symposium.permissions.programs.vocabulary import KnownProgram

_FORMAT: Final = (
    "-NUM -p -u -s -z -w -b -a -R -M? -C? -B? -D -l=number -U=number -S=value -G=value -O=read"
    " --patch --no-patch --stat? --numstat --shortstat --dirstat? --summary --name-only"
    " --name-status --color? --no-color --color-moved? --word-diff? --word-diff-regex=value"
    " --unified=number --patience --minimal --histogram --diff-algorithm=value --raw"
    " --patch-with-stat --compact-summary --abbrev? --full-index --binary --find-renames?"
    " --find-copies? --no-renames --diff-filter=value --ignore-all-space --ignore-space-change"
    " --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --exit-code --check"
    " --function-context -W --pickaxe-all --pickaxe-regex --relative? --text --submodule?"
    " --no-ext-diff --no-textconv --src-prefix=value --dst-prefix=value --no-prefix"
    " --inter-hunk-context=number --output=output --quiet -q"
)
_COMMITS: Final = (
    " -n=number -i -E -F -P --max-count=number --skip=number --since=value --after=value"
    " --until=value --before=value --author=value --committer=value --grep=value --all-match"
    " --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp"
    " --merges --no-merges --first-parent --all --branches? --tags? --remotes? --not"
    " --cherry-pick --cherry-mark --cherry --left-right --left-only --right-only --reflog"
    " --oneline --graph --decorate? --no-decorate --decorate-refs=value --source --date=value"
    " --reverse --topo-order --date-order --author-date-order --simplify-by-decoration"
    " --full-history --ancestry-path --boundary --walk-reflogs -g --follow --log-size -L=value"
    " --pretty=value --pretty? --format=value --abbrev-commit --no-abbrev-commit --show-signature"
    " --notes? --no-notes --no-walk? --count --objects --parents --children --relative-date"
    " -c -m --cc --combined-all-paths --diff-merges=value --no-diff-merges --remerge-diff"
)
_LOG: Final = KnownProgram(_FORMAT + _COMMITS, "revision*", about="`--ext-diff`, `--textconv`")
_MESSAGE: Final = "-m=value --message=value -F=read --file=read"
_PARTS: Final = "--continue --abort --skip --quit -v -q --verbose --quiet "

_COMMANDS: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "status": KnownProgram(
            "-sbvz -u? --short --branch --show-stash --porcelain? --long --verbose"
            " --untracked-files? --ignored? --ignore-submodules? --column? --no-column"
            " --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?",
            "read*",
        ),
        "log": _LOG,
        "show": _LOG,
        "diff": KnownProgram(
            _FORMAT + " --cached --staged --merge-base --ours --theirs --base",
            "revision*",
            about="`--no-index`, `--ext-diff`, `--textconv`",
        ),
        "shortlog": KnownProgram(_COMMITS + " -s -e -w? --summary --numbered --email", "revision*"),
        "reflog": KnownProgram(_COMMITS, "revision*"),
        "blame": KnownProgram(
            "-bcefhlnpstwCM -L=value -S=read --root --since=value --porcelain --line-porcelain"
            " --incremental --date=value --color-lines --color-by-age --abbrev=number"
            " --ignore-rev=value --ignore-revs-file=read --show-name --show-email",
            "revision*",
        ),
        "grep": KnownProgram(
            "-aEFGhHiIlLnPpqrvwWz -NUM -A=number -B=number -C=number -e=value -m=number --cached"
            " --untracked --and --or --not --all-match --count -c --name-only --line-number"
            " --extended-regexp --fixed-strings --perl-regexp --ignore-case --word-regexp --heading"
            " --break --color? --no-color --max-depth=number --show-function --files-with-matches"
            " --recurse-submodules --quiet",
            {"": "value revision*", "-e": "revision*"},
            about="`-O`, `--open-files-in-pager`, `-f`, `--no-index`",
        ),
        "describe": KnownProgram(
            "--tags --all --long --always --dirty? --abbrev=number --match=value --exclude=value"
            " --contains --exact-match --candidates=number --first-parent",
            "revision*",
        ),
        "rev-parse": KnownProgram(
            "-q --verify --quiet --short? --abbrev-ref? --symbolic --symbolic-full-name"
            " --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir"
            " --git-common-dir --is-inside-work-tree --is-bare-repository --branches? --tags?"
            " --remotes? --all",
            "revision*",
        ),
        "rev-list": _LOG,
        "ls-files": KnownProgram(
            "-cdfikmostuvz --cached --deleted --modified --others --ignored --stage --unmerged"
            " --killed --directory --no-empty-directory --exclude-standard --exclude=value -x=value"
            " --full-name --error-unmatch --abbrev? --eol --deduplicate --recurse-submodules",
            "read*",
        ),
        "ls-tree": KnownProgram(
            "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev?", "revision*"
        ),
        "cat-file": KnownProgram("-tspe", "value* revision", about="`--textconv`, `--filters`"),
        "merge-base": KnownProgram("-a --all --octopus --is-ancestor --fork-point", "revision*"),
        "for-each-ref": KnownProgram(
            "--count=number --sort=value --format=value --points-at=value --merged?"
            " --no-merged? --contains? --no-contains? --ignore-case",
            "value*",
        ),
        "show-ref": KnownProgram("-dhqs --head --tags --heads --verify --quiet --hash?", "value*"),
        "name-rev": KnownProgram("--tags --name-only --always --refs=value", "revision*"),
        "count-objects": KnownProgram("-vH --verbose --human-readable"),
        "check-ignore": KnownProgram("-qvn --quiet --verbose --non-matching --no-index", "read*"),
        "version": KnownProgram("--build-options"),
        "branch": KnownProgram(
            "-aDdfilmMcCqrtuv -vv --all --delete --force --move --copy --list --quiet --remotes"
            " --show-current --verbose --track? --no-track --abbrev=number --sort=value"
            " --format=value --merged? --no-merged? --contains? --no-contains? --points-at=value"
            " --color? --no-color --column? --no-column --set-upstream-to=value --unset-upstream",
            "value*",
            about="`--edit-description`",
        ),
        "tag": KnownProgram(
            "-adfl -n? -NUM --annotate --delete --force --list --sort=value --format=value"
            " --contains? --merged? --no-merged? --points-at=value " + _MESSAGE,
            "value*",
            about="`-s`, `-u`, `-v`, which run gpg",
        ),
        "remote": KnownProgram(
            "-v --verbose",
            commands=MappingProxyType(
                {
                    "show": KnownProgram("-n", "remote*"),
                    "get-url": KnownProgram("--push --all", "remote"),
                    "prune": KnownProgram("-n --dry-run", "remote*"),
                }
            ),
            about="`add`, `set-url`",
        ),
        "add": KnownProgram(
            "-nvfuAN --dry-run --verbose --force --update --all --no-all --intent-to-add"
            " --refresh --ignore-errors --ignore-missing --renormalize --chmod=value --sparse",
            "read*",
            about="`-e`, `-p`, `-i`",
        ),
        "commit": KnownProgram(
            "-aqvsnz --all --quiet --verbose --signoff --no-verify --amend --no-edit --allow-empty"
            " --allow-empty-message --dry-run --short --porcelain --branch --only --include -o -i"
            " --no-post-rewrite --status --no-status --author=value --date=value --fixup=value"
            " --squash=value --cleanup=value --trailer=value -C=value --reuse-message=value"
            " --reset-author --no-gpg-sign --untracked-files? " + _MESSAGE,
            "read*",
            about="`-S`, `-e`, `-c`, `-t`, `-p`",
        ),
        "restore": KnownProgram(
            "-SWq -s=value --staged --worktree --source=value --ours --theirs --merge --quiet"
            " --ignore-unmerged --overlay --no-overlay",
            "write*",
        ),
        "checkout": KnownProgram(
            "-qfmdlt -b=value -B=value --quiet --force --detach --track? --no-track --ours --theirs"
            " --merge --orphan=value --guess --no-guess --progress --no-progress",
            "revision*",
            about="`-p`, `--conflict`, `--recurse-submodules`",
        ),
        "switch": KnownProgram(
            "-qfmdt -c=value -C=value --quiet --force --detach --discard-changes --merge --track?"
            " --no-track --create=value --force-create=value --orphan=value --guess --no-guess",
            "revision*",
        ),
        "reset": KnownProgram(
            "-qN --quiet --soft --mixed --hard --merge --keep --intent-to-add --no-refresh",
            "revision*",
        ),
        "rm": KnownProgram("-fnrq --force --dry-run --cached --ignore-unmatch --quiet", "remove*"),
        "mv": KnownProgram("-fknv --force --dry-run --verbose", "remove* write"),
        "clean": KnownProgram(
            "-dfnqxX -e=value --force --dry-run --quiet --exclude=value", "remove*"
        ),
        "stash": KnownProgram(
            "-uakq --include-untracked --all --keep-index --no-keep-index --quiet -m=value"
            " --message=value",
            commands=MappingProxyType(
                {
                    "list": _LOG,
                    "show": KnownProgram(
                        _FORMAT + " --include-untracked --only-untracked", "value*"
                    ),
                    "push": KnownProgram(
                        "-uakqS --include-untracked --all --keep-index --staged --quiet -m=value"
                        " --message=value",
                        "read*",
                    ),
                    "pop": KnownProgram("-q --index --quiet", "value*"),
                    "apply": KnownProgram("-q --index --quiet", "value*"),
                    "drop": KnownProgram("-q --quiet", "value*"),
                    "branch": KnownProgram("", "value*"),
                    "clear": KnownProgram(""),
                }
            ),
            about="`-p`",
        ),
        "fetch": KnownProgram(
            "-aptfqvkn46 --all --prune --prune-tags --tags --no-tags --force --quiet --verbose"
            " --dry-run --depth=number --deepen=number --unshallow --multiple --atomic --append"
            " --progress --no-recurse-submodules --jobs=number -j=number",
            "remote value*",
            about="`--upload-pack`, addresses",
        ),
        "pull": KnownProgram(
            "-rqvnpft --rebase? --no-rebase --ff --ff-only --no-ff --quiet --verbose --prune --tags"
            " --autostash --no-autostash --all --no-edit --stat --no-stat --squash --force"
            " --depth=number",
            "remote value*",
            about="`--upload-pack`, `--strategy`, addresses",
        ),
        "push": KnownProgram(
            "-nqvufd46 --all --tags --follow-tags --dry-run --quiet --verbose --set-upstream"
            " --force --force-with-lease? --force-if-includes --delete --prune --porcelain --atomic"
            " --no-verify --progress --mirror --force-with-lease=value -o=value"
            " --push-option=value",
            "remote value*",
            about="`--receive-pack`, `--exec`, addresses",
        ),
        "merge": KnownProgram(
            "-nqv --no-commit --commit --no-edit --ff --ff-only --no-ff --squash --no-squash"
            " --stat --no-stat --autostash --allow-unrelated-histories --no-verify --signoff "
            + _PARTS
            + _MESSAGE,
            "revision*",
            about="`-s`, `-X`, `-S`, `-e`",
        ),
        "rebase": KnownProgram(
            _PARTS + "-fkmn --onto=value --autostash --no-autostash --autosquash --no-autosquash"
            " --keep-base --fork-point --no-fork-point --force-rebase --root --update-refs"
            " --rebase-merges --stat --no-stat --no-verify --committer-date-is-author-date",
            "revision*",
            about="`-i`, `-x`, `--exec`, `-s`, `-X`",
        ),
        "cherry-pick": KnownProgram(
            _PARTS + "-nxs -m=number --no-commit --signoff --allow-empty --mainline=number --ff"
            " --keep-redundant-commits",
            "revision*",
        ),
        "revert": KnownProgram(
            _PARTS + "-ns -m=number --no-commit --no-edit --signoff --mainline=number", "revision*"
        ),
        "apply": KnownProgram(
            "-3Rvq -p=number -C=number --check --stat --numstat --summary --index --cached --3way"
            " --reverse --verbose --quiet --recount --ignore-whitespace --whitespace=value"
            " --exclude=value --include=value --reject",
            "read*",
            about="`--unsafe-paths`, `--directory`",
        ),
        "init": KnownProgram("-q -b=value --quiet --bare --initial-branch=value", "write*"),
        "clone": KnownProgram(
            "-qvlns --quiet --verbose --local --no-local --no-checkout --bare --mirror -b=value"
            " --branch=value -o=value --origin=value --depth=number --shallow-since=value"
            " --single-branch --no-single-branch --no-tags -j=number --jobs=number --progress"
            " --filter=value --sparse",
            "clone write",
            about="`-u`, `--upload-pack`, `-c`, `--template`, `--recurse-submodules`",
        ),
        "worktree": KnownProgram(
            commands=MappingProxyType(
                {
                    "list": KnownProgram("-vz --porcelain --verbose"),
                    "prune": KnownProgram("-nv --dry-run --verbose --expire=value"),
                    "add": KnownProgram(
                        "-fdq -b=value -B=value --force --detach --checkout --no-checkout --lock"
                        " --quiet --track --no-track --guess-remote",
                        "write value",
                    ),
                    "remove": KnownProgram("-f --force", "remove"),
                }
            )
        ),
        "config": KnownProgram(
            "-lz --list --get --get-all --get-regexp --show-origin --show-scope --name-only"
            " --local --global --system --null --bool --int",
            {"": "run*", "--get": "value*", "--get-all": "value*", "--get-regexp": "value*"},
            about="everything that sets a value",
        ),
    }
)

GIT: Final[Mapping[str, KnownProgram]] = MappingProxyType(
    {
        "git": KnownProgram(
            "-v -h -P -p -C=enter --version --help --no-pager --paginate --no-optional-locks"
            " --no-replace-objects --literal-pathspecs --glob-pathspecs --icase-pathspecs"
            " --no-lazy-fetch -c=run --exec-path=run",
            commands=_COMMANDS,
            stops=True,
            about="`-c`, `--git-dir`, `--work-tree`, `--exec-path`, subcommands not listed",
        )
    }
)
