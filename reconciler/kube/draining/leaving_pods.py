"""Which pods of a node must leave before it may go, judged by the rules of the decision layer on what was read just now."""

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.decisions.removal.disruption import DisruptionLedger
from reconciler.decisions.removal.drain import DrainJudge, Fate
from reconciler.policy.documents import DrainRules

# Rules that look at the pod alone. Those that look at controllers and budgets were judged with the whole view at hand when
# the drain was planned, and disruption budgets are judged by the API server at each eviction.
_ABSOLUTE = ("NotSafeToEvict", "OnCompletion")
_OWN_RULES = (*_ABSOLUTE, "BlockedNamespace", "LocalStorage", "Unreplicated", "CustomController")


class LeavingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is to leave. `blocked` says which rule forbids it (a pod that came after the plan); empty: none."""

    namespace: str
    name: str
    uid: str
    deleting: bool
    grace_seconds: int
    blocked: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


def leaving_pods(items: list[Raw], rules: DrainRules | None, now_seconds: int) -> tuple[LeavingPod, ...]:
    """Pods that must leave, in the order of their names: not those of DaemonSets, mirrors, finished ones and those that
    should have ended long ago. Without `rules` only those block that no policy can lift. Raises `SnapshotError` for a pod
    that cannot be read."""
    lasting = _ABSOLUTE if rules is None else _OWN_RULES
    intake = Intake()
    intake.read(Document(file="pods", api_version="v1", kind="Pod", items=items, is_list=True), stamps=False)
    world = assemble(intake, Manifest(captured_seconds=now_seconds))
    judge = DrainJudge(world, rules or DrainRules(), DisruptionLedger(world), now_seconds)
    found = []
    for index, pod in enumerate(world.pods):
        verdict = judge.judge(index)
        if verdict.fate is Fate.STAYS:
            continue
        found.append(
            LeavingPod(
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                deleting=bool(pod.deletion_seconds),
                grace_seconds=world.pod_traits[pod.traits].grace_seconds,
                blocked=next((rule.sentence() for rule in verdict.rules if rule.code in lasting), ""),
            )
        )
    return tuple(found)
