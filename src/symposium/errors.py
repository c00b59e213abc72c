"""What the host says to people when something is wrong.

SymposiumError
├── SpecError        what was written as SPEC names no component
├── BadValueError    a value that was given cannot be taken as it is
├── NotFoundError    a file, a directory or a session is not there
├── PatienceError    an answer did not come within the time that was asked for
├── StepError        a step of a conversation with an agent failed; carries the reason
├── ConfigError      the config file cannot be used as it is (config/user_config.py)
│   └── ConfigChangedError   it is not what was read
├── SourceError      what names a component's source does not (config/component_source.py)
├── PolicyError      policy.toml cannot be used (policy/verdict.py)
└── SettingsError    an editor's settings cannot be changed (editors/receipt.py)
"""

from localio.errors import ExplainedError


class SymposiumError(ExplainedError):
    """Something that the user can fix."""


class SpecError(SymposiumError):
    """What was written to name a component names none."""


class BadValueError(SymposiumError):
    """A value that was given cannot be taken as it is."""


class NotFoundError(SymposiumError):
    """What was named does not exist."""


class AgentTimeoutError(SymposiumError):
    """The answer did not come in time."""


class StepError(SymposiumError):
    """A step of a conversation failed.

    Attributes:
        step: the method that was asked, as in `session/new`.
        reason: what came instead of its result.
    """

    def __init__(self, step: str, reason: Exception) -> None:
        self.step = step
        self.reason = reason
        super().__init__(f"{step}: {reason}", "")
