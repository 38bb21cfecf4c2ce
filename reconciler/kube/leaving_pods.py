"""Which pods must leave a node before it may go, by the rules of the decisions and a fresh read."""

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.assembly import assemble
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.snapshots.manifest import Manifest
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.drains.drain import DrainJudge, Fate
from reconciler.policy.documents import DrainRules

# These rules look at the pod alone. Rules about controllers and budgets were judged with the whole view when the drain was
# planned, and the API server judges disruption budgets at each eviction.
_ABSOLUTE = ("NotSafeToEvict", "OnCompletion", "DoNotDisrupt", "DoNotDisruptUnreadable")
_OWN_RULES = (*_ABSOLUTE, "BlockedNamespace", "LocalStorage", "Unreplicated", "CustomController", "JobRunning", "JobAwaited")


class LeavingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that is to leave. `blocked` is the rule that forbids it (for a pod that came after the plan); empty: none."""

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
    """Pods that must leave, in the order of their names. DaemonSet pods, mirror pods, finished pods and pods that should have
    ended long ago are left out. Without `rules`, only blocks that no policy can lift count. Raises `SnapshotError` for a pod that
    cannot be read."""
    lasting = _ABSOLUTE if rules is None else _OWN_RULES
    intake = Intake()
    intake.read(Document(file="pods", api_version="v1", kind="Pod", items=items, is_list=True), stamps=False)
    world = assemble(intake, Manifest(captured_seconds=now_seconds))
    judge = DrainJudge(world, rules or DrainRules(), DisruptionLedger(world), now_seconds)
    leaving = []
    for index, pod in enumerate(world.pods):
        verdict = judge.judge(index)
        if verdict.fate is Fate.STAYS:
            continue
        leaving.append(
            LeavingPod(
                namespace=pod.namespace,
                name=pod.name,
                uid=pod.uid,
                deleting=bool(pod.deletion_seconds),
                grace_seconds=world.pod_traits[pod.traits].grace_seconds,
                blocked=next((rule.sentence() for rule in verdict.keeps if rule.code in lasting), ""),
            )
        )
    return tuple(leaving)
