"""What the new nodes of a plan are for, to be compared with what comes of them (`situation.evidence`)."""

from collections import Counter
from collections.abc import Mapping

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Pledge
from reconciler.decisions.situation.evidence import UNANSWERED_SECONDS, made_of


def pledges(draft: Draft) -> Mapping[str, Pledge]:
    """By target that grows, or that an unanswered write may have grown. Zones count where the plan relies on them: a pod that
    minds the zone is on the node, and the node comes there for certain."""
    grown = [group for group in draft.groups if group.desired > group.situation.current]
    open_zones = draft.elsewhere() if any(group.order is not None for group in grown) else {}
    unanswered = {
        target: pledge
        for target, pledge in draft.memory.pledges.items()
        if draft.now_seconds - pledge.asked_seconds < UNANSWERED_SECONDS
    }
    return unanswered | {
        str(group.group.target): Pledge(
            asked_seconds=draft.now_seconds,
            to=group.desired,
            nodes=group.desired - group.situation.current,
            zones=dict(sorted(_zones(draft, group, open_zones).items())),
            template=made_of(draft.policy_digest, group.group.facts),
        )
        for group in sorted(grown, key=lambda one: str(one.group.target))
    }


def _zones(draft: Draft, group: GroupDraft, open_zones: Mapping[int, object]) -> Counter[str]:
    zones = Counter[str]()
    if group.order is None:
        return zones
    for node in group.new_nodes:
        zone = draft.state.shape_of(node).label(ZONE_LABEL)
        if zone and node not in open_zones and any(shape in draft.zone_minded for shape, _ in draft.state.bound(node)):
            zones[zone] += 1
    return zones
