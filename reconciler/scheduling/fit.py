"""Each pending pod alone against the cluster as it stands: what every filter plugin says of every node."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial

import msgspec

from reconciler.cluster import defects
from reconciler.cluster.world import World
from reconciler.scheduling.devices.special_claims import with_left_over_claims
from reconciler.scheduling.filters import NOT_MODELLED
from reconciler.scheduling.predicates.dynamic_resources import PLUGIN as DYNAMIC_RESOURCES
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection
from reconciler.values.defect import defect_text

DEFAULT_SCHEDULER = "default-scheduler"
_KEPT_ANSWERS = 16


class NodeFit(msgspec.Struct, frozen=True):
    """One node; it fits when nothing rejects it. Rejections are sorted by plugin, each plugin once."""

    node: str
    rejections: tuple[Rejection, ...]


class PodFit(msgspec.Struct, frozen=True):
    """One pod (`namespace/name`) and all nodes by name. Pods with equal answers share one tuple."""

    pod: str
    nodes: tuple[NodeFit, ...]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which pods and nodes are asked about. Empty: all of them. Patterns as a shell has them; a pod is named with its namespace
    or without. `groups` are names of targets: no policy is read here."""

    pods: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def about_pod(self, key: str) -> bool:
        """Whether the pod `namespace/name` is asked about."""
        namespace, _, name = key.partition("/")
        wanted = any(fnmatchcase(key if "/" in pattern else name, pattern) for pattern in self.pods)
        return (wanted or not self.pods) and (not self.namespaces or _any_match(namespace, self.namespaces))

    def about_node(self, name: str, target: str = "") -> bool:
        """Whether the node of this target is asked about."""
        return (not self.nodes or _any_match(name, self.nodes)) and (not self.groups or _any_match(target, self.groups))


def begun(world: World, asked: Asked) -> Asked:
    """The same with each name of a pod that no pod has as the beginning of names. Patterns stay as they are."""
    pods = world.pods
    keys = [pods.key(pod) for pod in range(len(pods))] if any(map(_is_name, asked.pods)) else []
    whole = {*keys, *(key.partition("/")[2] for key in keys)}
    patterns = tuple(f"{name}*" if _is_name(name) and name not in whole else name for name in asked.pods)
    return msgspec.structs.replace(asked, pods=patterns)


def _is_name(pattern: str) -> bool:
    return bool(pattern) and not any(character in pattern for character in "*?[")


def targets_of_nodes(world: World) -> dict[str, str]:
    """Node -> the name of the target that its machine belongs to; nodes without one are left out."""
    return {machine.node: machine.target.name for machine in world.machines if machine.node and machine.target is not None}


def _any_match(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


EVERYTHING = Asked()


def fit(world: World, *, messages: bool = True, asked: Asked = EVERYTHING) -> Iterator[PodFit]:
    """Every chosen pod without a node that is neither terminating nor finished, by (namespace, name).

    Nominated pods count as in kube-scheduler (framework `RunFilterPluginsWithNominatedPods`). A node must take the pod as it is,
    and also with the promised pods of equal or higher priority. Without `messages`, rejections name only their plugin, which
    takes a fraction of the time.
    """
    world = with_left_over_claims(world)

    def questions() -> _Question:
        return defects.judged(world, lambda some: _Question(some, asked, messages=messages))

    question, pods = questions(), world.pods
    for pod in range(len(pods)):
        if pods.node[pod] >= 0 or pod in pods.unknown_node or pods.deletion_seconds[pod] or pods.finished(pod):
            continue
        if asked.about_pod(pods.key(pod)):
            try:
                nodes = question.nodes(pod)
            except defects.CAUGHT as error:
                # One pod that cannot be judged: the others are, by a state that nothing was left in.
                question = questions()
                nodes = question.unknown(Rejection(NOT_MODELLED, defect_text(error)))
            yield PodFit(pods.key(pod), nodes)


class _Question:
    """Answers by pod shape; pods that follow each other are mostly alike, so that a few answers are kept, not all."""

    def __init__(self, world: World, asked: Asked, *, messages: bool) -> None:
        self._world = world
        self._messages = messages
        self._state = SchedulingState(world, devices=True)
        targets = targets_of_nodes(world) if asked.groups else {}
        names = [self._state.name(node) for node in range(self._state.node_count)]
        self._chosen = [node for node, name in enumerate(names) if asked.about_node(name, targets.get(name, ""))]
        self._nominated = _nominated(world, self._state)
        self._promised = {pod for pods in self._nominated.values() for pod in pods}
        self._answers: dict[tuple[int, int], tuple[NodeFit, ...]] = {}
        self._bare: dict[tuple[str, ...], tuple[Rejection, ...]] = {}

    def nodes(self, pod: int) -> tuple[NodeFit, ...]:
        shape = self._world.pods.shape[pod]
        # A pod's own nomination does not count against it, so that a nominated pod has an answer of its own.
        key = (shape, pod if pod in self._promised else -1)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) == _KEPT_ANSWERS:
                del self._answers[next(iter(self._answers))]
            self._state.count_promises(partial(self._is_crowded, shape, key[1]))
            answer = self._answers[key] = tuple(
                NodeFit(self._state.name(node), self._with_promised(rejections, shape, key[1], node))
                for node, rejections in zip(self._chosen, self._as_it_stands(shape), strict=True)
            )
        return answer

    def unknown(self, why: Rejection) -> tuple[NodeFit, ...]:
        """All nodes for a pod of which nothing is known."""
        return tuple(NodeFit(self._state.name(node), (why,)) for node in self._chosen)

    def _as_it_stands(self, shape: int) -> Iterator[tuple[Rejection, ...]]:
        state = self._state
        if self._messages:
            yield from (state.verdict(shape, node) for node in self._chosen)
            return
        rejecting = list(state.rejecting_plugins(shape))
        for names in (rejecting[node] for node in self._chosen):
            if names not in self._bare:
                self._bare[names] = tuple(Rejection(name, "") for name in names)
            yield self._bare[names]

    def _with_promised(self, rejections: tuple[Rejection, ...], shape: int, own: int, node: int) -> tuple[Rejection, ...]:
        promised = self._promised_to(shape, own, node)
        if not promised:
            return rejections
        known = {rejection.plugin for rejection in rejections}
        more = [
            Rejection(rejection.plugin, f"{rejection.message} (with the pods promised to the node)")
            for rejection in self._state.verdict_with(shape, node, promised)
            if rejection.plugin not in known
        ]
        return tuple(sorted((*rejections, *more)))

    def _promised_to(self, shape: int, own: int, node: int) -> list[int]:
        """Shapes of the pods that count before a pod of this shape on a node."""
        shapes, column = self._world.pod_shapes, self._world.pods.shape
        return [
            column[pod]
            for pod in self._nominated.get(node, ())
            if pod != own and shapes[column[pod]].priority >= shapes[shape].priority
        ]

    def _is_crowded(self, shape: int, own: int, node: int) -> bool:
        """Does another plugin than DynamicResources reject the pod, with the pods that are promised to the node?"""
        promised = self._promised_to(shape, own, node)
        with_them = self._state.verdict_with(shape, node, promised) if promised else ()
        return any(rejection.plugin not in (DYNAMIC_RESOURCES, NOT_MODELLED) for rejection in with_them)


def _nominated(world: World, state: SchedulingState) -> dict[int, list[int]]:
    """Pods promised to a node. Source: kube-scheduler's queue keeps pods of its own name. Until 1.36, it keeps none that
    something holds back, such as a gate or a claim that is not made yet."""
    pods, held_count = world.pods, world.release.held_promises
    by_node: dict[int, list[int]] = {}
    for pod, node in enumerate(pods.nominated):
        if node < 0 or pods.node[pod] >= 0 or pod in pods.unknown_node or pods.finished(pod):
            continue
        shape = pods.shape[pod]
        if world.pod_shapes[shape].scheduler_name != DEFAULT_SCHEDULER:
            continue
        if held_count or not (pods.gated(pod) or state.gated(shape)):
            by_node.setdefault(node, []).append(pod)
    return by_node
