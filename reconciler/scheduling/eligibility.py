"""Which nodes satisfy a demand (tolerations, node selector, node affinity), remembered by demand and node shape."""

from array import array

from reconciler.cluster.node import HOSTNAME_LABEL, Taint
from reconciler.cluster.pod import Toleration
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.node_affinity import (
    NodeSelector,
    Terms,
    affinity_rejection,
    label_reader,
    matches,
    names_host,
    referenced_keys,
)
from reconciler.scheduling.predicates.taint_toleration import taint_rejection, unschedulable_rejection
from reconciler.scheduling.shapes import Demand
from reconciler.scheduling.verdict import Rejection

_Warning = tuple[tuple[Taint, ...], bool]


class Eligibility:
    """Answers for all nodes at once, as bytes for the kernels.

    A cluster can have as many node shapes as nodes (a label with the instance id is enough), and many demands: what
    is judged is therefore the distinct sets of taints, and the distinct values of the labels that a demand names.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._warnings: dict[_Warning, int] = {}
        self._warning_of = array("i")
        self._labels: list[dict[str, str]] = []
        self._allowed: dict[Demand, bytearray] = {}
        self._excluded: dict[Demand, bytearray] = {}
        self._tolerated: dict[tuple[Toleration, ...], list[int]] = {}
        self._affine: dict[tuple[NodeSelector, Terms], dict[tuple[str | None, ...], bool]] = {}
        self._keys: dict[tuple[NodeSelector, Terms], tuple[str, ...]] = {}
        self._rejections: dict[tuple[Demand, int], tuple[Rejection, ...]] = {}

    def allowed(self, demand: Demand) -> bytearray:
        """By node shape: 1 where taints, cordon and labels let the pod in. What hangs on a node's name is left open."""
        found = self._allowed.get(demand)
        if found is None:
            found = self._allowed[demand] = bytearray()
        if len(found) < len(self._nodes.shapes):
            self._extend(demand, found)
        return found

    def excluded(self, demand: Demand) -> bytearray | None:
        """By node: 1 where the affinity says no; None when no node's name matters (then `allowed` says it all)."""
        _, selector, terms = demand
        if not names_host(selector, terms):
            return None
        found = self._excluded.get(demand)
        if found is None:
            found = self._excluded[demand] = bytearray()
        nodes = self._nodes
        for node in range(len(found), len(nodes)):
            labels = label_reader(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node))
            found.append(not matches(selector, terms, labels, nodes.names[node]))
        return found

    def drop_to(self, count: int) -> None:
        """Forget what was said of nodes from index `count` on."""
        for found in self._excluded.values():
            del found[count:]

    def allows(self, demand: Demand, node: int) -> bool:
        """Do taints, cordon, labels and name of one node let the pod in?"""
        if not self.allowed(demand)[self._nodes.shape[node]]:
            return False
        excluded = self.excluded(demand)
        return excluded is None or not excluded[node]

    def rejections(self, demand: Demand, node: int) -> tuple[Rejection, ...]:
        """What NodeAffinity, NodeUnschedulable and TaintToleration say, in this order; remembered by node shape."""
        tolerations, selector, terms = demand
        index = self._nodes.shape[node]
        found = None if names_host(selector, terms) else self._rejections.get((demand, index))
        if found is None:
            shape, name = self._nodes.shapes[index], self._nodes.names[node]
            labels = label_reader(shape.labels, self._nodes.hostname(node))
            said = (
                affinity_rejection(selector, terms, labels, name),
                unschedulable_rejection(shape, tolerations),
                taint_rejection(shape, tolerations),
            )
            found = self._rejections[demand, index] = tuple(rejection for rejection in said if rejection is not None)
        return found

    def meets(self, demand: Demand, node: int, *, taints: bool) -> bool:
        """Do node selector and affinity match the node, and its taints too when they are asked for? Cordons do not matter."""
        tolerations, selector, terms = demand
        shape = self._nodes.shapes[self._nodes.shape[node]]
        if taints and taint_rejection(shape, tolerations) is not None:
            return False
        if not selector and terms is None:
            return True
        excluded = self.excluded(demand)
        if excluded is not None:
            return not excluded[node]
        return self._is_affine(selector, terms, self._nodes.shape[node])

    def has_keys(self, keys: tuple[str, ...], node: int) -> bool:
        """Does the node have all these labels?"""
        if not keys:
            return True
        labels = self._labels_of(self._nodes.shape[node])
        return all(key == HOSTNAME_LABEL or key in labels for key in keys)

    def _is_affine(self, selector: NodeSelector, terms: Terms, index: int) -> bool:
        keys = self._keys.get((selector, terms))
        if keys is None:
            keys = self._keys[selector, terms] = referenced_keys(selector, terms)
        labels = self._labels_of(index)
        values = tuple(map(labels.get, keys))
        known = self._affine.setdefault((selector, terms), {})
        answer = known.get(values)
        if answer is None:
            answer = known[values] = matches(selector, terms, labels.get, "")
        return answer

    def _extend(self, demand: Demand, found: bytearray) -> None:
        tolerations, selector, terms = demand
        self._learn_warnings()
        tolerated = self._tolerated_by(tolerations)
        start = len(found)
        if names_host(selector, terms) or (not selector and terms is None):
            found.extend(map(tolerated.__getitem__, self._warning_of[start:]))
            return
        for index in range(start, len(self._nodes.shapes)):
            found.append(tolerated[self._warning_of[index]] and self._is_affine(selector, terms, index))

    def _learn_warnings(self) -> None:
        for shape in self._nodes.shapes[len(self._warning_of) :]:
            warning = (shape.taints, shape.unschedulable)
            self._warning_of.append(self._warnings.setdefault(warning, len(self._warnings)))

    def _tolerated_by(self, tolerations: tuple[Toleration, ...]) -> list[int]:
        found = self._tolerated.setdefault(tolerations, [])
        if len(found) < len(self._warnings):
            for index in range(len(self._warning_of)):
                if self._warning_of[index] == len(found):
                    shape = self._nodes.shapes[index]
                    found.append(
                        taint_rejection(shape, tolerations) is None and unschedulable_rejection(shape, tolerations) is None
                    )
        return found

    def _labels_of(self, index: int) -> dict[str, str]:
        for shape in self._nodes.shapes[len(self._labels) :]:
            self._labels.append(dict(shape.labels))
        return self._labels[index]
