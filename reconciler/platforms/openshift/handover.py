"""How a MachineSet is handed over between OpenShift's autoscaler and us.

SOURCE: the code of cluster-autoscaler-operator; we replayed its writes on the controllers of the Machine API. Deleting a
MachineAutoscaler removes its annotations from the set and leaves replicas; the autoscaler then skips the set. The operator
recreates a deleted Deployment, but leaves the replicas of an existing one. `spec.replicas` has the default 1: if its only owner
drops the field, it becomes 1.
"""

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE
from reconciler.decisions.ownership.owner import OUR_MANAGER, RIVAL, Terms, declared_by, judge, policy_mark
from reconciler.decisions.platform_handovers import Handover, HandoverCase, PlatformHandover, Step
from reconciler.platforms.openshift.facts.other_writers import AUTOSCALER_MARK
from reconciler.platforms.openshift.kinds import AUTOSCALING_GROUP, GROUP, MACHINE_SET
from reconciler.platforms.openshift.rules import lifts_mark
from reconciler.policy.documents import Mode
from reconciler.values.clauses import clauses

_TAINTS = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler")
_AUTOSCALER = "MachineAutoscaler "
_ALL = (
    "all sets together: oc scale deployment/cluster-autoscaler-default -n openshift-machine-api --replicas=0 (do not delete "
    "the Deployment, which the operator recreates). Alternatively, delete the ClusterAutoscaler `default`",
)


def to_us(case: HandoverCase) -> Handover:
    """From OpenShift's autoscaler to us. The policy comes first: the annotations for discovery and the bounds disappear with the
    MachineAutoscaler."""
    return Handover(
        steps=(_named(case), _adoptable(case), _unscaled(case), _left(case), _ours(case), _undeclared(case)), notes=_ALL
    )


def back(case: HandoverCase) -> Handover:
    """From us to OpenShift's autoscaler. Replicas stay in between."""
    facts = case.facts
    ours = [owner for owner in facts.owner.owners if owner.manager == OUR_MANAGER]
    released = case.group is None and not ours and not policy_mark(facts)
    named = case.group.name if case.group is not None else ""
    scaled = bool(_autoscaler(facts))
    marked = AUTOSCALER_MARK in dict(facts.annotations)
    low, high = _bounds(case)
    return Handover(
        steps=(
            Step(
                title="remove the NodeGroup from the policy: the loop releases the set, which keeps its replicas",
                done=released,
                evidence=f"NodeGroup {named} names the set"
                if named
                else "released"
                if released
                else "the loop has not released it yet",
            ),
            Step(
                title="create its MachineAutoscaler",
                lines=_autoscaler_lines(facts, low, high),
                done=scaled,
                evidence=f"{_autoscaler(facts)} names the set" if scaled else "no MachineAutoscaler names the set",
            ),
            Step(
                title="the operator writes the size annotations",
                done=scaled and marked,
                evidence=facts.size_origin if scaled and marked else f"annotation {AUTOSCALER_MARK} is not there yet",
            ),
        )
    )


def _named(case: HandoverCase) -> Step:
    group, (low, high) = case.group, _bounds(case)
    sized = group is not None and group.size.max is not None
    if group is None:
        evidence = f"no NodeGroup of policy {case.policy.policy.name} names the set"
    else:
        evidence = f"NodeGroup {group.name} names the set" + ("" if sized else ", without its size")
    ref = case.facts.ref
    lines = (
        "spec:",
        f"  target: {{openshift: {{namespace: {ref.namespace}, machineSet: {ref.name}}}}}",
        f"  size: {{min: {low}, max: {high}}}",
    )
    return Step(
        title="name the set in the policy, with its size: discovery and bounds disappear with the MachineAutoscaler",
        lines=() if sized else lines,
        done=sized,
        evidence=evidence,
    )


def _adoptable(case: HandoverCase) -> Step:
    """Judged as if no autoscaler named the set."""
    policy = case.policy.policy
    terms = Terms(
        adopt_from=policy.adopt_from,
        human_hold_seconds=policy.human_hold_time_seconds,
        now_seconds=case.now_seconds,
        first_seen_seconds=case.now_seconds,
        policy=policy.name,
    )
    others = tuple(one for one in case.facts.writers if not one.by.startswith(_AUTOSCALER))
    judged = judge(msgspec.structs.replace(case.facts, writers=others), terms)
    ownership = judged.ownership
    # Until it is deleted, it may still write what it has not written yet.
    named = [RIVAL] if _autoscaler(case.facts) and RIVAL not in policy.adopt_from else []
    if declared_by(ownership) and not others:
        named += [one for one in ownership.by.split(", ") if one not in named]
    allowed = f"adoptFrom is [{', '.join(policy.adopt_from)}]"
    wanted = ", ".join(dict.fromkeys((*policy.adopt_from, *named)))
    return Step(
        title="let the policy take replicas over from their writers",
        lines=(f"spec: {{adoptFrom: [{wanted}]}}",) if named else (),
        done=judged.ours and not named,
        evidence=allowed if judged.ours else clauses(ownership.evidence),
    )


def _unscaled(case: HandoverCase) -> Step:
    facts, autoscaler = case.facts, _autoscaler(case.facts)
    sized = facts.max_size is not None
    ref = facts.ref
    if autoscaler:
        namespace, _, name = autoscaler.removeprefix(_AUTOSCALER).partition("/")
        lines: tuple[str, ...] = (f"oc delete machineautoscaler {name} -n {namespace}",)
        evidence = f"{autoscaler} names the set"
    elif sized:
        keys = " ".join(f"{GROUP}/{key}-" for key in (MIN_SIZE, MAX_SIZE))
        lines, evidence = (
            (f"oc annotate machineset {ref.name} -n {ref.namespace} {keys}",),
            f"{facts.size_origin} are still there",
        )
    else:
        lines, evidence = (), "no MachineAutoscaler and no size annotations: the autoscaler skips the set"
    return Step(
        title="delete its MachineAutoscaler: the operator removes the size annotations and keeps the replicas",
        lines=lines,
        done=not autoscaler and not sized,
        evidence=evidence,
    )


def _left(case: HandoverCase) -> Step:
    """What a drain of the autoscaler has left. It is reported but not undone, since a drain may still use it."""
    world = case.world
    machines = [one for one in world.machines if one.target == case.facts.ref and not one.deleting]
    nodes = {one.node for one in machines if one.node}
    tainted = [
        node.name
        for node in world.nodes
        if node.name in nodes and any(taint.key in _TAINTS for taint in world.node_shapes[node.shape].taints)
    ]
    marked = [one for one in machines if one.delete_marked]
    words = [f"node {name} has a taint of the autoscaler" for name in tainted]
    words += [f"Machine {one.name} is marked for deletion" for one in marked]
    keys = " ".join(f"{key}-" for key in _TAINTS)
    lines = [f"oc adm taint nodes {name} {keys}" for name in tainted]
    lines += [lifts_mark(case.facts, one) for one in marked]
    return Step(
        title="look for marks that a drain of the autoscaler has left. If no drain is running, remove them",
        lines=tuple(lines),
        done=not words,
        evidence=clauses(words) or "no taint and no mark of the autoscaler",
    )


def _ours(case: HandoverCase) -> Step:
    owners = case.facts.owner.owners
    done = bool(owners) and all(owner.manager == OUR_MANAGER for owner in owners) and not case.facts.writers
    managers = ", ".join(f"{owner.manager} ({owner.operation})" for owner in owners) or "nobody"
    mode = case.group.mode if case.group is not None and case.group.mode is not None else case.policy.policy.mode
    quiet = ", but the mode is Observe, in which the loop does not write" if mode is not Mode.ENFORCE and not done else ""
    return Step(
        title="the loop adopts the set at its replicas", done=done, evidence=f"spec.replicas belongs to {managers}{quiet}"
    )


def _undeclared(case: HandoverCase) -> Step:
    """Nobody can see here whether git still has the line. It is visible that something manages the object there."""
    owner = case.facts.owner
    kept = ", ".join(owner.tracking) or ("kubectl" if owner.last_applied_replicas is not None else "")
    declared = any(one.manager != OUR_MANAGER and one.operation == "Apply" for one in owner.owners)
    now = case.facts.replicas
    return Step(
        title="only now remove replicas from the manifest, if git has one: without another owner they would fall to 1",
        lines=(),
        done=not declared and owner.last_applied_replicas is None,
        evidence=f"managed by {kept}: replicas stay {now} when the line goes"
        if kept
        else "no applied manifest declares replicas",
    )


def _bounds(case: HandoverCase) -> tuple[int, int]:
    """The group's bounds, else those of the MachineAutoscaler or the annotations, else the current size."""
    facts, size = case.facts, case.group.size if case.group is not None else None
    there = facts.replicas or 0
    low = size.min if size is not None and size.min is not None else facts.min_size
    high = size.max if size is not None and size.max is not None else facts.max_size
    return (min(low, there) if low is not None else 0), (high if high is not None else max(there, 1))


def _autoscaler(facts: TargetFacts) -> str:
    """`MachineAutoscaler namespace/name`; empty if none names the set."""
    return next((one.by for one in facts.writers if one.by.startswith(_AUTOSCALER)), "")


def _autoscaler_lines(facts: TargetFacts, low: int, high: int) -> tuple[str, ...]:
    return (
        f"apiVersion: {AUTOSCALING_GROUP}/v1beta1",
        "kind: MachineAutoscaler",
        f"metadata: {{name: {facts.ref.name}, namespace: {facts.ref.namespace}}}",
        "spec:",
        f"  minReplicas: {low}",
        f"  maxReplicas: {high}",
        f"  scaleTargetRef: {{apiVersion: {GROUP}/v1beta1, kind: MachineSet, name: {facts.ref.name}}}",
    )


HANDOVER = PlatformHandover(provider="openshift", kinds=(MACHINE_SET,), to_us=to_us, back=back)
