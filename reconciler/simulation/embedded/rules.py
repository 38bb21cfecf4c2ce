"""The rules that must always hold, checked on a simulated cluster after every iteration."""

from collections import Counter

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.target import TargetRef
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.reasons.nodes import NodeEmpty, NodesReturn
from reconciler.decisions.reasons.provisioning import GrownForRequest
from reconciler.decisions.reasons.sizes import Headroom
from reconciler.plan.plan import ActionKind, GroupLine, Plan, PodOutcome
from reconciler.policy.documents import Limit, PolicySet
from reconciler.policy.values.label_selector import selector_matches
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import OUR_MANAGER
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.values.label_selector import selects
from reconciler.values.money import HOURS_PER_MONTH, parse_money, price_text

HOMELESS_SECONDS = 900
"""An evicted pod that has waited this long for a place, with nothing else having changed, has none."""

_NEW_EPOCH = (Happened.DEMAND_CHANGED, Happened.SCENARIO, Happened.NODE_CHANGED, Happened.MACHINE_FAILED)


class Violation(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A rule that was broken: `rule` is its stable name, `object` what it was broken on."""

    at_seconds: int
    rule: str
    object: str
    message: str


_MAKE_ROOM = (Headroom.code, GrownForRequest.code)


class RuleBook:
    """Reads what happened since the last check, and judges it with code of its own, not with that of the decisions.

    Rules:

    - OutOfRange: no write of ours moves a group out of its range.
    - LimitPassed, BudgetBroken, EvictedHomeless: as their names say.
    - HeldTouched: no write to a held group, nor against another owner of the field.
    - UpAndDown: in one plan, the removed node would have taken a pod for which the plan adds a node.
    - BoughtAndRemoved: a node that was added for a demand leaves while that demand still exists. It may leave if it joined so
      late that others were added in its place. It may also leave if it is empty and its group grew only for a `Replace`.
    - GrewAndShrank: a group grew for a demand, including headroom, and an older node leaves it while that demand exists.
    - EvictionBought: a pod that we evicted adds a node, and no pod that others evicted still takes a place.
    - ReplacedForMore: a replacement whose new nodes cost as much as those that it names.

    Nodes that a `Replace` named before it grew may leave.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._read = len(cluster.journal.events)
        self._epoch = cluster.now_seconds
        self._joined: dict[str, int] = {}
        self._draining: set[str] = set()
        self._evicted: dict[str, int] = {}
        self._ending: set[str] = set()
        self._homeless: dict[str, int] = {}
        self._bought: set[str] = set()
        self._grew: set[str] = set()
        self._replaced: set[str] = set()
        self._empty: set[str] = set()
        self._unready = self._not_ready()
        self._limits: dict[str, dict[str, int]] = {}
        self.violations: list[Violation] = []

    def check(self, policy: PolicySet, plan: Plan) -> tuple[Violation, ...]:
        """The violations of this iteration; `plan` is its decision."""
        before = len(self.violations)
        events = self._cluster.journal.since(self._read)
        self._read = len(self._cluster.journal.events)
        groups = {line.target: line for line in plan.groups}
        self._replaced.update(node for action in plan.actions if action.kind is ActionKind.REPLACE for node in action.nodes)
        self._empty = {node for action in plan.actions if action.reason.code == NodeEmpty.code for node in action.nodes}
        buyers = {line.group for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP}
        buyers |= {line.name for line in plan.groups if any(reason.code in _MAKE_ROOM for reason in line.reasons)}
        for event in events:
            self._follow(event, policy)
            self._check_event(event, groups, buyers)
        self._check_limits(policy, grew=any(_ours(event) and event.after > event.before for event in events))
        self._check_budgets(events)
        self._check_plan(plan)
        self._check_homeless()
        self._unready = self._not_ready()
        return tuple(self.violations[before:])

    def _not_ready(self) -> frozenset[str]:
        return frozenset(name for name, node in self._cluster.objects.nodes.items() if not node.value.ready)

    def _add(self, rule: str, subject: str, message: str) -> None:
        self.violations.append(Violation(at_seconds=self._cluster.now_seconds, rule=rule, object=subject, message=message))

    def _follow(self, event: Event, policy: PolicySet) -> None:
        """Keep the epoch of the demand, and who came and went in it."""
        foreign_write = event.kind is Happened.REPLICAS_WRITTEN and event.by != OUR_MANAGER
        if event.kind in _NEW_EPOCH or foreign_write:
            self._epoch = event.at_seconds
            self._bought.clear()
            self._grew.clear()
            self._draining.clear()
            self._evicted.clear()
            self._homeless.clear()
        elif event.kind is Happened.NODE_JOINED:
            late = event.at_seconds - event.before > self._provision_seconds(event.target, policy)
            self._joined[event.object] = -1 if late else event.at_seconds
        elif event.kind is Happened.REMOVAL_BEGAN:
            self._draining.add(event.object)
        elif event.kind is Happened.POD_EVICTED:
            if event.detail in self._draining:
                self._evicted[event.object] = event.at_seconds
            else:
                # Others evict too. Such a pod takes two places until it has ended, which no plan could foresee.
                self._evicted.pop(event.object, None)
                self._ending.add(event.object)
        elif event.kind is Happened.POD_CREATED and event.detail in self._evicted:
            self._evicted[event.object] = event.at_seconds
            if not self._expendable(event.object, policy):
                self._homeless[event.object] = event.at_seconds
        elif event.kind is Happened.POD_BOUND or event.kind is Happened.POD_GONE:
            self._homeless.pop(event.object, None)
            if event.kind is Happened.POD_GONE:
                self._ending.discard(event.object)

    def _provision_seconds(self, target: str, policy: PolicySet) -> int:
        """How long a machine of a target may take before others are added in its place."""
        cluster = self._cluster
        groups = effective_groups(cluster.world(), policy, cluster.now_seconds)
        return next((group.scale_up.max_node_provision_time_seconds for group in groups if str(group.target) == target), 0)

    def _expendable(self, key: str, policy: PolicySet) -> bool:
        namespace, _, name = key.partition("/")
        pod = self._cluster.objects.pods.get((namespace, name))
        if pod is None:
            return True
        return self._cluster.objects.pod_shapes[pod.shape].priority < policy.policy.pods.expendable_below_priority

    def _check_event(self, event: Event, groups: dict[str, GroupLine], buyers: set[str | None]) -> None:
        line = groups.get(event.target or event.object)
        if event.kind is Happened.WRITE_REFUSED and event.detail.startswith("Conflict"):
            self._add("HeldTouched", event.object, f"a write was tried against another owner: {event.detail}")
        if line is None:
            return
        if _ours(event):
            if event.after > max(line.max, event.before) or event.after < min(line.min, event.before):
                message = f"replicas from {event.before} to {event.after}, outside {line.min} to {line.max}"
                self._add("OutOfRange", event.object, message)
            if event.after > event.before:
                self._bought.add(event.object)
                if line.name in buyers:
                    self._grew.add(event.object)
        if (_ours(event) or event.kind is Happened.REMOVAL_BEGAN) and line.held:
            self._add("HeldTouched", event.object, f"{line.name} is held")
        if event.kind is Happened.REMOVAL_BEGAN and line.current <= line.max:
            self._check_removal(event)

    def _check_removal(self, event: Event) -> None:
        """A removal that neither brings a group down to its maximum nor fixes anything: did the same demand add the node?"""
        node = self._cluster.objects.nodes.get(event.object)
        # A node that left within the iteration is judged by its state at the last check.
        ready = node.value.ready if node is not None else event.object not in self._unready
        if event.object in self._replaced or not ready:
            return
        joined = self._joined.get(event.object, 0)
        if joined >= self._epoch and event.target in self._bought:
            if event.object in self._empty and event.target not in self._grew:
                return
            self._add("BoughtAndRemoved", event.object, "it was added for a demand that still exists")
        elif 0 <= joined < self._epoch and event.target in self._grew:
            self._add("GrewAndShrank", event.object, f"{event.target} grew for a demand that still exists")

    def _check_limits(self, policy: PolicySet, *, grew: bool) -> None:
        if not policy.policy.limits:
            return
        cluster = self._cluster
        groups = effective_groups(cluster.world(), policy, cluster.now_seconds)
        labels = {group.target: dict(group.labels) for group in groups}
        prices = {group.target: group.price_micros or 0 for group in groups}
        for limit in policy.policy.limits:
            used = self._used(limit, labels, prices)
            before = self._limits.get(limit.name, used)
            for name, most in limit.max:
                if grew and used[name] > most and used[name] > before.get(name, 0):
                    self._add("LimitPassed", limit.name, f"{name} went from {before.get(name, 0)} to {used[name]}, above {most}")
            self._limits[limit.name] = used

    def _used(self, limit: Limit, labels: dict[TargetRef, dict[str, str]], prices: dict[TargetRef, int]) -> dict[str, int]:
        objects, machines = self._cluster.objects, self._cluster.machines
        counted = [(node.target, objects.shape_of(node)) for node in objects.nodes.values() if not node.value.deleting]
        counted.extend(
            (machine.target, machines.templates[machine.target])
            for machine in objects.machines.values()
            if not machine.node and not machine.deleting and not machine.failed and machine.target in machines.templates
        )
        if limit.groups is not None:
            counted = [
                (target, shape)
                for target, shape in counted
                if target in labels and selector_matches(limit.groups, labels[target])
            ]
        if limit.nodes is not None:
            counted = [(target, shape) for target, shape in counted if selector_matches(limit.nodes, dict(shape.labels))]
        spent = sum(prices.get(target, 0) for target, _ in counted if target is not None)
        known = {"nodes": len(counted), "pricePerHour": spent, "pricePerMonth": spent * HOURS_PER_MONTH}
        return {
            name: known[name] if name in known else sum(shape.capacity.get(name) for _, shape in counted) for name, _ in limit.max
        }

    def _check_budgets(self, events: list[Event]) -> None:
        """A budget that lacks healthy pods after evictions of its own pods, and nothing else happened to them."""
        evicted = {event.before for event in events if event.kind is Happened.POD_EVICTED}
        if not evicted or any(event.kind in _NEW_EPOCH for event in events):
            return
        world = self._cluster.world()
        shapes = [world.pod_shapes[index] for index in sorted(evicted)]
        for budget in world.budgets:
            if not any(_covers(budget, shape) for shape in shapes):
                continue
            covered = {index for index, shape in enumerate(world.pod_shapes) if _covers(budget, shape)}
            healthy = sum(1 for pod in world.pods if pod.shape in covered and pod.ready and not pod.deletion_seconds)
            if healthy < budget.desired_healthy:
                message = f"{healthy} healthy pods, {budget.desired_healthy} are needed"
                self._add("BudgetBroken", f"{budget.namespace}/{budget.name}", message)

    def _check_plan(self, plan: Plan) -> None:
        buyers = [line.pod for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP]
        for pod in buyers:
            if pod in self._evicted and not self._ending:
                self._add("EvictionBought", pod, "a pod that was evicted to save a node makes a new one necessary")
        grown = {action.group for action in plan.actions if action.kind is ActionKind.RESIZE and action.to > action.from_}
        for action in plan.actions:
            if action.kind is ActionKind.REMOVE_NODE and action.group in grown:
                self._add("UpAndDown", action.group, f"grows in the plan that removes {', '.join(action.nodes)}")

        prices = {line.name: parse_money(line.price_per_hour or "0") for line in plan.groups}
        group_of = {line.node: line.group or "" for line in plan.nodes}
        new: Counter[tuple[str, ...]] = Counter()
        for action in plan.actions:
            # Tiers are a priority: a return to one may cost more.
            if action.kind is ActionKind.REPLACE and action.reason.code != NodesReturn.code:
                new[action.nodes] += prices[action.group] * (action.to - action.from_)
        for nodes, price in new.items():
            before = sum(prices.get(group_of.get(node, ""), 0) for node in nodes)
            if price >= before:
                self._add("ReplacedForMore", ", ".join(nodes), f"{price_text(price)} per hour replaces {price_text(before)}")

    def _check_homeless(self) -> None:
        now = self._cluster.now_seconds
        for pod, since in list(self._homeless.items()):
            if now - since >= HOMELESS_SECONDS:
                del self._homeless[pod]
                self._add("EvictedHomeless", pod, f"evicted, and without a node for {now - since} s")


def _ours(event: Event) -> bool:
    return event.kind is Happened.REPLICAS_WRITTEN and event.by == OUR_MANAGER


def _covers(budget: DisruptionBudget, shape: PodShape) -> bool:
    return budget.namespace == shape.namespace and selects(budget.selector, dict(shape.labels))
