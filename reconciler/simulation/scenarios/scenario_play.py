"""Lets a scenario happen on a simulated cluster: every event at its instant."""

from collections.abc import Callable
from functools import partial

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.scenarios.scenario import (
    NodeChange,
    ScenarioText,
    StartBudget,
    TimedEvent,
    WriteEvent,
)
from reconciler.simulation.scenarios.start_world import disruption_budget, pod_of
from reconciler.values.plural import count_text

ANY_GROUP = "*"


def behaviours(text: ScenarioText, start_seconds: int) -> tuple[dict[str, MachineBehaviour], MachineBehaviour]:
    """By target name, and for all others."""
    by_target = {
        rule.group: MachineBehaviour(
            join_seconds=rule.join_after.seconds,
            fail_first=rule.fail_first,
            shortages=tuple(
                Shortage(from_seconds=start_seconds + gap.from_.seconds, until_seconds=start_seconds + gap.to.seconds)
                for gap in rule.out_of_stock
            ),
            device_seconds=rule.gpu_delay.seconds,
        )
        for rule in text.scenario.spec.machines
    }
    return by_target, by_target.pop(ANY_GROUP, MachineBehaviour())


class ScenarioPlay:
    """The events of a scenario on the agenda of a cluster. `on_policy` is called when the policy changes.

    Raises `DocumentError` with the place of an event that names an unknown target, node or controller.
    """

    def __init__(
        self,
        text: ScenarioText,
        cluster: SimulatedCluster,
        policies: dict[str, PolicySet],
        on_policy: Callable[[PolicySet], None],
    ) -> None:
        self._text = text
        self._cluster = cluster
        self._policies = policies
        self._on_policy = on_policy
        self._targets = _targets_by_name(cluster.world())
        for workload in text.scenario.spec.start.workloads:
            namespace, _, name = workload.name.partition("/")
            cluster.workloads.define(workload.kind, namespace, name, *pod_of(workload))
        start = cluster.now_seconds
        for index, event in enumerate(text.scenario.spec.events):
            path = f"$.spec.events[{index}]"
            step = self._step(event, path)
            cluster.agenda.at(start + event.at.seconds, step)

    def _step(self, event: TimedEvent, path: str) -> Callable[[], None]:
        """The event as something to do; what it names is checked now."""
        if event.scale is not None:
            namespace, _, name = event.scale.workload.partition("/")
            if self._cluster.workloads.named(namespace, name) is None:
                raise self._text.error(f"{path}.scale.workload", f"unknown controller {event.scale.workload} at the start")
            return partial(self._scale, namespace, name, event.scale.replicas)
        if event.budget is not None:
            return partial(self._budget, event.budget)
        if event.write is not None:
            target = self._target(event.write.target, f"{path}.write.target")
            return partial(self._write, target, event.write, event.write.times)
        if event.hold is not None:
            target = self._target(event.hold.target, f"{path}.hold.target")
            return partial(self._hold, target, event.hold.reason)
        if event.node is not None:
            return partial(self._node, event.node.name, event.node.becomes)
        return partial(self._policy, event.policy or "")

    def _target(self, name: str, path: str) -> TargetRef:
        target = self._targets.get(name)
        if target is None:
            raise self._text.error(
                path, f"unknown target {name!r} at the start", f"write one of {', '.join(sorted(self._targets))}"
            )
        return target

    def _scale(self, namespace: str, name: str, replicas: int) -> None:
        cluster = self._cluster
        workload = cluster.workloads.named(namespace, name)
        if workload is None:
            return
        cluster.journal.add(
            cluster.now_seconds,
            Happened.DEMAND_CHANGED,
            f"{namespace}/{name}",
            detail=f"{namespace}/{name} scales from {workload.desired} to {replicas} pods",
            before=workload.desired,
            after=replicas,
        )
        cluster.workloads.scale(workload, replicas)
        above = cluster.objects.controllers.get(("Deployment", namespace, name))
        if above is not None:
            cluster.objects.controllers["Deployment", namespace, name] = msgspec.structs.replace(above, replicas=replicas)
        cluster.disruption.scaled(namespace)
        cluster.objects.touch()

    def _budget(self, budget: StartBudget) -> None:
        cluster = self._cluster
        fresh = disruption_budget(budget)
        before = cluster.objects.budgets.get((fresh.namespace, fresh.name))
        if before is not None:
            fresh = msgspec.structs.replace(before, min_available=budget.min_available, max_unavailable=budget.max_unavailable)
        cluster.objects.budgets[fresh.namespace, fresh.name] = fresh
        cluster.disruption.index()
        cluster.disruption.scaled(fresh.namespace)
        bound = f"minAvailable {budget.min_available}" if budget.min_available else f"maxUnavailable {budget.max_unavailable}"
        self._tell(budget.name, f"PodDisruptionBudget {budget.name} now says {bound}")

    def _write(self, target: TargetRef, event: WriteEvent, times: int) -> None:
        self._tell(str(target), f"{event.manager} writes {count_text(event.replicas, 'replica')} to {target}")
        self._cluster.write_replicas(target, event.replicas, event.manager, event.via)
        if times > 1:
            self._cluster.agenda.after(max(1, event.every.seconds), partial(self._write, target, event, times - 1))

    def _hold(self, target: TargetRef, reason: str) -> None:
        self._tell(str(target), f"{target} is held: {reason}" if reason else f"the hold of {target} ends")
        self._cluster.hold(target, reason)

    def _node(self, name: str, becomes: NodeChange) -> None:
        self._tell(name, f"node {name} becomes {becomes.value}")
        if becomes is NodeChange.GONE:
            self._cluster.kill_node(name)
        else:
            self._cluster.set_ready(name, ready=becomes is NodeChange.READY)

    def _policy(self, path: str) -> None:
        policy = self._policies[path]
        self._tell(path, f"the policy is now {path}")
        self._cluster.follow(policy)
        self._on_policy(policy)

    def _tell(self, subject: str, what: str) -> None:
        self._cluster.journal.add(self._cluster.now_seconds, Happened.SCENARIO, subject, detail=what)


def _targets_by_name(world: World) -> dict[str, TargetRef]:
    """Targets by their own name; those that another target controls (MachineSets of a MachineDeployment) are not meant."""
    return {facts.ref.name: facts.ref for facts in world.targets if not facts.owner.controller}
