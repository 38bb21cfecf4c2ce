"""Whether the nodes from a group's template contradict it.

A node that does not help never ends its demand: the pod is still pending, and the next plan would add another node. So an empty,
ready node of the group counts more than the template. A node that came later and would run the pod counts more than both.
"""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.remembered_refutations import remembered_before
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.passing_taints import starts_with, transient
from reconciler.decisions.reasons.pods import TEMPORARY_TAINT, TemplateRefuted, TemplateRefutedBefore
from reconciler.decisions.situation.evidence import until_seconds
from reconciler.plan.plan import NodeState
from reconciler.scheduling.predicates.dynamic_resources import PLUGIN as DYNAMIC_RESOURCES
from reconciler.scheduling.verdict import Shortage, shortages_text
from reconciler.values.clauses import clauses
from reconciler.values.instant import instant_text

_FACTS = ("NodeAffinity", "TaintToleration")
"""What these say hangs on nothing but the node and the pod."""
_NODES_THAT_PROVE_A_LACK = 2
_AT_ONCE = ("cpu", "memory")
"""Devices and disks may come later, or be broken on one node."""


class Refutations:
    """Asked about pods that the template of a group accepts."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._empty: dict[int, tuple[int, ...]] = {}
        self._known: dict[tuple[int, int], TemplateRefuted | TemplateRefutedBefore | None] = {}

    def of(self, group: GroupDraft, shape: int) -> TemplateRefuted | TemplateRefutedBefore | None:
        """What an empty node of the group has against a pod of this shape, or had when there was one; None: one accepts it."""
        key = (group.position, shape)
        if key not in self._known:
            self._known[key] = self._refuted(group, shape)
        return self._known[key]

    def refutes_any(self, group: GroupDraft, shapes: Iterable[int]) -> bool:
        """Whether it is so for any of these shapes."""
        if not self._draft.memory.refuted and not self._empty_nodes(group):
            return False
        return any(self.of(group, shape) is not None for shape in shapes)

    def refuted_template(self, group: GroupDraft, shape: int) -> TemplateRefuted | None:
        """What an empty node of the group has against a pod of this shape that the group's template accepts."""
        template, seen = group.group.template, self.of(group, shape)
        if template is None or not isinstance(seen, TemplateRefuted):
            return None
        state, mark = self._draft.state, self._draft.state.mark()
        fits = state.fits(shape, state.add_node(f"{group.group.name}-try", template, group.daemons))
        state.undo(mark)
        return seen if fits else None

    def _refuted(self, group: GroupDraft, shape: int) -> TemplateRefuted | TemplateRefutedBefore | None:
        if group.order is not None and shape in self._draft.zone_minded:
            # Nodes of another zone than the next one's say nothing about it.
            return None
        why, silent = "", 0
        for node in (nodes := self._empty_nodes(group)):
            objection, of_devices = self._objection(node, shape), self._devices_objection(group, node, shape)
            if of_devices and not objection and self._lacks_devices(group, node):
                silent += 1
            objection = clauses(text for text in (objection, of_devices) if text)
            if not objection:
                self._draft.refuted[group.position, shape] = None
                return None
            why = why or objection
        if nodes and silent == len(nodes) < _NODES_THAT_PROVE_A_LACK:
            return None
        entry = None if nodes else remembered_before(self._draft, group, shape)
        if not nodes and entry is None:
            return None
        created = (self._draft.world.nodes[node].created_seconds for node in nodes)
        if self._overruled(group, shape, max(created) if entry is None else entry.seen_seconds):
            self._draft.refuted[group.position, shape] = None
            return None
        if entry is not None:
            until = instant_text(until_seconds(entry))
            return TemplateRefutedBefore(group=group.group.name, node=entry.node, why=entry.why, until=until)
        return TemplateRefuted(group=group.group.name, node=self._draft.state.name(nodes[0]), why=why)

    def _overruled(self, group: GroupDraft, shape: int, seen_seconds: int) -> bool:
        """Whether a node that came of the template later would run the pod, if nothing else ran there."""
        return any(
            node.created_seconds > seen_seconds
            and node.ready
            and node.name in group.group.made_of_template
            and not self._objection(index, shape)
            and not self._devices_objection(group, index, shape)
            for index in group.situation.nodes
            for node in (self._draft.world.nodes[index],)
        )

    def _objection(self, node: int, shape: int) -> str:
        state = self._draft.state
        facts = [rejection for rejection in state.verdict(shape, node) if rejection.plugin in _FACTS]
        plugins, messages = [rejection.plugin for rejection in facts], [rejection.message for rejection in facts]
        requests, free = state.pod_shape(shape).requests, self._free(node)
        short = [
            Shortage(name, requests.get(name), free.get(name)) for name in _AT_ONCE if 0 < requests.get(name) > free.get(name)
        ]
        messages += [shortages_text(short)] if short else []
        hint = f" ({TEMPORARY_TAINT})" if plugins == ["TaintToleration"] and len(messages) == 1 else ""
        return clauses(messages) + hint

    def _devices_objection(self, group: GroupDraft, node: int, shape: int) -> str:
        """What the devices that drivers offer on the node have against the pod when nobody uses any of them. What uses them now
        may be a claim of a pod that has just ended."""
        state, template = self._draft.state, group.group.template
        if template is None or not template.devices or not state.asks_for_devices(shape):
            return ""
        offered = self._draft.device_evidence.of_node.get(state.name(node), ())
        mark = state.mark()
        bare = state.add_node(f"{group.group.name}-try", msgspec.structs.replace(template, devices=offered), group.daemons)
        said = [rejection.message for rejection in state.verdict(shape, bare) if rejection.plugin == DYNAMIC_RESOURCES]
        state.undo(mark)
        return clauses(said)

    def _lacks_devices(self, group: GroupDraft, node: int) -> bool:
        """Whether a driver has not come to the node at all, which may be the trouble of this one node."""
        template = group.group.template
        devices = template.devices if template is not None else ()
        return bool(self._draft.device_evidence.lacks(self._draft.state.name(node), devices))

    def _free(self, node: int) -> Resources:
        """What pods can have of a node on which only those run that go with it."""
        state, staying = self._draft.state, self._draft.staying_shapes()
        total = Resources()
        for shape, count in state.bound(node):
            if shape in staying:
                total = total.plus(state.pod_shape(shape).requests, count)
        offered = state.shape_of(node).allocatable
        return Resources.of({name: offered.get(name) - total.get(name) for name in _AT_ONCE})

    def _empty_nodes(self, group: GroupDraft) -> tuple[int, ...]:
        nodes = self._empty.get(group.position)
        if nodes is None:
            nodes = self._empty[group.position] = tuple(node for node in group.situation.nodes if self._is_witness(group, node))
        return nodes

    def _is_witness(self, group: GroupDraft, index: int) -> bool:
        node = self._draft.world.nodes[index]
        return (
            index not in self._draft.busy
            and node.ready
            and self._draft.states[index] is NodeState.IN_USE
            and node.name in group.group.made_of_template
            and _is_usable(self._draft.world.node_shapes[node.shape], group.group.startup_taints)
        )


def _is_usable(shape: NodeShape, startup_taints: Sequence[str]) -> bool:
    """A node that keeps a taint of its start is broken itself: the next one may start well."""
    passing = any(transient(taint) or starts_with(taint.key, startup_taints) for taint in shape.taints)
    return not shape.unschedulable and not passing
