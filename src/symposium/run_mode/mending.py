"""The dialogue in a session that has no agent yet: waits for it, says what is wrong, tries anew."""

from collections.abc import Sequence
from typing import Final, Protocol

from symposium.run_mode.attending import CONFIG_WORDS, STARTING, attended
from symposium.run_mode.chat_commands import RETRY
from symposium.run_mode.config_menu import NotStartedError
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.trouble import CHOICES, KEPT, STILL, Trouble

NOT_SENT: Final = "What was kept for it will not be sent.\n\n"

_IDLE_WORDS: Final = frozenset({"", "back", "cancel"})
_RETRY_WORDS: Final = RETRY | {"again", "retry"}


class Ward(Protocol):
    """What the dialogue needs of whoever runs it."""

    async def start(self) -> Sequence[str]:
        """Give the session to the chain of the config as it is now; what to tell the user.

        Raises:
            NotStartedError: it cannot be, still or again.
        """
        ...

    async def choose(self, talk: Conversation) -> bool:
        """Open the menu; whether the session has its agent after it."""
        ...

    async def log_in(self, talk: Conversation, word: str) -> bool | None:
        """Log in in the way that a number names, and whether that is done; None for no number."""
        ...

    async def own_answer(self, text: str) -> str | None:
        """What a command of ours says that needs no agent; None for anything else."""
        ...

    def keeps(self) -> bool:
        """Whether a message is kept for the agent."""
        ...

    def forget(self) -> None:
        """Keep nothing any more."""
        ...


async def wait_for_start(talk: Conversation, ward: Ward) -> None:
    """Wait for an agent that takes its time; go on until the session has one."""
    talk.say(STARTING)
    told = await _start(talk, ward, "", is_said=True)
    if told is not None:
        await _mend(talk, ward, told)


async def mend(talk: Conversation, ward: Ward, trouble: Trouble) -> None:
    """Say why there is no agent, and go on until there is."""
    told = trouble.text()
    talk.say(told)
    await _mend(talk, ward, told)


async def _mend(talk: Conversation, ward: Ward, told: str) -> None:
    while True:
        text = await talk.hear()
        word = text.lower()
        if word in CONFIG_WORDS:
            if await ward.choose(talk):
                return
            talk.say(CHOICES)
        elif word in _IDLE_WORDS:
            talk.say(told)
        elif word not in _RETRY_WORDS and (answer := await ward.own_answer(text)) is not None:
            talk.say(f"{answer}\n{CHOICES}")
        elif (is_done := await ward.log_in(talk, word)) is False:
            continue
        else:
            if is_done is None and word not in _RETRY_WORDS:
                talk.keep()
            now = await _start(talk, ward, told, is_said=False)
            if now is None:
                return
            told = now


async def _start(talk: Conversation, ward: Ward, before: str, *, is_said: bool) -> str | None:
    """Try; what is wrong now, or None once the session has its agent."""
    try:
        notes = await attended(talk, ward.start(), ward.own_answer, is_said=is_said)
    except NotStartedError as error:
        told = Trouble(error.message, error.hint).text()
        kept = [KEPT] if ward.keeps() else []
        is_known = told == before and not talk.is_first_turn
        for text in [STILL, *kept, CHOICES] if is_known else [told, *kept]:
            talk.say(text)
        return told
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
