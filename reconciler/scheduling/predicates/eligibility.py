"""Which nodes satisfy a demand (tolerations, labels, features), remembered by demand and by what nodes have in common."""

from array import array

from reconciler.cluster.nodes.node import HOSTNAME_LABEL, NodeShape
from reconciler.scheduling.effort import Effort
from reconciler.scheduling.node_affinity import affinity_rejection, label_reader, matches, names_host, referenced_keys
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.declared_features import features_rejection
from reconciler.scheduling.predicates.taint_toleration import taint_rejection, unschedulable_rejection, untolerated
from reconciler.scheduling.shapes import Demand, DemandTable
from reconciler.scheduling.verdict import Rejection


class Eligibility:
    """Answers for all nodes at once, as bytes for the kernels. Demands are given by their index.

    A cluster can have as many node shapes as nodes (a label with the instance id is enough), and many demands. So the checks run
    over the distinct sets of taints, and over the distinct values of the labels that a demand names.
    """

    def __init__(self, nodes: NodeTable, demands: DemandTable, effort: Effort) -> None:
        self._nodes = nodes
        self._effort = effort
        self._demands = demands
        self._warnings: dict[tuple[object, ...], int] = {}
        self._warning_of = array("i")
        self._warned: list[NodeShape] = []
        self._labels: list[dict[str, str]] = []
        self._judged: dict[int, _Judged] = {}

    def allowed(self, demand: int) -> bytearray:
        """By node shape: 1 where taints, cordon, features and labels let the pod in. What hangs on a node's name is left
        open."""
        judged = self._of(demand)
        if len(judged.allowed) < len(self._nodes.shapes):
            self._extend(judged)
        return judged.allowed

    def excluded(self, demand: int) -> bytearray | None:
        """By node: 1 where the affinity says no; None when no node's name matters (then `allowed` says it all)."""
        judged = self._of(demand)
        if not judged.names_host:
            return None
        nodes = self._nodes
        self._effort.judge(len(nodes) - len(judged.excluded))
        for node in range(len(judged.excluded), len(nodes)):
            labels = label_reader(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node))
            judged.excluded.append(not matches(judged.demand.selector, judged.demand.terms, labels, nodes.names[node]))
        return judged.excluded

    def drop_to(self, count: int) -> None:
        """Forget the answers for nodes from index `count` on."""
        for judged in self._judged.values():
            del judged.excluded[count:]

    def allows(self, demand: int, node: int) -> bool:
        """Do taints, cordon, features, labels and name of one node let the pod in?"""
        judged = self._judged.get(demand) or self._of(demand)
        if len(judged.allowed) < len(self._nodes.shapes):
            self._extend(judged)
        if not judged.allowed[self._nodes.shape[node]]:
            return False
        if not judged.names_host:
            return True
        excluded = self.excluded(demand)
        return excluded is None or not excluded[node]

    def rejections(self, demand: int, node: int) -> tuple[Rejection, ...]:
        """What NodeAffinity, NodeDeclaredFeatures, NodeUnschedulable and TaintToleration say, in this order."""
        judged, index = self._of(demand), self._nodes.shape[node]
        rejections = judged.rejections.get(index)
        if rejections is None:
            self._effort.judge()
            shape, wanted = self._nodes.shapes[index], judged.demand
            labels = label_reader(shape.labels, self._nodes.hostname(node))
            answers = (
                affinity_rejection(wanted.selector, wanted.terms, labels, self._nodes.names[node]),
                features_rejection(shape, wanted.features),
                unschedulable_rejection(shape, wanted.tolerations),
                taint_rejection(shape, wanted.tolerations),
            )
            rejections = tuple(rejection for rejection in answers if rejection is not None)
            if not judged.names_host:
                judged.rejections[index] = rejections
        return rejections

    def plugins(self, demand: int, flags: memoryview, flag: str) -> list[tuple[str, ...]]:
        """By node, the plugins of `rejections`, and `flag` where `flags` has 1; sorted. As many nodes as there are flags."""
        shapes = self._nodes.shape[: len(flags)]
        if self._of(demand).names_host:
            plugins = [tuple(item.plugin for item in self.rejections(demand, node)) for node in range(len(shapes))]
            return [tuple(sorted((*names, flag))) if flagged else names for names, flagged in zip(plugins, flags, strict=True)]
        allowed, by_shape = self.allowed(demand), {}
        for node, index in enumerate(shapes):
            if index not in by_shape:
                names = () if allowed[index] else tuple(item.plugin for item in self.rejections(demand, node))
                by_shape[index] = (names, tuple(sorted((*names, flag))))
        return [by_shape[index][flagged] for index, flagged in zip(shapes, flags, strict=True)]

    def meets(self, demand: int, node: int, *, taints: bool) -> bool:
        """Do node selector and affinity match the node, and its taints too when they are asked for? Cordons do not matter."""
        judged, index = self._of(demand), self._nodes.shape[node]
        self._effort.add(1)
        if taints and untolerated(self._nodes.shapes[index].taints, judged.demand.tolerations):
            return False
        excluded = self.excluded(demand)
        return self._is_affine(judged, index) if excluded is None else not excluded[node]

    def has_keys(self, keys: tuple[str, ...], node: int) -> bool:
        """Does the node have all these labels?"""
        if not keys:
            return True
        self._effort.add(len(keys))
        labels = self._labels_of(self._nodes.shape[node])
        return all(key in labels or (key == HOSTNAME_LABEL and self._nodes.hostname(node) is not None) for key in keys)

    def _of(self, demand: int) -> "_Judged":
        judged = self._judged.get(demand)
        if judged is None:
            judged = self._judged[demand] = _Judged(self._demands.values[demand])
        return judged

    def _is_affine(self, judged: "_Judged", index: int) -> bool:
        if not judged.keys and judged.demand.terms is None:
            return True
        labels = self._labels_of(index)
        values = tuple(map(labels.get, judged.keys))
        answer = judged.affine.get(values)
        if answer is None:
            self._effort.judge()
            answer = judged.affine[values] = matches(judged.demand.selector, judged.demand.terms, labels.get, "")
        return answer

    def _extend(self, judged: "_Judged") -> None:
        self._learn_warnings()
        self._effort.judge(len(self._warned) - len(judged.tolerated))
        for shape in self._warned[len(judged.tolerated) :]:
            judged.tolerated.append(
                not (shape.taints and untolerated(shape.taints, judged.demand.tolerations))
                and unschedulable_rejection(shape, judged.demand.tolerations) is None
                and features_rejection(shape, judged.demand.features) is None
            )
        start = len(judged.allowed)
        self._effort.add(len(self._nodes.shapes) - start)
        if judged.names_host or (not judged.keys and judged.demand.terms is None):
            judged.allowed.extend(map(judged.tolerated.__getitem__, self._warning_of[start:]))
            return
        for index in range(start, len(self._nodes.shapes)):
            judged.allowed.append(judged.tolerated[self._warning_of[index]] and self._is_affine(judged, index))

    def _learn_warnings(self) -> None:
        for shape in self._nodes.shapes[len(self._warning_of) :]:
            warning = (shape.taints, shape.unschedulable, shape.declared_features)
            index = self._warnings.setdefault(warning, len(self._warned))
            if index == len(self._warned):
                self._warned.append(shape)
            self._warning_of.append(index)

    def _labels_of(self, index: int) -> dict[str, str]:
        for shape in self._nodes.shapes[len(self._labels) :]:
            self._labels.append(dict(shape.labels))
        return self._labels[index]


class _Judged:
    """What is known about one demand. `keys` are the labels that it names."""

    __slots__ = ("affine", "allowed", "demand", "excluded", "keys", "names_host", "rejections", "tolerated")

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.keys = referenced_keys(demand.selector, demand.terms)
        self.names_host = names_host(demand.selector, demand.terms)
        self.allowed = bytearray()
        self.excluded = bytearray()
        self.tolerated: list[bool] = []
        self.affine: dict[tuple[str | None, ...], bool] = {}
        self.rejections: dict[int, tuple[Rejection, ...]] = {}
