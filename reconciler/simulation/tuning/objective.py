"""What counts as better: how much less of each figure, each relative to what the policy of today comes to."""

from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum

import msgspec

from reconciler.plan.tuning import DemandFigures

MILLION = 1_000_000
CHANGE_PPM = 5_000
"""What each changed value must be worth: half a percent. Of two equal gains, the one with fewer changes wins."""


class Term(StrEnum):
    """What may count."""

    COST = "cost"  # what nodes cost; their hours where no node has a price
    WAIT = "wait"  # the time of all pods without a node
    EVICTIONS = "evictions"
    CHANGES = "changes"  # nodes bought and removed


_LEAST = {Term.COST: 100, Term.WAIT: 60, Term.EVICTIONS: 1, Term.CHANGES: 1}
"""Less than this in a period counts as this much, so that nothing is compared with zero. That is a cent (or 100 node seconds), a
pod minute, one eviction, one node. `cost` is in hundredths of a cent."""
_LOSS = 10
"""Without leave to trade, a loss counts ten times."""
_WORSE_PPM = 10_000


class Objective(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of terms. `trades`: a gain in one may pay for a loss in another one, at these weights."""

    weights: tuple[tuple[Term, int], ...] = ((Term.COST, 1), (Term.WAIT, 1))
    trades: bool = False

    def losses(self, today: Sequence[DemandFigures], tried: Sequence[DemandFigures]) -> tuple[Term, ...]:
        """Terms that are worse by more than a hundredth over the same periods; none where one may pay for the other."""
        return () if self.trades else tuple(term for term, _ in self.weights if -_gain(term, today, tried) > _WORSE_PPM)

    def gain_ppm(self, today: Sequence[DemandFigures], tried: Sequence[DemandFigures], changes: int) -> int:
        """How much better a policy is over the same periods, in millionths, less what its changes must be worth."""
        return sum(weight * _gain(term, today, tried) for term, weight in self.weights) - changes * CHANGE_PPM

    def worth_ppm(self, ratios_ppm: Sequence[int], changes: int) -> int:
        """By what a search prefers a policy: its gain, in which losses count more if nothing may get worse. `ratios_ppm` are the
        terms relative to today."""
        gains = ((weight, MILLION - ratio) for (_, weight), ratio in zip(self.weights, ratios_ppm, strict=True))
        loss = 1 if self.trades else _LOSS
        return sum(weight * gain * (loss if gain < 0 else 1) for weight, gain in gains) - changes * CHANGE_PPM

    def gains_ppm(self, today: Sequence[DemandFigures], tried: Sequence[DemandFigures]) -> tuple[int, ...]:
        """The gain of each period, relative to the mean of today."""
        return tuple(
            sum(weight * _gain(term, today, (other,), (own,)) for term, weight in self.weights)
            for own, other in zip(today, tried, strict=True)
        )


def amount(term: Term, figures: DemandFigures) -> int:
    """What a term is in one period; the less, the better."""
    match term:
        case Term.COST:
            return figures.node_seconds if figures.cost is None else int(Decimal(figures.cost) * 10_000)
        case Term.WAIT:
            return figures.unplaced_pod_seconds
        case Term.EVICTIONS:
            return figures.evictions
        case Term.CHANGES:
            return figures.grown_nodes + figures.removed_nodes


def ratio_ppm(term: Term, today: Sequence[DemandFigures], tried: Sequence[DemandFigures]) -> int:
    """That of a policy over that of today, in millionths."""
    return MILLION - _gain(term, today, tried)


def _gain(
    term: Term, today: Sequence[DemandFigures], tried: Sequence[DemandFigures], compared: Sequence[DemandFigures] = ()
) -> int:
    """How much less of a term than `compared` (without it: than `today`), relative to the mean of today in as many periods."""
    norm = sum(max(_LEAST[term], amount(term, one)) for one in today)
    less = sum(amount(term, one) for one in compared or today) - sum(amount(term, one) for one in tried)
    return MILLION * less * len(today) // (norm * len(tried))
