"""Which pods keep their node: every rule that fires, not the first.

SOURCE: the rules of Cluster Autoscaler 1.36: mirror, long terminating, controller gone, minimum replicas, DaemonSet,
safe-to-evict, terminal, unreplicated, system, local storage, disruption budget.

Differences: `safe-to-evict: "false"` is absolute. A missing controller blocks unless it is `"true"`. `"true"` lifts owner, system
and storage rules, but not the disruption budget. kube-system pods without a budget always block, unless a timeout is set. Names
of safe local volumes are trimmed.

Some rules are not among those of the Cluster Autoscaler. A gang keeps its minimum (`gang_minimum`). `drain.jobs` may keep or
await the pods of Jobs. An annotation `do-not-disrupt` keeps its pod, whatever else lifts the other rules.
"""

from enum import StrEnum

import msgspec

from reconciler.cluster.pods.pod import PodPhase, PodTraits
from reconciler.cluster.world import World
from reconciler.decisions.reasons.drain_rules import (
    BlockedNamespace,
    ControllerNotFound,
    ControllerUnknown,
    CustomController,
    JobAwaited,
    JobRunning,
    LocalStorage,
    MinReplicas,
    NotSafeToEvict,
    OnCompletion,
    SystemPod,
    Unreplicated,
)
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.do_not_disrupt import Holds, disruption_holds, ends_by_age
from reconciler.plan.reason import KeepsNode
from reconciler.policy.documents import BlockRule, DrainRules, JobRule
from reconciler.values.instant import instant_text

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
    """What a drain does with a pod: nothing (it goes with its node, or is going), or it must find another place. A removal waits
    until a pod that ends has ended, and needs no place for it."""

    STAYS = "Stays"
    MOVES = "Moves"
    ENDS = "Ends"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a drain means for a pod: its fate, and every rule by which it keeps its node. `waits` are those rules that end without
    anybody's doing, the last of them at `until_seconds` (None: nobody knows when)."""

    fate: Fate
    rules: tuple[KeepsNode, ...] = ()
    waits: tuple[KeepsNode, ...] = ()
    until_seconds: int | None = None

    @property
    def keeps(self) -> tuple[KeepsNode, ...]:
        """Every rule, those that end by themselves last."""
        return (*self.rules, *self.waits)


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
        self._unread = {(one.kind, one.namespace, one.name): one.why for one in world.unread}
        self.aged = frozenset(index for index, traits in enumerate(world.pod_traits) if self._by_age(traits))
        """The traits of pods whose age counts (indices into `World.pod_traits`)."""
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
        if pods.traits[index] in self.aged:
            created = pods.created_seconds[index]
            return self._verdict(pods.shape[index], traits, self._now_seconds - created, self._started(index))
        key = (pods.shape[index], pods.traits[index])
        if key not in self._known:
            self._known[key] = self._verdict(pods.shape[index], traits, 0, 0)
        return self._known[key]

    def _by_age(self, traits: PodTraits) -> bool:
        rules = self._rules
        if rules.system_pod_timeout_seconds is not None and traits.namespace == "kube-system":
            return True
        if rules.jobs is JobRule.WAIT and rules.max_pod_age_seconds is not None and _job_of(traits):
            return True
        return ends_by_age(traits.annotations)

    def _started(self, index: int) -> int:
        """The earliest instant at which the pod can have run (Unix time). It may have waited for its node to come."""
        pods = self._world.pods
        node = pods.node[index]
        return max(pods.created_seconds[index], self._world.nodes[node].created_seconds if node >= 0 else 0)

    def _verdict(self, shape: int, traits: PodTraits, age_seconds: int, started_seconds: int) -> Verdict:
        if traits.mirror or traits.daemonset:
            return _STAYS
        rules: list[KeepsNode] = []
        if traits.safe_to_evict == "false":
            rules.append(NotSafeToEvict())
        if traits.safe_to_evict == "on-completion":
            rules.append(OnCompletion())
        if traits.safe_to_evict != "true":
            rules.extend(self._owner(traits))
            rules.extend(self._system(traits.namespace, shape, age_seconds))
            rules.extend(self._storage(traits))
        if traits.namespace in self._rules.blocked_namespaces:
            rules.append(BlockedNamespace(namespace=traits.namespace))
        held = disruption_holds(traits.annotations, started_seconds, self._now_seconds)
        rules.extend(held.lasting)
        job = _job_of(traits) if traits.safe_to_evict != "true" else ""
        if job and self._rules.jobs is JobRule.BLOCK:
            rules.append(JobRunning(job=job))
        if job and self._rules.jobs is JobRule.WAIT:
            return self._awaited(job, started_seconds, tuple(rules), held)
        return Verdict(fate=Fate.MOVES, rules=tuple(rules), waits=held.ending, until_seconds=held.until_seconds)

    def _awaited(self, job: str, started_seconds: int, rules: tuple[KeepsNode, ...], held: Holds) -> Verdict:
        """A pod of a Job that a removal lets finish, up to `drain.maxPodAge`. Then it moves like others."""
        most = self._rules.max_pod_age_seconds
        if most is None:
            return Verdict(fate=Fate.ENDS, rules=rules, waits=(*held.ending, JobAwaited(job=job, until="")))
        until = started_seconds + most
        if until <= self._now_seconds:
            return Verdict(fate=Fate.MOVES, rules=rules, waits=held.ending, until_seconds=held.until_seconds)
        waits = (*held.ending, JobAwaited(job=job, until=instant_text(until)))
        return Verdict(fate=Fate.MOVES, rules=rules, waits=waits, until_seconds=max(until, held.until_seconds or 0))

    def _owner(self, traits: PodTraits) -> list[KeepsNode]:
        owner = traits.controller
        if owner is None:
            if self._rules.unreplicated is BlockRule.BLOCK:
                return [Unreplicated()]
            return []
        # ReplicaSets lived in `extensions` once; owner references written then still say so.
        api_group = "apps" if owner.api_group == "extensions" else owner.api_group
        if (api_group, owner.kind) not in _REPLICATED_KINDS:
            if self._rules.custom_controllers is BlockRule.BLOCK:
                return [CustomController(kind=owner.kind)]
            return []
        if owner.kind not in self._kinds_captured:
            return [ControllerUnknown(kind=owner.kind, name=owner.name)]
        controller = self._controllers.get((api_group, owner.kind, traits.namespace, owner.name))
        if why := self._unread.get((owner.kind, traits.namespace, owner.name)):
            return [ControllerUnknown(kind=owner.kind, name=owner.name, why=why)]
        if controller is None:
            return [ControllerNotFound(kind=owner.kind, name=owner.name)]
        least = self._rules.min_replicas
        if owner.kind in _WITH_REPLICAS and controller.replicas is not None and controller.replicas < least:
            return [MinReplicas(kind=owner.kind, name=owner.name, replicas=controller.replicas, least=least)]
        return []

    def _system(self, namespace: str, shape: int, age_seconds: int) -> list[KeepsNode]:
        if namespace != "kube-system" or self._rules.system_pods_without_pdb is BlockRule.ALLOW:
            return []
        if self._ledger.budgets_of(shape):
            return []
        timeout = self._rules.system_pod_timeout_seconds
        if timeout is not None and age_seconds > timeout:
            return []
        return [SystemPod(timeout_seconds=timeout)]

    def _storage(self, traits: PodTraits) -> list[KeepsNode]:
        if self._rules.local_storage is BlockRule.ALLOW:
            return []
        unsafe = traits.lost_volumes
        if not unsafe:
            return []
        # A pod may have thousands, and each node repeats them.
        return [LocalStorage(volumes=unsafe[:_MOST_NAMED], more=max(0, len(unsafe) - _MOST_NAMED))]


def _job_of(traits: PodTraits) -> str:
    """The name of the Job that controls the pod; empty: none does."""
    owner = traits.controller
    return owner.name if owner is not None and (owner.api_group, owner.kind) == ("batch", "Job") else ""
