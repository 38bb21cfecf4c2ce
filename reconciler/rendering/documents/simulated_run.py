"""What a run on the embedded cluster came to, as it is printed."""

import msgspec

from reconciler.plan.replay import RunTotals

FORMAT_VERSION = "1.0"


class RunAction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One action of a turn, and what became of it: `state` is Done, Skipped, Refused or Failed."""

    kind: str
    group: str
    from_: int = msgspec.field(name="from")
    to: int
    nodes: tuple[str, ...]
    reason: str
    message: str
    state: str
    code: str
    explanation: str


class RunTurn(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One iteration that did something, or before which something was reported. `joined` and `gone` are nodes, `at_seconds`
    counts from the start."""

    at: str
    at_seconds: int
    summary: str
    actions: tuple[RunAction, ...]
    told: tuple[str, ...]
    joined: tuple[str, ...]
    gone: tuple[str, ...]
    unavailable: str
    violations: tuple[str, ...]


class BrokenRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule that a turn broke: `rule` is its stable name, `object` what it was broken on, `at_seconds` counts from the start."""

    at: str
    at_seconds: int
    rule: str
    object: str
    message: str


class RunDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`run --simulate -o json`: the turns in their order, and what they came to. `unmet` are the expectations of the scenario
    that do not hold at the end."""

    format_version: str = FORMAT_VERSION
    scenario: str
    turns: tuple[RunTurn, ...]
    decisions: int
    actions: int
    summary: RunTotals
    violations: tuple[BrokenRule, ...]
    unmet: tuple[str, ...]
