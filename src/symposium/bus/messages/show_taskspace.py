"""`show_taskspace`: all that is known of one taskspace."""

from typing import ClassVar

from msgspec import Struct

from symposium.bus.roles import PEOPLE
from symposium.bus.task_shapes import SnapshotView, TaskLog, TaskView
from symposium.bus.vocabulary import About, Reply, Request, Target


class GuidanceReading(Struct, frozen=True):
    """A text that an agent of the taskspace has read.

    Attributes:
        id: its file name, or the name of a prompt.
        layer: who wrote it; empty for a prompt.
        sha256: the hash of its content at that time.
        at: when it was last read, ISO 8601, UTC.
        count: how often.
    """

    id: str
    layer: str
    sha256: str
    at: str
    count: int


class TaskShown(Reply, frozen=True):
    """One taskspace, its progress and its snapshots, the oldest first.

    Attributes:
        recipe: what its set-up files ask for, each line with its file, and `digest` of all of it.
        guesses: what its lock files suggest, where no file asks for anything; never run unasked.
        guidance: the texts that its agents have read, the first first.
    """

    taskspace: TaskView
    log: tuple[TaskLog, ...]
    snapshots: tuple[SnapshotView, ...]
    recipe: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    digest: str = ""
    guidance: tuple[GuidanceReading, ...] = ()


class ShowTaskspace(Request[TaskShown], frozen=True, kw_only=True):
    """Show a taskspace; that a person has seen its questions is not assumed.

    Attributes:
        log: lines of progress, the newest.
        is_whole: False leaves out its snapshots and its set-up, which git is run for.
    """

    about: ClassVar = About(
        "show_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §6",
    )
    taskspace_uuid: str
    log: int = 50
    is_whole: bool = True
