"""`check_budget`: whether an agent may go on spending."""

from typing import ClassVar

from symposium.bus.roles import AGENTS, PEOPLE
from symposium.bus.vocabulary import About, Reply, Request, Target


class BudgetChecked(Reply, frozen=True):
    """How far the budget is spent, of the taskspace or of one that it descends from."""

    is_over: bool
    text: str


class CheckBudget(Request[BudgetChecked], frozen=True, kw_only=True):
    """Add up what a taskspace and those around it have spent; at 80 % its log says so."""

    about: ClassVar = About(
        "check_budget",
        sent_by=PEOPLE | AGENTS,
        target=Target.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="users B-12",
    )
    taskspace_uuid: str
