"""Run mode in a third-party editor, as the user sees it: Toad, from its PyPI package."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.e2e.conftest import run_or_skip
from tests.e2e.run_mode_setup import PEERS, RunModeMachine, opencode, set_up_machine
from tests.e2e.terminal import TMUX, Terminal, is_shown, terminal
from tests.e2e.transcript import SLOW, Transcript

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(TMUX is None, reason="no tmux here; on Debian: apt-get install tmux"),
]

VERSION = "0.6.20"
TOAD = PEERS / "py" / "toad" / "bin" / "toad"
SIZE = (112, 88)
EMPTY = "How can I help you today?"
"""Text in the input line while it is empty."""

SIGN = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
"""Sign before typed text."""


class Toad:
    """User of Toad."""

    def __init__(self, screen: Terminal, transcript: Transcript) -> None:
        self.transcript = transcript
        self._terminal = screen
        self._wanted: list[tuple[str, str]] = []
        self._title, self._is_fresh = "", True
        self._line = ""
        self._first = ""

    def scene(self, title: str) -> None:
        """Start the next part."""
        self._title, self._is_fresh = title, True
        self.transcript.scene(title)

    def shows(self, *words: str) -> None:
        """Wait until all of it is shown, and record the screen."""
        self._take(self._terminal.shows(*words), words)

    def say(self, line: str, *words: str) -> None:
        """Type a line and send it; wait until all of it is shown below."""
        self._terminal.until(lambda screen: EMPTY in screen and "Send" in screen.splitlines()[-1])
        self._terminal.type(line)
        self._typed(line)
        self._terminal.until(lambda screen: EMPTY not in screen and is_shown(screen, line))
        self._terminal.press("Enter")
        self.answers(*words)

    def slash(self) -> None:
        """Type a slash, and record the completions of Toad."""
        self._terminal.until(lambda screen: EMPTY in screen and "Send" in screen.splitlines()[-1])
        self._terminal.type("/")
        offered = self._terminal.shows("fuzzy search", "/review", "/symposium:agents")
        self.transcript.add(_offers(offered))

    def choose(self, name: str, *words: str) -> None:
        """Choose a command from the completions, and send it; wait until all of it is shown."""
        self._terminal.type(name)
        self._typed(f"/{name}")
        self._terminal.shows("/symposium:config", "Configure Symposium settings")
        self._terminal.press("Enter")
        self._terminal.until(
            lambda screen: f"{SIGN} /{name}" in screen and "Send" in screen.splitlines()[-1]
        )
        self._terminal.press("Enter")
        self.answers(*words)

    def answers(self, *words: str) -> None:
        """Wait until all of it is shown below the last prompt, and record the screen."""

        def is_said(screen: str, each: str) -> bool:
            # The typed text is shown, too: it contains the answer of the scripted model.
            return is_shown(_below(screen), each, more_than_in=self._line)

        done = self._terminal.until(
            lambda screen: EMPTY in screen and all(is_said(screen, each) for each in words)
        )
        self._take(done, words)

    def notified(self, words: str) -> None:
        """Wait for a notification of Toad, which disappears soon."""
        self._terminal.shows(words)

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._terminal.press(*keys)

    def check(self) -> None:
        """Compare the page with the screens, which differ a little between runs."""
        self.transcript.write_if_asked()
        shown = self.transcript.shown()
        for title, words in self._wanted:
            assert is_shown(shown[title], words), f"{title}: {words}"

    def _take(self, screen: str, words: tuple[str, ...]) -> None:
        self._wanted += [(self._title, each) for each in words]
        self.transcript.replace(_conversation(screen, self._first))

    def _typed(self, line: str) -> None:
        self._line = line
        if self._is_fresh:
            self._first, self._is_fresh = line, False


def _below(screen: str) -> str:
    """Return the text below the last prompt; the last prompt sign is that of the input line."""
    return screen.rpartition(SIGN)[0].rpartition(SIGN)[2]


def _conversation(screen: str, first: str) -> str:
    """Return the text from this line on, without the bar at the side and the names of keys."""
    lines = [line.partition("▎")[2] for line in screen.splitlines() if "▎" in line[:41]]
    spoken = [line.partition("▌")[2].rstrip("▁▂▃▄▅▆▇█ ") for line in lines if "▌" in line[:4]]
    if not spoken:
        # Toad asks on a separate screen.
        return "\n".join(line for line in screen.splitlines() if line.strip(" ▊▎▔▁"))
    begins = [at for at, line in enumerate(spoken) if f"{SIGN} {first[:20]}" in line]
    return "\n".join(spoken[begins[-1] if first and begins else 0 :]).strip("\n")


def _offers(screen: str) -> str:
    """Return the names of the offered commands."""
    words = [line.partition("▎")[2].split() for line in screen.splitlines()]
    return "\n".join(line[0] for line in words if line and line[0].startswith("/"))


@pytest.fixture
def machine(peers_folder: Path, model: str) -> Iterator[RunModeMachine]:
    opencode(peers_folder)
    # Toad shows the numbers of a table if no word in it is wider than the screen.
    with TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as folder:
        yield set_up_machine(Path(folder) / "s", peers_folder, model)


@pytest.fixture
def toad(machine: RunModeMachine) -> Iterator[Toad]:
    if not TOAD.exists():
        uv = str(Path(sys.executable).with_name("uv"))
        folder = str(TOAD.parents[1])
        run_or_skip([uv, "venv", "--clear", "--python", "3.14", folder], "Python 3.14, for Toad,")
        named = f"batrachian-toad=={VERSION}"
        run_or_skip([uv, "pip", "install", "--python", folder, "--native-tls", named], "Toad")
    environment = {
        name: value for name, value in machine.environment.items() if name not in {"CI", "NO_COLOR"}
    }
    command = [str(TOAD), "acp", machine.host, str(machine.work), "--title", "Symposium"]
    # The path of a socket must be short, unlike the paths of tests.
    with terminal(command, environment, SIZE) as screen:
        yield Toad(screen, Transcript("toad.md", machine.places))


@pytest.mark.requirement("stories.strangers-toad")
def test_toad_works_from_no_config_to_a_restarted_agent(
    toad: Toad, machine: RunModeMachine
) -> None:
    _first_run(toad, machine)
    _tools_and_menu(toad, machine)
    _cancel_and_death(toad, machine)
    toad.check()


def _first_run(it: Toad, machine: RunModeMachine) -> None:
    it.scene("First start")
    it.shows("Welcome to Symposium!", "1 OpenCode Found at", "to leave.")
    it.scene("The agent is chosen")
    it.say(f"FAKE read {machine.work}/notes.txt ;; FAKE final That is what it says.", "to leave.")
    it.say("1", "Current Configuration", "remove X - Remove a mod")
    assert not machine.config.exists()
    it.scene("The first message is answered")
    it.say("SAVE", "That is what it says.")
    assert machine.config.stat().st_mode & 0o777 == 0o600
    assert machine.starts() == 1


def _tools_and_menu(it: Toad, machine: RunModeMachine) -> None:
    it.scene("A tool that asks first")
    it.say(f"FAKE write {machine.work}/new.txt by Toad ;; FAKE final Written.")
    it.shows("Approval request", "by Toad", "Reject once")
    it.press("a")
    it.scene("It was allowed")
    it.answers("Written.")
    assert (machine.work / "new.txt").read_text(encoding="utf-8") == "by Toad"

    before = machine.config.read_bytes()
    it.scene("What a slash offers")
    it.slash()
    it.scene("The menu, and away from it")
    it.choose("symposium:config", "Current Configuration", "remove X - Remove a mod")
    it.say("CANCEL", "Returning to your session.")
    assert machine.config.read_bytes() == before


def _cancel_and_death(it: Toad, machine: RunModeMachine) -> None:
    it.scene("A turn that is cancelled")
    it.say(SLOW, "Soon")
    it.press("Escape")
    it.press("Escape")
    it.notified("Turn cancelled")
    it.say("FAKE say Here.", "Here.")
    assert machine.starts() == 1

    it.scene("The agent is killed in a turn")
    it.say(SLOW, "Soon")
    machine.kill_agent()
    it.answers("was killed by SIGKILL", "Failed to send prompt")
    it.scene("It is there again")
    it.say("FAKE say Alive.", "Alive.")
    assert machine.starts() == 2
