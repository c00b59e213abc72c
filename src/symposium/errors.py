"""Errors of the host that a user reads.

SymposiumError
├── SpecError          a SPEC names no component
├── BadValueError      a given value cannot be used
├── NotFoundError      a file, a directory, or a session does not exist
├── AgentTimeoutError  an answer did not come within the given time
├── StepError          a request to an agent failed; has the reason
├── ConfigError        the config file cannot be used (config/user_config.py)
│   └── ConfigChangedError   it has changed since it was read
├── SourceError        the source of a component is invalid (config/component_source.py)
├── PolicyError        policy.toml cannot be used (permissions/verdict.py)
└── SettingsError      an editor's settings cannot be changed (config/editor_settings.py)
"""

from localio.errors import ExplainedError


class SymposiumError(ExplainedError):
    """Something that the user can fix."""


class SpecError(SymposiumError):
    """A SPEC names no component."""


class BadValueError(SymposiumError):
    """A given value cannot be used."""


class NotFoundError(SymposiumError):
    """A named thing does not exist."""


class AgentTimeoutError(SymposiumError):
    """An answer did not come in time."""


class StepError(SymposiumError):
    """A request to an agent failed.

    Attributes:
        step: its method, such as `session/new`.
        reason: the error instead of its result.
    """

    def __init__(self, step: str, reason: Exception) -> None:
        self.step = step
        self.reason = reason
        super().__init__(f"{step}: {reason}", "")
