"""The pods that one PodDisruptionBudget takes, counted as they come, change and go."""

from reconciler.simulation.embedded.pod_object import PodObject

OwnerKey = tuple[str, str, str]
"""Kind, namespace and name of a pod's controller; a pod without one has a key of its own."""


class BudgetMembers:
    """`pods` says of each whether it is healthy, `owners` how many pods each controller has."""

    __slots__ = ("healthy", "owners", "pods")

    def __init__(self) -> None:
        self.pods: dict[PodObject, bool] = {}
        self.healthy = 0
        self.owners: dict[OwnerKey, int] = {}

    def follow(self, pod: PodObject, owner: OwnerKey) -> None:
        """A pod joined or changed."""
        healthy = pod.ready and not pod.deletion
        before = self.pods.get(pod)
        if before is None:
            self.owners[owner] = self.owners.get(owner, 0) + 1
        self.healthy += healthy - bool(before)
        self.pods[pod] = healthy

    def drop(self, pod: PodObject, owner: OwnerKey) -> None:
        """A pod is gone."""
        before = self.pods.pop(pod, None)
        if before is None:
            return
        self.healthy -= before
        if self.owners[owner] == 1:
            del self.owners[owner]
        else:
            self.owners[owner] -= 1
