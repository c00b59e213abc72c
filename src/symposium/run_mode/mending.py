"""The dialogue in a session whose agent does not start: says why, and tries anew."""

from collections.abc import Sequence
from typing import Final, Protocol

from symposium.run_mode.chat_commands import CONFIG
from symposium.run_mode.config_menu import NotStartedError
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.trouble import CHOICES, KEPT, STILL, Trouble

_CONFIG_WORDS: Final = CONFIG | {"config"}
_IDLE_WORDS: Final = frozenset({"", "back", "cancel"})
_RETRY_WORDS: Final = frozenset({"again", "retry"})


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
        """What a command of ours that only shows something says; None for anything else."""
        ...


async def mend(talk: Conversation, ward: Ward, trouble: Trouble) -> None:
    """Go on until the session has its agent."""
    told = trouble.text()
    talk.say(told)
    while True:
        text = await talk.hear()
        word = text.lower()
        if word in _CONFIG_WORDS:
            if await ward.choose(talk):
                return
            talk.say(CHOICES)
        elif word in _IDLE_WORDS:
            talk.say(told)
        elif (answer := await ward.own_answer(text)) is not None:
            talk.say(f"{answer}\n{CHOICES}")
        elif (is_done := await ward.log_in(talk, word)) is False:
            continue
        else:
            is_kept = is_done is None and word not in _RETRY_WORDS and talk.keep()
            try:
                notes = await ward.start()
            except NotStartedError as error:
                before, told = told, Trouble(error.message, error.hint).text()
                kept = [KEPT] if is_kept else []
                for text in [STILL, *kept, CHOICES] if told == before else [told, *kept]:
                    talk.say(text)
                continue
            for note in notes:
                talk.say(note)
            return
