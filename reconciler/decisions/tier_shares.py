"""Shares of tiers: at least so many of the nodes of all tiers are of one tier, whatever a plan adds or removes.

Nodes count, as instances do in a mixed Auto Scaling group. Requested nodes count from the plan that requests them. Nodes that
leave, failed requests, and nodes of groups without a tier do not count. The bound is exact: n of N nodes hold a share of p% if
100 n >= p N. So with 30%, 3 of 10 nodes suffice, and of 11 nodes it takes 4.

A `Replace` counts as what it leads to: its new node is there, and the nodes that it names are not.
"""

from collections.abc import Collection, Iterator

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.reasons.kept_nodes import KeptByShare
from reconciler.policy.documents import Tier


class ShareShort(msgspec.Struct, frozen=True, kw_only=True):
    """The tier at `rank` has too few nodes: `missing` more of so many nodes as there are would do."""

    rank: int
    tier: Tier
    nodes: int
    total: int

    @property
    def needed(self) -> int:
        """How many of the nodes are to be of this tier."""
        return _needed(self.tier, self.total)

    @property
    def missing(self) -> int:
        """How many of them are not."""
        return self.needed - self.nodes


class TierShares:
    """The nodes of each tier, kept up to date while a plan adds and removes nodes."""

    def __init__(self, tiers: tuple[Tier, ...]) -> None:
        self._tiers = tiers
        self._bound = tuple(rank for rank, tier in enumerate(tiers) if tier.share_percent)
        self._nodes = [0] * len(tiers)
        self._total = 0

    def count(self, group: EffectiveGroup, nodes: int = 1) -> None:
        """Add `nodes` nodes of a group (negative: take away)."""
        if group.tier:
            self._nodes[group.tier_rank] += nodes
            self._total += nodes

    def shortages(self) -> Iterator[ShareShort]:
        """The tiers that have less than their share, in their order."""
        yield from self._shortages(self._bound, self._total)

    def missing(self) -> int:
        """How many nodes all tiers lack together."""
        return sum(short.missing for short in self.shortages())

    def first_short(self, group: EffectiveGroup, nodes: int, but: Collection[int]) -> ShareShort | None:
        """The first tier that would have less than its share if a group of another tier grew by `nodes`. Tiers of the ranks `but`
        are passed over."""
        if not group.tier or not self._bound:
            return None
        ranks = tuple(rank for rank in self._bound if rank != group.tier_rank and rank not in but)
        return next(self._shortages(ranks, self._total + nodes), None)

    def keeps(self, group: EffectiveGroup, others: int = 0) -> KeptByShare | None:
        """What keeps a node of a group, if its tier would have less than its share without it and `others` of the same tier."""
        tier = self._tiers[group.tier_rank] if group.tier and group.tier_rank in self._bound else None
        if tier is None:
            return None
        nodes, total = self._nodes[group.tier_rank] - others, self._total - others
        if nodes - 1 >= _needed(tier, total - 1):
            return None
        return KeptByShare(tier=tier.name, percent=tier.share_percent, nodes=nodes, total=total)

    def _shortages(self, ranks: tuple[int, ...], total: int) -> Iterator[ShareShort]:
        for rank in ranks:
            tier, nodes = self._tiers[rank], self._nodes[rank]
            if nodes < _needed(tier, total):
                yield ShareShort(rank=rank, tier=tier, nodes=nodes, total=total)


def _needed(tier: Tier, total: int) -> int:
    """How many of so many nodes hold the share, rounded up."""
    return -(-total * tier.share_percent // 100)
