"""Recomputes PodDisruptionBudgets from the pods that live, and answers evictions, as the control plane does.

SOURCE: Kubernetes disruption controller. `minAvailable` as a count needs that many matching pods. As a percentage, or with
`maxUnavailable` in either form, the expected number is the sum of the replicas of their controllers. Both percentages round up.
Healthy minus desired may be disrupted, never below zero, and nothing while none are expected. Healthy means Ready and not
terminating. The Eviction subresource evicts pending, finished or terminating pods without checking a budget. It refuses to evict
a pod that two budgets match.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import FINISHED_PHASES, is_ready
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.simulation.embedded.budget_members import BudgetMembers, OwnerKey
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import Counted, PodObject
from reconciler.values.label_selector import selects
from reconciler.values.whole_number import whole_number

BudgetKey = tuple[str, str]


class DisruptionController:
    """Keeps the status of every budget. Budgets whose pods never changed keep the status that was captured."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._of_shape: dict[int, tuple[BudgetKey, ...]] = {}
        self._by_label: dict[tuple[str, str, str], list[BudgetKey]] = {}
        self._members: dict[BudgetKey, BudgetMembers] = {}
        self._dirty: dict[BudgetKey, None] = {}
        self.index()

    def index(self) -> None:
        """Read all budgets again (one was added, changed or removed)."""
        self._of_shape.clear()
        self._by_label.clear()
        for key, budget in self._objects.budgets.items():
            self._by_label.setdefault((key[0], *_telling_label(budget)), []).append(key)
        self._members = {key: BudgetMembers() for key in self._objects.budgets}
        if not self._members:
            return
        rows, traits_of = self._objects.pod_table(), self._objects.pod_traits
        columns = zip(
            rows.namespace, rows.shape, rows.traits, rows.phase, rows.flags, map(bool, rows.deletion_seconds), strict=True
        )
        for (namespace, shape, traits, phase, flags, ending), count in Counter(columns).items():
            owner = traits_of[traits].controller
            active = not ending and phase not in FINISHED_PHASES
            for key in self.budgets_of(shape) if owner is not None else ():
                counted = (is_ready(flags) and not ending, active)
                self._members[key].follow((owner.kind, namespace, owner.name), None, counted, count)
        unowned = {index for index, traits in enumerate(traits_of) if traits.controller is None}
        lone = [row for row, traits in enumerate(rows.traits) if traits in unowned] if unowned else []
        for pod in [self._objects.pods[rows.namespace[row], rows.name[row]] for row in lone if self.budgets_of(rows.shape[row])]:
            for key in self.budgets_of(pod.shape):
                self._members[key].follow(self._owner_key(pod), None, _counted(pod))
        for pod in self._objects.pods.made():
            pod.counted = _counted(pod)

    def budgets_of(self, shape: int) -> tuple[BudgetKey, ...]:
        """The budgets whose selector takes pods of a shape."""
        keys = self._of_shape.get(shape)
        if keys is None:
            pod = self._objects.pod_shapes[shape]
            labels = dict(pod.labels)
            # Most selectors ask for one value of one label: only those that could match are asked.
            asked = [*self._by_label.get((pod.namespace, "", ""), ())]
            for label in pod.labels:
                asked.extend(self._by_label.get((pod.namespace, *label), ()))
            keys = self._of_shape[shape] = tuple(
                sorted(key for key in asked if selects(self._objects.budgets[key].selector, labels))
            )
        return keys

    def forget_shape(self, shape: int) -> None:
        """The number may be that of another shape from now on."""
        self._of_shape.pop(shape, None)

    def changed(self, pod: PodObject) -> None:
        """A pod was made, became ready or unready, or began to terminate."""
        self._count(pod, _counted(pod))

    def removed(self, pod: PodObject) -> None:
        """A pod is gone."""
        self._count(pod, None)

    def _count(self, pod: PodObject, after: Counted | None) -> None:
        if not self._members:
            return
        before, pod.counted = pod.counted, after
        for key in self.budgets_of(pod.shape):
            self._members[key].follow(self._owner_key(pod), before, after)
            self._dirty[key] = None

    def moved(self, waited: Iterable[tuple[int, int, str]], evicted: Iterable[int]) -> None:
        """Many pods at once run on other nodes: those that waited, by shape, traits and name, and others of `evicted` shapes."""
        if not self._members:
            return
        for (shape, owner), count in Counter((shape, self._key(traits, name)) for shape, traits, name in waited).items():
            for key in self.budgets_of(shape):
                self._members[key].follow(owner, (False, True), (True, True), count)
                self._dirty[key] = None
        self._dirty.update((key, None) for shape in evicted for key in self.budgets_of(shape))

    def lets_go(self, shape: int) -> bool:
        """Whether ready pods of the shape may go one after the other, if each is made again and runs before the next one goes."""
        keys = self.budgets_of(shape)
        budgets = [self._objects.budgets[key] for key in keys]
        return not keys or (len(keys) == 1 and budgets[0].observed and budgets[0].disruptions_allowed > 0)

    def scaled(self, namespace: str) -> None:
        """Replicas of a controller changed, so that other numbers are expected."""
        self._dirty.update(dict.fromkeys(key for key in self._objects.budgets if key[0] == namespace))

    def sync(self) -> bool:
        """Write the status of budgets whose pods changed; whether any status changed."""
        wrote = False
        for key in self._dirty:
            budget = self._objects.budgets.get(key)
            if budget is None:
                continue
            fresh = self._status(key, budget)
            if fresh != budget:
                self._objects.budgets[key] = fresh
                wrote = True
        self._dirty.clear()
        if wrote:
            self._objects.touch()
        return wrote

    def refusal(self, pod: PodObject) -> str:
        """Why an eviction is refused now; empty when it is granted."""
        if pod.phase is PodPhase.PENDING or pod.finished or pod.deletion:
            return ""
        keys = self.budgets_of(pod.shape)
        if len(keys) > 1:
            names = ", ".join(name for _, name in keys)
            return f"{pod.key} is under more than one PodDisruptionBudget ({names}), which the eviction API does not support"
        self.sync()
        for key in keys:
            budget = self._objects.budgets[key]
            if not pod.ready and self._unhealthy_may_go(budget):
                continue
            if not budget.observed or budget.disruptions_allowed < 1:
                return (
                    f"evicting {pod.key} would violate PodDisruptionBudget {budget.name}, which needs "
                    f"{budget.desired_healthy} healthy pods and has {budget.current_healthy}"
                )
        return ""

    def _unhealthy_may_go(self, budget: DisruptionBudget) -> bool:
        if budget.unhealthy_pod_eviction == "AlwaysAllow":
            return True
        return budget.current_healthy >= budget.desired_healthy > 0

    def _status(self, key: BudgetKey, budget: DisruptionBudget) -> DisruptionBudget:
        members = self._members[key]
        healthy = members.healthy
        expected, desired = self._wanted(budget, members)
        return msgspec.structs.replace(
            budget,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            disruptions_allowed=max(0, healthy - desired) if expected > 0 else 0,
            observed=True,
        )

    def _wanted(self, budget: DisruptionBudget, members: BudgetMembers) -> tuple[int, int]:
        """(expected, desired healthy)."""
        if budget.max_unavailable:
            expected = self._expected(members)
            return expected, max(0, expected - (amount_of(budget.max_unavailable, expected) or 0))
        if budget.min_available:
            expected = self._expected(members) if budget.min_available.endswith("%") else members.pods
            least = amount_of(budget.min_available, expected)
            # Of a text that says nothing, all pods are needed.
            return expected, expected if least is None else least
        return members.pods, budget.desired_healthy

    def _expected(self, members: BudgetMembers) -> int:
        """Replicas of the distinct controllers; pods whose controller does not say count themselves."""
        expected = 0
        silent: set[OwnerKey] = set()
        for key in members.owners:
            controller = self._objects.controllers.get(key)
            if controller is not None and controller.replicas is not None:
                expected += controller.replicas
            else:
                silent.add(key)
        if silent:
            expected += sum(members.active.get(key, 0) for key in silent)
        return expected

    def _owner_key(self, pod: PodObject) -> OwnerKey:
        return self._key(pod.traits, pod.name)

    def _key(self, traits: int, name: str) -> OwnerKey:
        pods = self._objects.pod_traits[traits]
        owner = pods.controller
        return (owner.kind, pods.namespace, owner.name) if owner is not None else ("", pods.namespace, name)


def _counted(pod: PodObject) -> Counted:
    return (pod.ready and not pod.deletion, pod.active)


def _telling_label(budget: DisruptionBudget) -> tuple[str, str]:
    """A label and value that every pod of the budget carries; two empty texts when there is none."""
    requirements = budget.selector.requirements if budget.selector is not None else ()
    for requirement in requirements:
        if requirement.operator == "In" and len(requirement.values) == 1:
            return requirement.key, requirement.values[0]
    return "", ""


def amount_of(text: str, total: int) -> int | None:
    """`2` -> 2; `80%` of `total`, rounded up. None for a text that no API server takes."""
    amount = whole_number(text.removesuffix("%"))
    return -(-amount * total // 100) if amount is not None and text.endswith("%") else amount
