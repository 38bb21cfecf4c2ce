"""Which pods keep their node: every rule that fires, not the first.

Rules as the Cluster Autoscaler 1.36 has them (mirror, long terminating, controller gone, minimum replicas, DaemonSet,
safe-to-evict, terminal, unreplicated, system, local storage, disruption budget), with the product's differences:
`safe-to-evict: "false"` is absolute, a missing controller blocks unless `"true"`, `"true"` lifts owner, system and
storage rules but not the disruption budget, kube-system pods without a budget block for ever unless a timeout is set,
names of safe local volumes are trimmed.
"""

from enum import StrEnum

import msgspec

from reconciler.cluster.pods.pod import PodPhase, PodTraits
from reconciler.cluster.world import World
from reconciler.decisions.reasons.amounts import count_text
from reconciler.decisions.removal.disruption import DisruptionLedger
from reconciler.policy.documents import BlockRule, DrainRules
from reconciler.values.duration import duration_text

LONG_TERMINATING_SECONDS = 30
_MOST_NAMED = 10
_REPLICATED_KINDS = (
    ("", "ReplicationController"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
)
_WITH_REPLICAS = ("ReplicaSet", "ReplicationController")


class Fate(StrEnum):
    """What a drain does with a pod: nothing (it goes with its node, or is going), or it must find another place."""

    STAYS = "Stays"
    MOVES = "Moves"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a drain means for a pod: its fate, and (code, message) of every rule that keeps its node."""

    fate: Fate
    rules: tuple[tuple[str, str], ...] = ()


_STAYS = Verdict(fate=Fate.STAYS)


class DrainJudge:
    """Judges pods of one World under one policy at one instant. Disruption budgets are judged per node, by the ledger.

    Equal pods (same shape, same traits) that neither end nor have ended get one verdict, worked out once.
    """

    def __init__(self, world: World, rules: DrainRules, ledger: DisruptionLedger, now_seconds: int) -> None:
        self._world = world
        self._rules = rules
        self._ledger = ledger
        self._now_seconds = now_seconds
        self._controllers = {
            (controller.api_group, controller.kind, controller.namespace, controller.name): controller
            for controller in world.controllers
        }
        self._kinds_captured = frozenset(world.captured)
        self._known: dict[tuple[int, int], Verdict] = {}

    def judge(self, index: int) -> Verdict:
        """The verdict on one pod, by its index in the World; every rule that does not depend on other pods."""
        pods = self._world.pods
        traits = self._world.pod_traits[pods.traits[index]]
        # deletionTimestamp includes the grace period already; adding it again keeps slow pods in the account for longer,
        # as the Cluster Autoscaler does.
        deleted = pods.deletion_seconds[index]
        if deleted and deleted + traits.grace_seconds + LONG_TERMINATING_SECONDS < self._now_seconds:
            return _STAYS
        if pods.finished(index) and (pods[index].phase is PodPhase.FAILED or traits.restart_policy in ("Never", "OnFailure")):
            return _STAYS
        aged = self._rules.system_pod_timeout_seconds is not None and pods.namespace[index] == "kube-system"
        if aged:
            return self._verdict(pods.shape[index], traits, self._now_seconds - pods.created_seconds[index])
        key = (pods.shape[index], pods.traits[index])
        if key not in self._known:
            self._known[key] = self._verdict(pods.shape[index], traits, 0)
        return self._known[key]

    def _verdict(self, shape: int, traits: PodTraits, age_seconds: int) -> Verdict:
        if traits.mirror or traits.daemonset:
            return _STAYS
        found: list[tuple[str, str]] = []
        if traits.safe_to_evict == "false":
            found.append(("NotSafeToEvict", 'annotation cluster-autoscaler.kubernetes.io/safe-to-evict is "false"'))
        if traits.safe_to_evict == "on-completion":
            found.append(("OnCompletion", 'annotation safe-to-evict is "on-completion": the node waits until the pod ends'))
        if traits.safe_to_evict != "true":
            found.extend(self._owner(traits))
            found.extend(self._system(traits.namespace, shape, age_seconds))
            found.extend(self._storage(traits))
        if traits.namespace in self._rules.blocked_namespaces:
            found.append(("BlockedNamespace", f"drain.blockedNamespaces names {traits.namespace}"))
        return Verdict(fate=Fate.MOVES, rules=tuple(found))

    def _owner(self, traits: PodTraits) -> list[tuple[str, str]]:
        owner = traits.controller
        if owner is None:
            if self._rules.unreplicated is BlockRule.BLOCK:
                return [("Unreplicated", "no controller would make it again")]
            return []
        # ReplicaSets lived in `extensions` once; owner references written then still say so.
        api_group = "apps" if owner.api_group == "extensions" else owner.api_group
        if (api_group, owner.kind) not in _REPLICATED_KINDS:
            if self._rules.custom_controllers is BlockRule.BLOCK:
                return [("CustomController", f"its controller is a {owner.kind}, which drain rules do not know")]
            return []
        if owner.kind not in self._kinds_captured:
            return [("ControllerUnknown", f"{owner.kind} objects were not captured, so {owner.name} may be gone")]
        controller = self._controllers.get((api_group, owner.kind, traits.namespace, owner.name))
        if controller is None:
            return [("ControllerNotFound", f"its controller {owner.kind} {owner.name} is gone")]
        least = self._rules.min_replicas
        if owner.kind in _WITH_REPLICAS and controller.replicas is not None and controller.replicas < least:
            return [("MinReplicas", f"{owner.kind} {owner.name} has {controller.replicas} replicas, fewer than {least}")]
        return []

    def _system(self, namespace: str, shape: int, age_seconds: int) -> list[tuple[str, str]]:
        if namespace != "kube-system" or self._rules.system_pods_without_pdb is BlockRule.ALLOW:
            return []
        if self._ledger.budgets_of(shape):
            return []
        timeout = self._rules.system_pod_timeout_seconds
        if timeout is not None and age_seconds > timeout:
            return []
        until = "" if timeout is None else f" and it is younger than {duration_text(timeout)}"
        return [("SystemPod", f"a kube-system pod without a PodDisruptionBudget{until}")]

    def _storage(self, traits: PodTraits) -> list[tuple[str, str]]:
        if self._rules.local_storage is BlockRule.ALLOW:
            return []
        safe = frozenset(traits.safe_local_volumes)
        unsafe = [name for name in traits.local_volumes if name not in safe]
        return [("LocalStorage", f"local storage would be lost: volume {_listed(unsafe)}")] if unsafe else []


def _listed(names: list[str]) -> str:
    """The names, or the first of so many that nobody reads them: a pod may have thousands, and each node repeats them."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_MOST_NAMED])} and {count_text(more, 'other')}"
