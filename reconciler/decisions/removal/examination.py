"""In which order nodes are examined for their removal, and where a plan goes on whose forerunner ran out of work."""

from collections.abc import Iterable, Mapping

from reconciler.decisions.draft import Draft
from reconciler.decisions.reasons.kept_nodes import NodeNotExamined
from reconciler.decisions.removal.candidates import Candidate
from reconciler.plan.reason import Blocker

NOT_EXAMINED = NodeNotExamined().blocker()


def in_order(draft: Draft, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Empty nodes first, which cost no work; then those waiting longest (so that the choice does not change from plan to plan),
    the dearest, the least used; ties by name.

    Where the last plan ran out of work, nodes with pods come from the first one on that it did not examine
    (`Memory.examine_next`), those before it last: together such plans examine every node, and none of them starts over.
    """
    order = sorted(candidates, key=lambda candidate: _rank(draft, candidate))
    names = [draft.world.nodes[candidate.index].name for candidate in order]
    empty = sum(not candidate.moving for candidate in order)
    first = names.index(draft.memory.examine_next) if draft.memory.examine_next in names[empty:] else empty
    return [*order[:empty], *order[first:], *order[empty:first]]


def stopped_at(draft: Draft, order: Iterable[Candidate], blockers: Mapping[int, tuple[Blocker, ...]]) -> str:
    """The first node in order that was not examined, by name; empty where all were. `blockers` by node."""
    return next((draft.world.nodes[one.index].name for one in order if NOT_EXAMINED in blockers[one.index]), "")


def _rank(draft: Draft, candidate: Candidate) -> tuple[bool, int, int, int, str]:
    group, name = candidate.group, draft.world.nodes[candidate.index].name
    price = (group.group.price_micros or 0) if group is not None else 0
    since = draft.memory.unneeded_since.get(name, draft.now_seconds + 1)
    return bool(candidate.moving), since, -price, candidate.utilization_permille or 0, name
