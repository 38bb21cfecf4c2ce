"""What became of a saved plan."""

import msgspec

FORMAT_VERSION = "1.0"


class WhyNot(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that stood against an action: a stable code and a sentence."""

    code: str
    message: str


class AppliedAction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One action of the saved plan. `state` is Done, Skipped, Refused or Failed. A removal or replacement is Done once its nodes
    have left, and Failed if a node stays. `plannedTo` is the size in the saved plan. `to` is the size that was written or would
    have been. `later`: an additional iteration did it, after a first one adopted or wrote the target and read it back."""

    kind: str
    group: str
    target: str
    from_: int = msgspec.field(name="from")
    to: int
    planned_to: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    state: str
    later: bool = False
    reasons: tuple[WhyNot, ...] = ()


class ApplyDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`plan` is the digest of the saved plan, `decision` that of the decision of now, `unavailable` why it stopped early.

    `complete`: all of the plan was done. `happened` are sentences about what came of it: how each drain ended; on a simulated
    cluster everything until steady state.
    """

    format_version: str = FORMAT_VERSION
    plan: str
    decision: str
    planned_at: str
    now: str
    cluster: str
    policy: str
    complete: bool
    actions: tuple[AppliedAction, ...] = ()
    happened: tuple[str, ...] = ()
    unavailable: str = ""
