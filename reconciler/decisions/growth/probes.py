"""Nodes that are added one at a time to learn a label that nobody states: which zone, rack or network the next one gets.

The nodes of a group may differ in a label, as those of a MachineDeployment over several zones do. Then no plan can promise that
a pod with a rule about this label runs on the next node. One with the right value may come all the same. So one node is added
that promises nothing. Its label is read once it is there. If it helps no pod, one more is tried. After two in vain, the group
waits for a day, or for a change of the policy or of the target.

The same helps where the platform keeps the zones of a group even and a pod needs one of them. Each node that comes elsewhere
makes the next one more likely to come there. Up to two are tried for each other zone:
one that makes it even with the rest, and one where the platform chooses.

It also helps where nodes of a group have less than its template, and no source tells which template made them. One such node
counts for five minutes, more of them for a day after the last one. A change of the policy or of the target ends that at once.
Then a probe is added for pods that only the template would run.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.decisions.demand.pod_counts import kind_of
from reconciler.decisions.demand.queue import Queue
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.zones import rejection
from reconciler.decisions.memory import Probe
from reconciler.decisions.reasons.pods import AWAIT, IN_VAIN, NONE, PROBE, LabelUnknown, SizeDoubtful, ZoneNotCertain
from reconciler.decisions.reasons.sizes import Probing
from reconciler.decisions.situation.evidence import FIRST_SECONDS, REMEMBERED_SECONDS, made_of, target_of
from reconciler.scheduling.packing import label_keys
from reconciler.values.instant import instant_text

MOST_IN_VAIN = 2
MOST_REMEMBERED = 100
_MOST_NAMED = 5
_SIZE = "size"
_CLOCKS_DIFFER = 60  # seconds


def probe(draft: Draft, queue: Queue) -> frozenset[str]:
    """Grow by one node where only a label decides that nobody states. Returns the names of the groups. `draft.probes` gets what
    is to be said, by group and shape of pods."""
    by_preference = sorted(draft.groups, key=lambda one: (one.group.tier_rank, one.group.price_micros or 0, one.group.name))
    grown: set[str] = set()
    for shape, count in queue.waiting():
        for group in by_preference:
            unknown = (
                _unknown_label(draft, group, shape) or _unknown_zone(draft, group, shape) or _unknown_size(draft, group, shape)
            )
            if unknown is None:
                continue
            # A size is the same for pods of every kind.
            kind = _SIZE if isinstance(unknown, SizeDoubtful) else kind_of(draft.state.pod_shape(shape))
            step, until = _next_step(draft, group, shape, f"{group.group.target} {kind}", grown)
            if step is PROBE and group.group.name not in grown and group.group.template is not None:
                draft.grow(group, group.group.template, 1)
                grown.add(group.group.name)
                group.reasons.append(Probing(pods=count, labels=unknown.labels).reason())
            draft.probes[group.position, shape] = msgspec.structs.replace(unknown, step=step, until=until)
            if step in (PROBE, AWAIT):
                break
    return frozenset(grown)


def _unknown_label(draft: Draft, group: GroupDraft, shape: int) -> LabelUnknown | None:
    """The label in which the nodes of the group differ, where some value of it would help the pod."""
    seen = list(_possible(draft, group, shape))
    if not seen or not _helps(draft, group, shape, seen):
        return None
    return LabelUnknown(group=group.group.name, labels=_keys(seen), values=_values(seen))


def _unknown_zone(draft: Draft, group: GroupDraft, shape: int) -> ZoneNotCertain | None:
    """Why the zone of the next node is not certain, where one of the next nodes, a node for each zone, may help the pod."""
    template, order, zones = group.group.template, group.order, len(group.group.in_zones)
    if template is None or order is None or group.group.whole or shape not in draft.zone_minded:
        return None
    if not draft.shares.spend(shape, draft.namespace(shape), 2 * zones):
        return None
    first = draft.coming(group)
    landings = [order.landing(number) for number in range(first, first + zones)]
    nodes = dict.fromkeys(node for landing in landings for node in (landing.shape, *landing.others))
    if not any(_runs(draft, group, shape, node) for node in nodes):
        return None
    rejected = rejection(draft, group, template, shape)
    return rejected if isinstance(rejected, ZoneNotCertain) else None


def _unknown_size(draft: Draft, group: GroupDraft, shape: int) -> SizeDoubtful | None:
    """Whether the pod needs a node as the template states it, and the smaller ones have counted for long enough."""
    since, stated, template = group.group.smaller_since, group.group.stated, group.group.template
    if not since or stated is None or template is None or group.group.whole:
        return None
    came = draft.memory.purchases.get(str(group.group.target))
    lasts = FIRST_SECONDS if len(since) == 1 else REMEMBERED_SECONDS
    if came is not None and not came.template:
        # Policy or target have changed since nodes were asked for.
        lasts = 0
    if draft.now_seconds < since[-1] + lasts or not draft.shares.spend(shape, draft.namespace(shape), 2):
        return None
    if _runs(draft, group, shape, template) or not _runs(draft, group, shape, stated):
        return None
    return SizeDoubtful(group=group.group.name)


def _possible(draft: Draft, group: GroupDraft, shape: int) -> Iterator[dict[str, str]]:
    """What the nodes of the group show of labels that matter to the pod and that the template does not state."""
    template = group.group.template
    if template is None or group.order is not None or group.group.whole:
        return
    stated = {key for key, _ in template.labels}
    keys = label_keys((draft.state.pod_shape(shape),), (template,)) - stated - {HOSTNAME_LABEL}
    known = set[tuple[tuple[str, str], ...]]()
    for index in group.situation.nodes if keys else ():
        pairs = tuple(pair for pair in draft.state.shape_of(index).labels if pair[0] in keys)
        if pairs and pairs not in known:
            known.add(pairs)
            yield dict(pairs)


def _helps(draft: Draft, group: GroupDraft, shape: int, seen: Sequence[Mapping[str, str]]) -> bool:
    """Whether the pod would run on a node with some of these labels, and would not without them."""
    template = group.group.template
    if template is None or not draft.shares.spend(shape, draft.namespace(shape), len(seen) + 1):
        return False
    return not _runs(draft, group, shape, template) and any(
        _runs(draft, group, shape, _with_labels(template, labels)) for labels in seen
    )


def _with_labels(template: NodeShape, labels: Mapping[str, str]) -> NodeShape:
    return msgspec.structs.replace(template, labels=tuple(sorted((dict(template.labels) | dict(labels)).items())))


def _runs(draft: Draft, group: GroupDraft, shape: int, node: NodeShape) -> bool:
    mark = draft.state.mark()
    fits = draft.state.fits(shape, draft.state.add_node(f"{group.group.name}-try", node, group.daemons))
    draft.state.undo(mark)
    return fits


def _next_step(draft: Draft, group: GroupDraft, shape: int, key: str, grown: set[str]) -> tuple[str, str]:
    """What happens for the pod in this group, and until when it waits if it does."""
    now = draft.now_seconds
    template = made_of(draft.policy_digest, group.group.facts)
    before = draft.memory.probes.get(key)
    if before is None or before.template != template or now - before.asked_seconds >= REMEMBERED_SECONDS:
        before = Probe(asked_seconds=now, template=template, first_seconds=now)
    most_in_vain = max(MOST_IN_VAIN, 2 * (len(group.group.in_zones) - 1))
    if before.in_vain < most_in_vain:
        # A node of another clock's future did not come for this.
        spans = range(max(before.asked_seconds, 1), now + _CLOCKS_DIFFER)
        came = [node for node in group.situation.nodes if draft.world.nodes[node].created_seconds in spans]
        helped = any(bound == shape for node in came for bound, _ in draft.state.bound(node))
        if came and before.asked_seconds < now:
            in_vain = 0 if helped else before.in_vain + 1
            before = msgspec.structs.replace(before, asked_seconds=now, in_vain=in_vain)
    draft.probed[key] = before
    if before.in_vain >= most_in_vain:
        return IN_VAIN, instant_text(before.asked_seconds + REMEMBERED_SECONDS)
    if draft.growth_stop(group) is not None or group.group.template is None:
        return NONE, ""
    if group.group.name in grown:
        return PROBE, ""
    if draft.coming(group) or group.situation.starting:
        return AWAIT, ""
    if draft.room(group, group.group.template)[0] <= 0:
        return NONE, ""
    draft.probed[key] = msgspec.structs.replace(before, asked_seconds=now)
    return PROBE, ""


def _keys(seen: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({key for labels in seen for key in labels}))


def _values(seen: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    texts = sorted({", ".join(value for _, value in sorted(labels.items())) for labels in seen})
    more = len(texts) - _MOST_NAMED
    return (*texts[:_MOST_NAMED], f"{more} more") if more > 0 else tuple(texts)


def remembered_probes(draft: Draft) -> Mapping[str, Probe]:
    """What to remember: the probes of pods that wait, and those in vain for as long as they count. The oldest give way."""
    digests = {str(group.group.target): made_of(draft.policy_digest, group.group.facts) for group in draft.groups}
    lasting = {
        key: entry
        for key, entry in draft.memory.probes.items()
        if (entry.in_vain or entry.first_seconds < entry.asked_seconds)
        and digests.get(target_of(key)) == entry.template
        and draft.now_seconds - entry.asked_seconds < REMEMBERED_SECONDS
    }
    newest = sorted((lasting | draft.probed).items(), key=lambda item: (-item[1].asked_seconds, item[0]))
    return dict(sorted(newest[:MOST_REMEMBERED]))
