"""What git says of a session's directory, without running anything that stands in it."""

from pathlib import Path

from symposium.diffs.git import GitError, open_repository
from symposium.timelines.digest import Workplace


async def look_at(directory: Path) -> Workplace:
    """Branch, and what differs from the last commit; unknown where git cannot say."""
    try:
        repository = await open_repository(directory)
        branch = (await repository.told("branch", "--show-current")).strip()
        tracked = await repository.ask("diff", "--stat", "HEAD", "--")
        new = await repository.told("ls-files", "--others", "--exclude-standard")
    except GitError:
        return Workplace("", None)
    if tracked.code:
        # No commit yet: everything that is there is new.
        return Workplace(branch, new)
    listed = "".join(f" {name} | new\n" for name in new.splitlines())
    return Workplace(branch, tracked.text + listed)
