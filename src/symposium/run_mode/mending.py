"""Dialog in a session without an agent: wait for it, show the problem, and try again."""

from collections.abc import Sequence
from typing import Final, Protocol

from symposium.run_mode.attending import CONFIG_WORDS, STARTING, attended
from symposium.run_mode.chat_commands import RETRY
from symposium.run_mode.config_menu import NotStartedError
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.trouble import CHOICES, KEPT, STILL, Trouble

NOT_SENT: Final = "Your saved message will not be sent.\n\n"

_IDLE_WORDS: Final = frozenset({"", "back", "cancel"})
_RETRY_WORDS: Final = RETRY | {"again", "retry"}


class Ward(Protocol):
    """The session, as the dialog needs it."""

    async def start(self) -> Sequence[str]:
        """Start the agent of the current config; return messages for the user.

        Raises:
            NotStartedError: it does not start.
        """
        ...

    async def choose(self, talk: Conversation) -> bool:
        """Open the menu; return whether the session has an agent afterwards."""
        ...

    async def log_in(self, talk: Conversation, word: str) -> bool | None:
        """Log in by the method with this number; return success, or None for no number."""
        ...

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command that needs no agent; None for anything else."""
        ...

    def keeps(self) -> bool:
        """Whether a message is saved for the agent."""
        ...

    def forget(self) -> None:
        """Drop the saved message."""
        ...


async def wait_for_start(talk: Conversation, ward: Ward) -> None:
    """Wait for a slow agent; continue until the session has one."""
    talk.say(STARTING)
    problem = await _start(talk, ward, "", is_said=True)
    if problem is not None:
        await _mend(talk, ward, problem)


async def mend(talk: Conversation, ward: Ward, trouble: Trouble) -> None:
    """Show why there is no agent; continue until there is one."""
    problem = trouble.text()
    talk.say(problem)
    await _mend(talk, ward, problem)


async def _mend(talk: Conversation, ward: Ward, problem: str) -> None:
    while True:
        text = await talk.hear()
        word = text.lower()
        if word in CONFIG_WORDS:
            if await ward.choose(talk):
                return
            talk.say(CHOICES)
        elif word in _IDLE_WORDS:
            talk.say(problem)
        elif word not in _RETRY_WORDS and (answer := await ward.own_answer(text)) is not None:
            talk.say(f"{answer}\n{CHOICES}")
        elif (is_done := await ward.log_in(talk, word)) is False:
            continue
        else:
            if is_done is None and word not in _RETRY_WORDS:
                talk.keep()
            now = await _start(talk, ward, problem, is_said=False)
            if now is None:
                return
            problem = now


async def _start(talk: Conversation, ward: Ward, before: str, *, is_said: bool) -> str | None:
    """Try to start; return the problem, or None once the session has an agent."""
    try:
        notes = await attended(talk, ward.start(), ward.own_answer, is_said=is_said)
    except NotStartedError as error:
        problem = Trouble(error.message, error.hint).text()
        kept = [KEPT] if ward.keeps() else []
        is_known = problem == before and not talk.is_first_turn
        for text in [STILL, *kept, CHOICES] if is_known else [problem, *kept]:
            talk.say(text)
        return problem
    match notes:
        case "config":
            if await ward.choose(talk):
                return None
            talk.say(CHOICES)
            return before or CHOICES
        case "cancel":
            talk.say(f"{NOT_SENT}{CHOICES}" if ward.keeps() else CHOICES)
            ward.forget()
            return before or CHOICES
        case _:
            for note in notes:
                talk.say(note)
            return None
