"""The order in which nodes are examined for removal, and where the next plan continues after the work ran out."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups.similar_groups import OFF, balance_difference, ignored_labels
from reconciler.decisions.reasons.kept_nodes import (
    MovesLater,
    NodeNotExamined,
)
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.keeps import (
    OF_REMOVALS,
    PLAN,
    SEARCH,
    TAKEOVER,
    rules_asked_by,
)
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import RemovalReason

NOT_EXAMINED = NodeNotExamined().blocker()
MOVES_LATER = MovesLater().blocker()
FIRST = (RemovalReason.ENDING, RemovalReason.REPAIRED)
RULES_OF = {asker: rules_asked_by(OF_REMOVALS, asker) for asker in (PLAN, SEARCH, TAKEOVER)}


def in_order(draft: Draft, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Empty nodes come first, because they cost no work. The next keys are the longest wait, so that the choice is stable from
    plan to plan, the highest price, and the lowest utilization. Among equal nodes of groups that balance, the largest group loses
    a node first, and within it the fullest zone. Names break ties.

    If the last plan ran out of work, nodes with pods start at the first one that it did not examine (`Memory.examine_next`).
    Those before it come last. So several plans together examine every node.
    """
    ranked = sorted([(_rank(draft, candidate), candidate) for candidate in candidates], key=itemgetter(0))
    order = _evenly(draft, ranked)
    names = [draft.world.nodes[candidate.index].name for candidate in order]
    empty = sum(not candidate.moving for candidate in order)
    first = names.index(draft.memory.examine_next) if draft.memory.examine_next in names[empty:] else empty
    return [*order[:empty], *order[first:], *order[empty:first]]


def stopped_at(draft: Draft, order: Iterable[Candidate], blockers: Mapping[int, tuple[Blocker, ...]]) -> str:
    """The first node in order that was not examined, by name; empty where all were. `blockers` by node."""
    return next((draft.world.nodes[one.index].name for one in order if NOT_EXAMINED in blockers[one.index]), "")


_Rank = tuple[bool, int, int, int, str]


def _rank(draft: Draft, candidate: Candidate) -> _Rank:
    group, name = candidate.group, draft.world.nodes[candidate.index].name
    price = (group.group.price_micros or 0) if group is not None else 0
    since = draft.memory.unneeded_since.get(name, draft.now_seconds + 1)
    return bool(candidate.moving), since, -price, candidate.utilization_permille or 0, name


def _evenly(draft: Draft, ranked: Sequence[tuple[_Rank, Candidate]]) -> list[Candidate]:
    """The same order, but equal candidates of one family leave its groups and zones evenly. They share the positions that they
    had, so that nothing else moves."""
    families, group_of = _families(draft), draft.members.group_of
    equals: dict[tuple[object, ...], list[int]] = {}
    order = [candidate for _, candidate in ranked]
    for position, (rank, candidate) in enumerate(ranked):
        family = families.get(group_of[candidate.index])
        if family is not None:
            equals.setdefault((family, *rank[:-1]), []).append(position)
    sizes = {position: group.desired for position, group in enumerate(draft.groups)}
    zone_of_shape = [shape.label(ZONE_LABEL) or "" for shape in draft.world.node_shapes]
    places = [(group_of[index], zone_of_shape[node.shape]) for index, node in enumerate(draft.world.nodes)]
    zones = Counter(place for place, state in zip(places, draft.states, strict=True) if state is not NodeState.LEAVING)
    even = list(order)
    for positions in equals.values():
        waiting: dict[tuple[int, str], deque[Candidate]] = {}
        for position in positions:
            waiting.setdefault(places[order[position].index], deque()).append(order[position])
        if len(waiting) == 1:
            ((group, zone),) = waiting
            sizes[group] -= len(positions)
            zones[group, zone] -= len(positions)
            continue
        for position in positions:
            place = min(waiting, key=lambda one: (-sizes[one[0]], -zones[one], draft.world.nodes[waiting[one][0].index].name))
            even[position] = waiting[place].popleft()
            if not waiting[place]:
                del waiting[place]
            sizes[place[0]] -= 1
            zones[place] -= 1
    return even


def _families(draft: Draft) -> dict[int, int]:
    """For each group the first one with which the policy balances it, by position; a group that balances with none has itself."""
    ignored = ignored_labels(draft.policy)
    families: dict[int, int] = {}
    balanced = list[int]()
    for position, group in enumerate(draft.groups):
        families[position] = position
        if group.group.balance_with == OFF:
            continue
        alike = (other for other in balanced if balance_difference(draft.groups[other].group, group.group, ignored) == "")
        families[position] = next(alike, position)
        if families[position] == position:
            balanced.append(position)
    return families
