"""Whether the nodes that came of a group's template refute what the template promises.

A node that is bought in vain never ends the demand that it was bought for: the pod is still pending, and the next plan buys
again. So what an empty, ready node of the group says counts more than the template.
"""

from functools import cached_property

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.passing_taints import transient
from reconciler.decisions.reasons.amounts import amount_text
from reconciler.decisions.reasons.pods import TemplateRefuted
from reconciler.plan.plan import NodeState

_FACTS = ("NodeAffinity", "TaintToleration")
"""What these say hangs on nothing but the node and the pod."""
_AT_ONCE = ("cpu", "memory")
"""Devices and disks may come later, or be broken on one node."""


class Refutations:
    """Asked about pods that the template of a group accepts."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._empty: dict[int, tuple[int, ...]] = {}
        self._known: dict[tuple[int, int], TemplateRefuted | None] = {}

    def of(self, group: GroupDraft, shape: int) -> TemplateRefuted | None:
        """What an empty node of the group has against a pod of this shape; None without such a node, or where one accepts it."""
        key = (group.position, shape)
        if key not in self._known:
            self._known[key] = self._refuted(group, shape)
        return self._known[key]

    def _refuted(self, group: GroupDraft, shape: int) -> TemplateRefuted | None:
        if group.order is not None and shape in self._draft.zone_minded:
            # Nodes of another zone than the next one's say nothing about it.
            return None
        said = ""
        for node in (nodes := self._empty_nodes(group)):
            objection = self._objection(node, shape)
            if not objection:
                return None
            said = said or objection
        if not nodes:
            return None
        return TemplateRefuted(group=group.group.name, node=self._draft.state.name(nodes[0]), why=said)

    def _objection(self, node: int, shape: int) -> str:
        state = self._draft.state
        said = [rejection.message for rejection in state.verdict(shape, node) if rejection.plugin in _FACTS]
        requests, free = state.pod_shape(shape).requests, self._free(node)
        said.extend(
            f"needs {amount_text(name, requests.get(name))} {name}; {amount_text(name, max(0, free.get(name)))} free"
            for name in _AT_ONCE
            if 0 < requests.get(name) > free.get(name)
        )
        return "; ".join(said)

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
        found = self._empty.get(group.position)
        if found is None:
            found = self._empty[group.position] = tuple(node for node in group.situation.nodes if self._is_witness(group, node))
        return found

    def _is_witness(self, group: GroupDraft, index: int) -> bool:
        node = self._draft.world.nodes[index]
        return (
            index not in self._busy
            and node.ready
            and self._draft.states[index] is NodeState.IN_USE
            and node.name in group.group.made_of_template
            and _is_usable(self._draft.world.node_shapes[node.shape])
        )

    @cached_property
    def _busy(self) -> frozenset[int]:
        """Nodes with a pod that does not go with its node."""
        pods, staying = self._draft.world.pods, self._draft.staying_shapes()
        nodes, shapes = pods.node, pods.shape
        return frozenset(nodes[row] for row in pods.running() if shapes[row] not in staying)


def _is_usable(shape: NodeShape) -> bool:
    return not shape.unschedulable and not any(transient(taint) for taint in shape.taints)
