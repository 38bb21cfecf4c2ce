"""What a pod adds to its line in the plan: what a new node of each group and every node there say to it."""

from collections.abc import Collection, Sequence

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.situation.turns import Turns, turns_of
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.values import NewNode, PodExplanation, Said, ThereNode
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection


def pod_findings(case: Case, indices: Sequence[int]) -> PodExplanation:
    """Everything about the first of several pods that are alike."""
    pods = case.world.pods
    pod = pods[indices[0]]
    shape = case.world.pod_shapes[pod.shape]
    line = next((line for line in case.plan.pods if line.pod == pod.key), None)
    state = case.state()
    wants_place = line is not None or (pod.node < 0 and not pod.finished and not pod.unknown_node)
    unknown = state.modelled(pod.shape)
    asked = wants_place and not unknown
    node = case.world.nodes[pod.node].name if pod.node >= 0 else pod.unknown_node or None
    blocks = case.node_line(node).blockers if node is not None and pod.node >= 0 else ()
    new_nodes = tuple(_new_node(case, state, group, pod.shape) for group in case.asked_groups()) if asked else ()
    bound = turns(case, [one.group for one in new_nodes if one.fits])
    return PodExplanation(
        pod=pod.key,
        alike=tuple(pods.key(index) for index in indices[1:]),
        phase=pod.phase.value,
        priority=shape.priority,
        requests={name: amount for name, amount in shape.requests.items() if name != "pods"},
        decision=line,
        node=node,
        blocks=tuple(blocker for blocker in blocks if blocker.pod == pod.key),
        not_modelled=unknown,
        default_spread=case.default_spread(pod.shape),
        new_nodes=new_nodes,
        node_within_seconds=None if bound is None else bound.within_seconds,
        nodes=tuple(_there(case, state, index, pod.shape) for index in case.asked_nodes()) if asked else (),
    )


def _new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> NewNode:
    line = case.group_line(group.name)
    verdict = () if group.template is None else new_node_verdict(case, state, group, shape)
    return NewNode(
        group=group.name,
        fits=group.template is not None and not verdict,
        rejections=_rejections(verdict),
        unknown=group.template_problem if group.template is None else "",
        current=line.current,
        desired=line.desired,
        max=line.max,
        held=line.held,
    )


def new_node_verdict(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> tuple[Rejection, ...]:
    """What a new node of a group whose template is known says to one more pod; its DaemonSet pods are there first."""
    if group.template is None:
        return ()
    mark = state.mark()
    node = state.add_node(f"{group.name}-new", group.template)
    for daemon in case.world.daemon_pods:
        state.place(daemon.shape, 1, [node])
    verdict = state.verdict(shape, node)
    state.undo(mark)
    return verdict


def _there(case: Case, state: SchedulingState, index: int, shape: int) -> ThereNode:
    verdict = state.verdict(shape, index)
    return ThereNode(node=case.world.nodes[index].name, fits=not verdict, rejections=_rejections(verdict))


def _rejections(verdict: Sequence[Rejection]) -> tuple[Said, ...]:
    return tuple(Said(rejection.plugin, rejection.message) for rejection in verdict)


class PodKinds(msgspec.Struct, frozen=True):
    """Pods that several begin like. `waiting` are those without a node, alike ones together; the others need no place."""

    waiting: tuple[tuple[int, ...], ...]
    running: tuple[int, ...]
    finished: int

    @property
    def first(self) -> tuple[int, ...]:
        """The pods that the first answer is about."""
        return self.waiting[0] if self.waiting else self.running


def pod_kinds(case: Case, indices: Sequence[int]) -> PodKinds:
    """Pods are alike if the same sentences describe them: one shape, and the same outcome for the same reasons."""
    pods = case.world.pods
    lines = {line.pod: line for line in case.plan.pods}
    waiting: dict[object, list[int]] = {}
    running, finished = [], 0
    for index in indices:
        pod = pods[index]
        if pod.finished:
            finished += 1
        elif pod.node >= 0 or pod.unknown_node:
            running.append(index)
        else:
            line = lines.get(pod.key)
            encoded = b"" if line is None else msgspec.json.encode(msgspec.structs.replace(line, pod=""))
            waiting.setdefault((pods.shape[index], pods.traits[index], encoded), []).append(index)
    return PodKinds(tuple(map(tuple, waiting.values())), tuple(running), finished)


def alike_running(case: Case, indices: Sequence[int]) -> bool:
    """Whether the same sentences describe the running pods: one shape on one node."""
    pods = case.world.pods
    return len({(pods.shape[index], pods.traits[index], pods.node[index]) for index in indices}) == 1


def turns(case: Case, would_run: Collection[str]) -> Turns | None:
    """The turns of the groups that would run a pod and may grow: by when it gets a node if one has capacity. None without any."""
    free = [
        group
        for group in case.groups
        if group.name in would_run and not (line := case.group_line(group.name)).held and line.current < line.max
    ]
    return turns_of(free, case.memory) if free else None
