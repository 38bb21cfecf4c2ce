"""What is worth fixing in the sizes, machine types and reserves of groups."""

from collections import defaultdict
from collections.abc import Iterator

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.new_node import ACCELERATOR_LABELS
from reconciler.decisions.groups.similar_groups import size_difference
from reconciler.decisions.limits import NODES, Refusal, amount_of
from reconciler.decisions.reasons.sizes import LimitReached, PlatformBound, RoomTaken, SpendingLimitReached
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Limit
from reconciler.policy.values.label_selector import selector_matches
from reconciler.values.plural import count_text
from reconciler.values.quantity import amount_text

LEAST_TENANTS = 4


def capacity_findings(view: View) -> Iterator[Finding]:
    """All of them, in no order."""
    yield from _reserved_slot(view)
    yield from _limit_below_groups(view)
    yield from _mixed_sizes(view)
    yield from _other_size_than_template(view)
    yield from _accelerator_of_a_limit(view)
    yield from _on_demand_base(view)
    yield from _group_a_tenant(view)
    yield from _outside_platform(view)


def _reserved_slot(view: View) -> Iterator[Finding]:
    """The target replaces a node that was stopped, and the machine that comes takes the slot in the reserve that it left."""
    draft = view.draft()
    for group in draft.groups:
        down = [index for index in group.situation.nodes if view.states[index] is NodeState.UNREADY]
        if not down:
            continue
        _, full = draft.limits.room(group.group, view.world.node_shapes[view.world.nodes[down[0]].shape], 1)
        what = _used_up(full)
        if what:
            names = tuple(view.world.nodes[index].name for index in down)
            yield Finding(
                code="ReservedSlotAtRisk",
                object=f"NodeGroup {group.group.name}",
                message=f"{count_text(len(names), 'node')} not ready, and {what} is used up: "
                "a replacement would occupy that place permanently",
                advice="before you start the machine again, hold the group and stop what keeps its desired count",
                nodes=names,
            )


def _used_up(refusal: Refusal | None) -> str:
    """What has nothing left at all; empty where a smaller node might still be added."""
    match refusal:
        case RoomTaken():
            return refusal.room
        case LimitReached() if refusal.used >= refusal.max:
            return f"limit {refusal.limit}"
        case SpendingLimitReached() if refusal.used_micros >= refusal.max_micros:
            return f"limit {refusal.limit}"
        case _:
            return ""


def _limit_below_groups(view: View) -> Iterator[Finding]:
    """A quota of the provider, written as a limit, below what the groups may grow to: some maximum can never be reached."""
    for limit in view.policy.policy.limits:
        for name, highest in limit.max:
            if name == NODES:
                continue
            most = sum(
                group.max_size * amount_of(group, group.template, name)
                for group in view.groups
                if group.template is not None and _counts(limit, group)
            )
            if most > highest:
                yield Finding(
                    code="LimitBelowGroups",
                    object=f"limit {limit.name}",
                    message=f"it allows {amount_text(name, highest)} {name}, its groups may grow to {amount_text(name, most)}",
                    advice="raise the limit (and the quota behind it), or lower size.max of the groups",
                )


def _counts(limit: Limit, group: EffectiveGroup) -> bool:
    labels = dict(group.template.labels) if group.template is not None else {}
    return (limit.groups is None or selector_matches(limit.groups, dict(group.labels))) and (
        limit.nodes is None or selector_matches(limit.nodes, labels)
    )


def _member_shapes(view: View, position: int) -> list[NodeShape]:
    nodes = [view.world.nodes[index] for index in view.members.members[position]]
    return [view.world.node_shapes[shape] for shape in sorted({node.shape for node in nodes if node.ready})]


def _mixed_sizes(view: View) -> Iterator[Finding]:
    """Machine types of one group that differ in cpu, memory or devices: nobody can say what the next node offers."""
    for position, group in enumerate(view.groups):
        possible = group.facts.template.sizes if group.facts is not None else ()
        sizes = sorted({shape.capacity for shape in _member_shapes(view, position)}.union(possible))
        broken = next((text for size in sizes[1:] if (text := size_difference(sizes[0], size))), "")
        if broken:
            yield Finding(
                code="MixedSizes",
                object=f"NodeGroup {group.name}",
                message=f"its nodes have {len(sizes)} sizes: {broken}",
                advice="use machine types of one size in a group, and a group for each size",
            )


def _other_size_than_template(view: View) -> Iterator[Finding]:
    """Nodes that are smaller than what the group is taken to offer leave pods without a place; larger ones are paid in vain."""
    for position, group in enumerate(view.groups):
        if group.stated is None:
            continue
        offered = _taken_to_have(group.stated)
        differ: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for index in view.members.members[position]:
            node = view.world.nodes[index]
            size = view.world.node_shapes[node.shape].capacity
            if node.ready and (broken := size_difference(offered, size)):
                differ[broken, _less(size, offered)].append(node.name)
        for (broken, small), names in sorted(differ.items()):
            have = "has" if len(names) == 1 else "have"
            yield Finding(
                code="SmallerThanTemplate" if small else "LargerThanTemplate",
                object=f"NodeGroup {group.name}",
                message=f"{count_text(len(names), 'node')} {have} a size that differs from the template: {broken}",
                advice="pods may not fit on new nodes: set template.capacity to the least of all machine types"
                if small
                else "you pay for larger machines, but plans do not use the difference: use machine types of one size",
                nodes=tuple(names),
            )


def _taken_to_have(template: NodeShape) -> Resources:
    """The capacity of a new node, but at least what `explain group` says it offers to pods. The existing nodes show the offer;
    the capacity may be only the platform's assumption for any node."""
    known = dict(template.allocatable.items())
    return Resources.of(known | {name: max(amount, known.get(name, 0)) for name, amount in template.capacity.items() if amount})


def _less(one: Resources, other: Resources) -> bool:
    return any(one.get(name) < amount for name, amount in other.items())


def _accelerator_of_a_limit(view: View) -> Iterator[Finding]:
    """A limit that selects nodes by an accelerator type that no node has counts nothing, so too many nodes are added."""
    shapes = [*view.world.node_shapes, *(group.template for group in view.groups if group.template is not None)]
    for limit in view.policy.policy.limits:
        for key, value in limit.nodes.match_labels if limit.nodes is not None else ():
            known = sorted({accelerator for shape in shapes if (accelerator := shape.label(key))})
            if key in ACCELERATOR_LABELS and value not in known:
                there = f"there are {', '.join(known)}" if known else "no node carries that label"
                yield Finding(
                    code="AcceleratorTypeUnknown",
                    object=f"limit {limit.name}",
                    message=f"no node or template has {key}={value}, {there}: the limit counts nothing",
                    advice="write the value that the nodes have, or select by another label",
                )


def _on_demand_base(view: View) -> Iterator[Finding]:
    """On-demand and spot machines in one group: which of them a new node is decides the cloud, and a drain may take either."""
    for group in view.groups:
        if group.facts is not None and group.facts.on_demand_base:
            yield Finding(
                code="OnDemandBase",
                object=f"NodeGroup {group.name}",
                message=f"its first {count_text(group.facts.on_demand_base, 'machine')} are on demand, the others spot",
                advice="use one group for on-demand and one for spot machines, as tiers, with a taint on the spot nodes",
            )


def _group_a_tenant(view: View) -> Iterator[Finding]:
    """Groups of one size that differ in the value of one taint only: each team packs its own nodes, and none of them well."""
    tenants: dict[tuple[Resources, str, str], dict[str, str]] = defaultdict(dict)
    for group in view.groups:
        for taint in group.template.taints if group.template is not None else ():
            if group.template is not None and taint.value:
                tenants[group.template.capacity, taint.key, taint.effect][taint.value] = group.name
    for (_, key, _), groups in sorted(tenants.items()):
        if len(groups) >= LEAST_TENANTS:
            yield Finding(
                code="GroupPerTenant",
                object=f"NodeGroupPolicy {view.policy.policy.name}",
                message=f"{', '.join(sorted(groups.values()))} differ only in the value of taint {key}",
                advice="share larger groups, and separate teams that trust each other by namespace, requests and limits",
            )


def _outside_platform(view: View) -> Iterator[Finding]:
    """A size of the policy that the platform refuses, so that it is never reached."""
    for group in view.groups:
        for reason in group.reasons:
            if reason.code == PlatformBound.code:
                yield Finding(
                    code=PlatformBound.code,
                    object=f"NodeGroup {group.name}",
                    message=reason.message,
                    advice="change the bound of the target itself, or write the effective size into the policy",
                )
