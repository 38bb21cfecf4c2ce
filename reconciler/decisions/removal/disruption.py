"""Accounting of PodDisruptionBudgets while several evictions are planned together."""

from collections.abc import Mapping

from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.values.label_selector import selects


class DisruptionLedger:
    """What is left of every budget. A pod under several budgets charges each of them.

    `budgets_of(shape)` gives the indices of the budgets whose selector takes pods of that shape (namespace and labels
    are part of the shape). Taking and giving back are exact, so that a what-if can be undone.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.budgets: tuple[DisruptionBudget, ...] = world.budgets
        self.left = [budget.disruptions_allowed if budget.observed else 0 for budget in world.budgets]
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

    def budgets_of(self, shape: int) -> tuple[int, ...]:
        """Indices of the budgets over pods of a shape."""
        found = self._of_shape.get(shape)
        if found is None:
            pod = self._world.pod_shapes[shape]
            labels = dict(pod.labels)
            near = [*self._by_namespace.get(pod.namespace, ())]
            for key, value in pod.labels:
                near.extend(self._by_label.get((pod.namespace, key, value), ()))
            found = tuple(sorted(index for index in near if selects(self.budgets[index].selector, labels)))
            self._of_shape[shape] = found
        return found

    def short(self, counts: Mapping[int, int]) -> tuple[int, ...]:
        """The budgets that evicting `counts` (pods by shape) together would break, by index."""
        if not self.budgets:
            return ()
        needed: dict[int, int] = {}
        for shape, count in counts.items():
            for index in self.budgets_of(shape):
                needed[index] = needed.get(index, 0) + count
        return tuple(sorted(index for index, count in needed.items() if count > self.left[index]))

    def take(self, counts: Mapping[int, int], sign: int = 1) -> None:
        """Charge the budgets (or give back with sign -1)."""
        if not self.budgets:
            return
        for shape, count in counts.items():
            for index in self.budgets_of(shape):
                self.left[index] -= sign * count
