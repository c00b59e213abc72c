"""What set-up files ask for, put to a person: each content is a question of its own (users B-3)."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from localio.text import exact
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.daemon.tasks.setup_trust import SetUpTrust
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.setting_up import DECLINED, UNTRUSTED
from symposium.taskspaces.setup_files.recipe import SetUp

TRUST_KIND: Final = "trust"

DIGITS: Final = 32
"""Of the digest in an id: too many for anybody to make two set-ups that share them."""

REMEMBERED: Final = 100
"""Questions of which it can be told what has changed since."""

_TRUST_CHOICES: Final = (
    InboxChoice("trust", "Do it, now and whenever it is exactly this"),
    InboxChoice("without", "Go on without it"),
)


class SetUpQuestions:
    """Asks what may be done, and does what is answered.

    Args:
        engine: the taskspaces.
        trust: what the user trusts.
    """

    def __init__(self, engine: Engine, trust: SetUpTrust) -> None:
        self._engine = engine
        self._trust = trust
        self._shown: OrderedDict[str, Sequence[str]] = OrderedDict()

    async def of(self, taskspace: Taskspace) -> list[InboxItem]:
        """What a taskspace asks for that nobody has judged; at most one item.

        Also where it is trusted by now: it waits until it is done.

        Raises:
            TaskspaceError: its project cannot be opened.
        """
        reason = taskspace.reason
        if taskspace.standing is not Standing.READY:
            return []
        if UNTRUSTED not in reason and DECLINED not in reason:
            return []
        recipe = await self._engine.recipe(taskspace.id)
        lines = shown_lines(recipe)
        if UNTRUSTED not in reason and (not lines or recipe.digest == taskspace.declined):
            return []
        id_ = _id(taskspace.id, recipe)
        self._remember(id_, lines)
        return [
            InboxItem(
                id_,
                TRUST_KIND,
                taskspace.id,
                taskspace.name,
                taskspace.activated_at,
                "\n".join([_head(reason, lines), *lines]),
                _TRUST_CHOICES,
            )
        ]

    async def answer(self, item: InboxItem, answer: str) -> Taskspace:
        """Do what was answered, for exactly what the item has shown.

        Raises:
            BusRefusedError: the files ask for something else by now.
            ExplainedError: it cannot be written down, or tried.
        """
        recipe = await self._engine.recipe(item.taskspace)
        if _id(item.taskspace, recipe) != item.id:
            raise self._changed(item.id, shown_lines(recipe))
        declined = None if answer == TRUST_KIND else recipe.digest
        if declined is None:
            taskspace = await self._engine.get(item.taskspace)
            self._trust.grant(taskspace.project, recipe)
        # It reads the files once more, and goes by this answer only if it is about that content.
        made = await self._engine.retry(item.taskspace, declined=declined)
        if UNTRUSTED in made.reason:
            raise self._changed(item.id, shown_lines(await self._engine.recipe(made.id)))
        return made

    async def gone(self, item_id: str, waiting: Sequence[InboxItem]) -> BusRefusedError:
        """Why there is no item of an id (any more)."""
        kind, _, rest = item_id.partition(":")
        taskspace = rest.rpartition(":")[0] or rest
        if kind == TRUST_KIND and any(
            (e.kind, e.taskspace) == (TRUST_KIND, taskspace) for e in waiting
        ):
            return self._changed(item_id, shown_lines(await self._engine.recipe(taskspace)))
        return BusRefusedError(f"nothing called {item_id} waits", "not_found")

    def _changed(self, item_id: str, now: Sequence[str]) -> BusRefusedError:
        before = self._shown.get(item_id)
        text = "its set-up files ask for something else by now, and nothing was done"
        came = [f"+ {line}" for line in now if before is None or line not in before]
        went = [f"- {line}" for line in before or () if line not in now]
        order = [] if came or went else ["the same lines in another order"]
        mend = "look at all of it with `symposium inbox` and answer that"
        return BusRefusedError("\n".join([f"{text}:", *went, *came, *order, mend]), "changed")

    def _remember(self, id_: str, lines: Sequence[str]) -> None:
        self._shown.pop(id_, None)
        self._shown[id_] = lines
        while len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)


def shown_lines(recipe: SetUp) -> list[str]:
    """All that would be done, each on a line of its own with the file that asks for it."""
    return [
        f"{each.source}  {kind}: {exact(line)}"
        for each in recipe.recipes
        for kind, line in each.lines()
    ]


def _id(taskspace: str, recipe: SetUp) -> str:
    return f"{TRUST_KIND}:{taskspace}:{recipe.digest[:DIGITS]}"


def _head(reason: str, lines: Sequence[str]) -> str:
    if not lines:
        return "its set-up files ask for nothing any more; it has not been started yet"
    if UNTRUSTED in reason:
        return "its set-up files ask for this; nothing of it was done, and it waits for your answer"
    return "its set-up files have changed since you went on without them, and ask for this"
