"""What two policies do in situations that the cluster is not in today."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from reconciler.plan.money import difference

SITUATION = "WhatIf"
"""The code of the problem that a plan has if it is not about the cluster as it is."""

MINUTE_SECONDS = 60
UNNAMED = frozenset({"demand-doubled", "half-of-pods-gone", "largest-pods-again", "pods-for-any-node"})
"""The situations whose phrase names nothing of the cluster."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one policy comes to: nodes by group, and how many pods have no node. `per_hour` is the price of the nodes of all
    groups in `currency` (None: no group has a price). Of a steady state, `leaving` is how many nodes leave with each of the first
    plans that remove any. The first of these is made `leaving_after_seconds` after now. `final`: all of it was decided within
    the work budget."""

    nodes: Mapping[str, int]
    waiting: int
    per_hour: str | None = None
    currency: str = ""
    leaving: tuple[int, ...] = ()
    leaving_after_seconds: int | None = None
    final: bool = True


class Compared(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One situation under the policy of main (`before`) and under that of this PR (`after`). `what` is a phrase. `settled`: both
    are steady states; else they are what the next plan asks for."""

    name: str
    what: str
    settled: bool
    before: Outcome
    after: Outcome

    @property
    def differs(self) -> bool:
        """Whether the two policies lead to other sizes, leave another number of pods waiting, or remove nodes at another pace."""
        return bool(self.moved) or self.before.waiting != self.after.waiting or self.only_pace

    @property
    def only_pace(self) -> bool:
        """Whether only how nodes begin to leave differs: how many at a time, or when, by a minute or more."""
        if self.moved or self.before.waiting != self.after.waiting:
            return False
        starts = [side.leaving_after_seconds for side in (self.before, self.after)]
        return (
            self.before.leaving != self.after.leaving or self.later_by_seconds != 0 or (None in starts and starts[0] != starts[1])
        )

    @property
    def later_by_seconds(self) -> int:
        """How much later the first nodes leave under this PR; a difference of less than a minute is none."""
        before, after = self.before.leaving_after_seconds, self.after.leaving_after_seconds
        if before is None or after is None or abs(after - before) < MINUTE_SECONDS:
            return 0
        return after - before

    @property
    def moved(self) -> dict[str, tuple[int | None, int | None]]:
        """The groups with another number of nodes, by name: both sides, None for a policy without the group."""
        names = sorted({*self.before.nodes, *self.after.nodes})
        sizes = {name: (self.before.nodes.get(name), self.after.nodes.get(name)) for name in names}
        return {name: both for name, both in sizes.items() if both[0] != both[1]}

    @property
    def per_hour_change(self) -> Decimal | None:
        """How much more the nodes cost under this PR; None if unknown or in two currencies."""
        same = self.before.currency == self.after.currency
        return difference(self.before.per_hour, self.after.per_hour) if same else None


class WhatIf(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`now` is the cluster as it is: what the next plans ask for, then the steady states. `situations` are those that both
    policies decided, in their order. `not_run` are names of situations for which no work was left. `decisions` is how many plans
    were made for all of them."""

    now: tuple[Compared, Compared]
    situations: tuple[Compared, ...] = ()
    not_run: tuple[str, ...] = ()
    decisions: int = 0

    @property
    def differing(self) -> tuple[Compared, ...]:
        """Those in which the policies differ in another way than now."""
        return tuple(one for one in self.situations if one.differs and not self.as_now(one))

    def as_now(self, one: Compared) -> bool:
        """Whether the policies differ in a situation just as they do now: as many nodes more or fewer of the same groups."""
        return one.differs and not one.only_pace and _change(one) == _change(self.now[one.settled])


def _change(one: Compared) -> tuple[object, ...]:
    moved = {name: (before or 0) - (after or 0) for name, (before, after) in one.moved.items()}
    return moved, one.before.waiting - one.after.waiting
