"""Who else belongs to a process: what must not stay behind when it ends."""

from pathlib import Path


def processes_of_session(leader: int) -> list[int]:
    """The processes of a terminal session, its leader left out; none where /proc is not there."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        # The name of a program may hold blanks and brackets: fields begin behind its last one.
        fields = stat.rpartition(")")[2].split()
        if int(fields[3]) == leader and int(entry.name) != leader:
            found.append(int(entry.name))
    return found
