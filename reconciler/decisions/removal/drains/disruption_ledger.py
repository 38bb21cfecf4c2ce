"""Accounts for PodDisruptionBudgets when several evictions are planned together."""

from collections.abc import Mapping

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import is_ready, phase_code
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.removal.drains.gang_minimum import GangLedger
from reconciler.policy.documents import BlockRule
from reconciler.values.label_selector import selects

_PENDING = phase_code(PodPhase.PENDING)


class DisruptionLedger:
    """What is left of every budget. A pod under several budgets charges each of them.

    SOURCE: the eviction API of Kubernetes 1.36 (`registry/core/pod/storage/eviction.go`). It refuses single evictions, and the
    drain tries again. So pods of one budget on a node leave one after the other, each when the one before it has been replaced. A
    budget that allows one eviction lets a whole node leave, if no other node of the plan uses it.

    `budgets_of(shape)` gives the indices of the budgets whose selector takes pods of that shape (namespace and labels
    are part of the shape). Taking and giving back are exact, so that a what-if can be undone.
    """

    def __init__(self, world: World, pod_groups: BlockRule = BlockRule.BLOCK) -> None:
        """`pod_groups` is the rule of the policy for gangs (`drain.podGroups`)."""
        self._world = world
        self.budgets: tuple[DisruptionBudget, ...] = world.budgets
        self.left = [budget.disruptions_allowed if budget.observed else 0 for budget in world.budgets]
        self._whole = tuple(self.left)
        # Budgets by namespace and by one label that they ask for, so that a pod meets only those that could take it.
        self._by_label: dict[tuple[str, str, str], list[int]] = {}
        self._by_namespace: dict[str, list[int]] = {}
        for index, budget in enumerate(world.budgets):
            wanted = next((r for r in budget.selector.requirements if r.operator == "In"), None) if budget.selector else None
            if wanted is None:
                self._by_namespace.setdefault(budget.namespace, []).append(index)
            else:
                for value in wanted.values:
                    self._by_label.setdefault((budget.namespace, wanted.key, value), []).append(index)
        self._of_shape: dict[int, tuple[int, ...]] = {}
        self.gangs = GangLedger(world, pod_groups)

    def budgets_of(self, shape: int) -> tuple[int, ...]:
        """Indices of the budgets over pods of a shape."""
        budgets = self._of_shape.get(shape)
        if budgets is None:
            pod = self._world.pod_shapes[shape]
            labels = dict(pod.labels)
            near = [*self._by_namespace.get(pod.namespace, ())]
            for key, value in pod.labels:
                near.extend(self._by_label.get((pod.namespace, key, value), ()))
            budgets = tuple(sorted(index for index in near if selects(self.budgets[index].selector, labels)))
            self._of_shape[shape] = budgets
        return budgets

    def short(self, counts: Mapping[int, int]) -> tuple[int, ...]:
        """The budgets for which `counts` (pods by shape) cannot be evicted, together or one after the other, by index."""
        if not self.budgets:
            return ()
        needed: dict[int, int] = {}
        for shape, count in counts.items():
            for index in self.budgets_of(shape):
                needed[index] = needed.get(index, 0) + count
        return tuple(sorted(index for index, count in needed.items() if count > self.left[index] and not self._in_turn(index)))

    def _in_turn(self, index: int) -> bool:
        """Whether pods may go one after the other: some may go now, and nobody else is to."""
        return self.left[index] > 0 and self.left[index] == self._whole[index]

    def exempt(self, row: int) -> bool:
        """Whether the pod in this row of the World is evicted without its budgets: it has not started, is terminating, or is not
        ready. For a pod that is not ready, the budget's `unhealthyPodEvictionPolicy` decides: AlwaysAllow always allows it,
        IfHealthyBudget while enough others are healthy."""
        pods = self._world.pods
        if is_ready(pods.flags[row]):
            return False
        if pods.deletion_seconds[row] or pods.phase[row] == _PENDING:
            return True
        return all(_lets_unready_go(self.budgets[index]) for index in self.budgets_of(pods.shape[row]))

    def take(self, counts: Mapping[int, int], sign: int = 1) -> None:
        """Charge the budgets and the gangs (or give back with sign -1)."""
        self.gangs.take(counts, sign)
        if not self.budgets:
            return
        for shape, count in counts.items():
            for index in self.budgets_of(shape):
                self.left[index] -= sign * count


def _lets_unready_go(budget: DisruptionBudget) -> bool:
    if budget.unhealthy_pod_eviction == "AlwaysAllow":
        return True
    return budget.observed and budget.current_healthy >= budget.desired_healthy > 0
