"""How a MachineSet changes hands, said from what is there: every step, and what is found when it is not done."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.decisions.platform_handovers import Handover, HandoverCase, handovers
from reconciler.plan.plan import OwnerState
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.policy.documents import Mode, NodeGroup, Size, TargetSpec
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_autoscaler, machine_set, owners, world
from tests.policies import node_group, policy

(OPENSHIFT,) = [one for one in handovers() if one.provider == "openshift"]
SIZES = {f"{GROUP}/cluster-api-autoscaler-node-group-{end}-size": size for end, size in (("min", "1"), ("max", "6"))}
MARKED = {"autoscaling.openshift.io/machineautoscaler": f"{NAMESPACE}/ma"}
WRITTEN = [owners("cluster-autoscaler", "Update", "scale")]
OURS = [owners("nodegroup-reconciler", "Apply")]
NOW = 1_800_000_000


def named(**size: int | None) -> NodeGroup:
    target = TargetSpec(provider="openshift", kind=MACHINE_SET, namespace=NAMESPACE, name="a")
    return node_group("a", target=target, size=Size(**size) if size else Size(min=1, max=6))


def asked(
    there: World, *groups: NodeGroup, adopt_from: tuple[str, ...] = ("cluster-autoscaler",), back: bool = False
) -> Handover:
    (facts,) = there.targets
    case = HandoverCase(facts=facts, world=there, policy=policy(*groups, adopt_from=adopt_from), now_seconds=NOW)
    return OPENSHIFT.back(case) if back else OPENSHIFT.to_us(case)


def done(handover: Handover) -> list[bool]:
    return [step.done for step in handover.steps]


def autoscaled() -> tuple[Object, Object]:
    return machine_set("a", 3, annotations=SIZES | MARKED, managed=WRITTEN), machine_autoscaler("ma", "a", 1, 6)


def test_the_policy_comes_before_the_machine_autoscaler_goes() -> None:
    """With the MachineAutoscaler go the annotations by which the set was discovered: the first step names the set and its
    size, as the MachineAutoscaler has it."""
    handover = asked(world(*autoscaled()), adopt_from=())
    assert (handover.next, done(handover)[:3]) == (0, [False, False, False])
    assert handover.steps[0].lines[-1] == "  size: {min: 1, max: 6}"
    assert handover.steps[1].lines == ("spec: {adoptFrom: [cluster-autoscaler]}",)
    assert handover.steps[2].lines == (f"oc delete machineautoscaler ma -n {NAMESPACE}",)
    assert not done(asked(world(*autoscaled()), named(min=1)))[0]


def test_what_the_autoscaler_may_write_until_it_is_deleted_counts() -> None:
    """Nobody has written replicas yet: its manager is asked for in adoptFrom all the same."""
    item = machine_set("a", 3, annotations=SIZES | MARKED)
    before = asked(world(item, machine_autoscaler("ma", "a", 1, 6)), named(), adopt_from=())
    assert (before.next, before.steps[1].lines) == (1, ("spec: {adoptFrom: [cluster-autoscaler]}",))
    assert asked(world(item, machine_autoscaler("ma", "a", 1, 6)), named()).next == 2


@pytest.mark.parametrize(
    ("annotations", "word"), [(SIZES, "annotations"), (MARKED, "MachineAutoscaler"), (SIZES | MARKED, "MachineAutoscaler")]
)
def test_the_operator_has_to_follow(annotations: dict[str, str], word: str) -> None:
    """The MachineAutoscaler is deleted, and what it wrote is still there: the step is not done."""
    handover = asked(world(machine_set("a", 3, annotations=annotations, managed=WRITTEN)), named())
    assert handover.next == 2
    assert word in handover.steps[2].evidence


def test_what_a_drain_of_the_autoscaler_has_left_is_told() -> None:
    """A mark in either spelling, a taint; a Machine that is going is none of it."""
    there = world(
        machine_set("a", 3, managed=WRITTEN),
        machine("a-1", "a", node="n1", annotations={f"{GROUP}/cluster-api-delete-machine": "2026-11-01"}),
        machine("a-2", "a", node="n2"),
        machine("a-3", "a", deleting=True, annotations={f"{GROUP}/delete-machine": "2026-11-01"}),
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n2"},
            "spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}]},
            "status": {},
        },
    )
    handover = asked(there, named())
    assert handover.next == 3
    assert handover.steps[3].evidence == ("node n2 has a taint of the autoscaler, and Machine a-1 is marked for deletion")
    assert [line.split()[:4] for line in handover.steps[3].lines] == [
        ["oc", "adm", "taint", "nodes"],
        ["oc", "annotate", "machine", "a-1"],
    ]


def test_then_it_is_adopted_and_stays() -> None:
    """Its last writer is in adoptFrom; the loop's own entry is the end of it."""
    assert asked(world(machine_set("a", 3, managed=WRITTEN)), named()).next == 4
    assert asked(world(machine_set("a", 3, managed=OURS)), named()).next == 6


def test_what_git_declares_is_adopted_before_the_line_goes() -> None:
    """An applier who drops the field alone sets 1: its manager has to be in adoptFrom first, and the line is the last step."""
    applied = machine_set("a", 3, managed=[owners("argocd-controller", "Apply")])
    held = asked(world(applied), named())
    assert (held.next, held.steps[1].lines) == (1, ("spec: {adoptFrom: [cluster-autoscaler, argocd-controller]}",))
    allowed = asked(world(applied), named(), adopt_from=("argocd-controller",))
    assert (allowed.next, done(allowed)[4:]) == (4, [False, False])
    assert "would fall to 1" in allowed.steps[5].title


def test_another_owner_is_in_the_way() -> None:
    """Hive is no manager that adoptFrom could name."""
    handover = asked(world(machine_set("a", 3, labels={"hive.openshift.io/managed": "true"})), named())
    assert (handover.next, handover.steps[1].lines) == (1, ())
    assert "Hive" in handover.steps[1].evidence or "hive" in handover.steps[1].evidence


def test_back() -> None:
    """Released, named by a MachineAutoscaler with bounds around what is there, and annotated."""
    ours, free = machine_set("a", 3, managed=OURS), machine_set("a", 3)
    assert asked(world(ours), named(), back=True).next == 0
    assert asked(world(ours), back=True).steps[0].evidence == "the loop has not released it yet"
    freed = asked(world(free), back=True)
    assert (freed.next, freed.steps[1].lines[-3:-1]) == (1, ("  minReplicas: 0", "  maxReplicas: 3"))
    assert asked(world(free, machine_autoscaler("ma", "a", 1, 6)), back=True).next == 2
    assert asked(world(*autoscaled()), back=True).next == 3


def test_an_autoscaler_at_work_elsewhere_holds_only_what_it_sizes() -> None:
    """OpenShift's sizes sets with size annotations alone: another one may be handed over while it works on."""
    terms = Terms(
        adopt_from=(),
        human_hold_seconds=0,
        now_seconds=NOW,
        first_seen_seconds=0,
        rivals=("Lease x/cluster-autoscaler is renewed",),
    )
    for annotations, state in (({}, OwnerState.OURS), (SIZES, OwnerState.HELD)):
        (facts,) = world(machine_set("a", 3, annotations=annotations)).targets
        assert judge(facts, terms).ownership.state is state


def told(handover: Handover, place: int) -> tuple[bool, str]:
    step = handover.steps[place]
    return step.done, step.evidence


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ((), (False, "no NodeGroup of policy test names the set")),
        ((named(),), (True, "NodeGroup a names the set")),
        ((named(min=1, max=None),), (False, "NodeGroup a names the set, without its size")),
    ],
)
def test_whether_the_policy_names_it(groups: tuple[NodeGroup, ...], expected: tuple[bool, str]) -> None:
    """With its size, since the bounds go with the MachineAutoscaler."""
    handover = asked(world(machine_set("a", 3)), *groups)
    assert told(handover, 0) == expected
    assert bool(handover.steps[0].lines) is not expected[0]


@pytest.mark.parametrize(
    ("items", "groups", "bounds"),
    [
        ((machine_set("a", 3),), (), "{min: 0, max: 3}"),
        ((machine_set("a", 0),), (), "{min: 0, max: 1}"),
        ((machine_set("a", None),), (), "{min: 0, max: 1}"),
        (autoscaled(), (), "{min: 1, max: 6}"),
        ((machine_set("a", 3, annotations=SIZES), machine_autoscaler("ma", "a", 5, 9)), (), "{min: 3, max: 9}"),
        ((machine_set("a", 3),), (named(min=2, max=None),), "{min: 2, max: 3}"),
        ((machine_set("a", 3, annotations=SIZES),), (named(min=None, max=None),), "{min: 1, max: 6}"),
    ],
)
def test_the_size_that_is_proposed(items: tuple[Object, ...], groups: tuple[NodeGroup, ...], bounds: str) -> None:
    """Of the group, else of the autoscaler, else what is there; never a minimum above what is there."""
    assert asked(world(*items), *groups).steps[0].lines == (
        "spec:",
        f"  target: {{openshift: {{namespace: {NAMESPACE}, machineSet: a}}}}",
        f"  size: {bounds}",
    )


def test_whom_the_policy_may_take_over_from() -> None:
    """What is allowed is told where that is enough; nobody is named twice."""
    ours = asked(world(machine_set("a", 3)), named(), adopt_from=("x", "y"))
    assert (told(ours, 1), ours.steps[1].lines) == ((True, "adoptFrom is [x, y]"), ())
    applied = machine_set("a", 3, managed=[owners("cluster-autoscaler", "Apply")])
    twice = asked(world(applied, machine_autoscaler("ma", "a", 1, 6)), named(), adopt_from=())
    assert twice.steps[1].lines == ("spec: {adoptFrom: [cluster-autoscaler]}",)
    held = machine_set("a", 3, managed=[owners("argocd", "Apply")], labels={"hive.openshift.io/managed": "true"})
    assert asked(world(held), named()).steps[1].lines == ()


@pytest.mark.parametrize(
    ("items", "expected", "lines"),
    [
        ((machine_set("a", 3),), (True, "no MachineAutoscaler and no size annotations: the autoscaler skips the set"), ()),
        (
            autoscaled(),
            (False, f"MachineAutoscaler {NAMESPACE}/ma names the set"),
            (f"oc delete machineautoscaler ma -n {NAMESPACE}",),
        ),
        (
            (machine_set("a", 3, annotations=SIZES),),
            (False, "cluster-api-autoscaler-node-group-max-size are still there"),
            (
                f"oc annotate machineset a -n {NAMESPACE} {GROUP}/cluster-api-autoscaler-node-group-min-size- "
                f"{GROUP}/cluster-api-autoscaler-node-group-max-size-",
            ),
        ),
    ],
)
def test_what_the_autoscaler_still_sizes(items: tuple[Object, ...], expected: tuple[bool, str], lines: tuple[str, ...]) -> None:
    """Its object first, then what that wrote."""
    handover = asked(world(*items), named())
    done_, found = told(handover, 2)
    assert (done_, found.endswith(expected[1]), handover.steps[2].lines) == (expected[0], True, lines)


TAINT = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def node(name: str, *taints: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": list(taints)}, "status": {}}


@pytest.mark.parametrize(
    ("taints", "of", "left"),
    [((TAINT,), "a", True), ((CORDON, TAINT), "a", True), ((CORDON,), "a", False), ((), "a", False), ((TAINT,), "b", False)],
)
def test_taints_of_the_autoscaler(taints: tuple[Object, ...], of: str, *, left: bool) -> None:
    """On a node of the set, beside whatever others there are."""
    there = world(machine_set("a", 3), machine("m", of, node="n1"), machine("x", "a"), node("n1", *taints))
    handover = asked(there, named())
    keys = "ToBeDeletedByClusterAutoscaler- DeletionCandidateOfClusterAutoscaler-"
    assert told(handover, 3) == (
        (False, "node n1 has a taint of the autoscaler") if left else (True, "no taint and no mark of the autoscaler")
    )
    assert handover.steps[3].lines == ((f"oc adm taint nodes n1 {keys}",) if left else ())


def test_a_mark_is_taken_back_in_both_spellings() -> None:
    """As the autoscaler writes it."""
    marked = machine("m", "a", annotations={f"{GROUP}/delete-machine": "x"})
    (line,) = asked(world(machine_set("a", 3), marked), named()).steps[3].lines
    assert line == f"oc annotate machine m -n {NAMESPACE} {GROUP}/delete-machine- {GROUP}/cluster-api-delete-machine-"


QUIET = ", but the mode is Observe, in which the loop does not write"


@pytest.mark.parametrize(
    ("managed", "mode", "expected"),
    [
        ([], Mode.ENFORCE, (False, "spec.replicas belongs to nobody")),
        ([], None, (False, f"spec.replicas belongs to nobody{QUIET}")),
        ([], Mode.OBSERVE, (False, f"spec.replicas belongs to nobody{QUIET}")),
        (WRITTEN, Mode.ENFORCE, (False, "spec.replicas belongs to cluster-autoscaler (Update)")),
        (OURS, None, (True, "spec.replicas belongs to nodegroup-reconciler (Apply)")),
        (
            [*OURS, *WRITTEN],
            Mode.ENFORCE,
            (False, "spec.replicas belongs to nodegroup-reconciler (Apply), cluster-autoscaler (Update)"),
        ),
    ],
)
def test_whose_replicas_are(managed: list[Object], mode: Mode | None, expected: tuple[bool, str]) -> None:
    """Ours alone; in mode Observe they will never be, which is told until they are."""
    group = msgspec.structs.replace(named(), mode=mode)
    (facts,) = world(machine_set("a", 3, managed=managed)).targets
    rules = msgspec.structs.replace(policy(group), policy=msgspec.structs.replace(policy(group).policy, mode=Mode.OBSERVE))
    case = HandoverCase(facts=facts, world=world(), policy=rules, now_seconds=NOW)
    found = told(OPENSHIFT.to_us(msgspec.structs.replace(case)), 4)
    assert (found[0], set(found[1].replace(QUIET, "")), QUIET in found[1]) == (
        expected[0],
        set(expected[1].replace(QUIET, "")),
        QUIET in expected[1],
    )


def test_replicas_that_a_writer_still_sizes() -> None:
    """Ours by their owner, and yet a MachineAutoscaler names the set."""
    assert not told(asked(world(machine_set("a", 3, managed=OURS), machine_autoscaler("ma", "a", 1, 6)), named()), 4)[0]


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, (True, "no applied manifest declares replicas")),
        ({"managed": OURS}, (True, "no applied manifest declares replicas")),
        ({"managed": [owners("argocd", "Apply")]}, (False, "no applied manifest declares replicas")),
        ({"managed": [*OURS, owners("argocd", "Apply")]}, (False, "no applied manifest declares replicas")),
        ({"managed": [owners("kubectl-edit", "Update")]}, (True, "no applied manifest declares replicas")),
        (
            {"annotations": {LAST_APPLIED: '{"spec": {"replicas": 3}}'}},
            (False, "managed by kubectl: replicas stay 3 when the line goes"),
        ),
        ({"annotations": {LAST_APPLIED: '{"spec": {}}'}}, (True, "no applied manifest declares replicas")),
    ],
)
def test_what_a_manifest_declares(parts: dict[str, object], expected: tuple[bool, str]) -> None:
    """By who applies the field, and by what kubectl has left of its manifest."""
    assert told(asked(world(machine_set("a", 3, **parts)), named()), 5) == expected


def test_what_gitops_keeps() -> None:
    """Its mark says who keeps the object there."""
    tracked = machine_set("a", 3, annotations={"argocd.argoproj.io/tracking-id": "app:x/y:z/a"})
    found = told(asked(world(tracked), named()), 5)
    assert (found[0], found[1].endswith(": replicas stay 3 when the line goes"), "kubectl" in found[1]) == (True, True, False)


def test_the_mode_of_a_group_that_says_none() -> None:
    """That of its policy, which enforces."""
    assert told(asked(world(machine_set("a", 3)), named()), 4) == (False, "spec.replicas belongs to nobody")


def test_nobody_adopts_from_a_hub() -> None:
    """It sets replicas back, whatever a policy allows."""
    item = machine_set("a", 3, labels={"hive.openshift.io/managed": "true"}, managed=[owners("hive-controller", "Apply")])
    assert asked(world(item), named()).steps[1].lines == ()


def test_bounds_of_a_set_without_replicas() -> None:
    """Nothing is there that a minimum could hold."""
    handover = asked(world(machine_set("a", None, annotations=SIZES)))
    assert handover.steps[0].lines[-1] == "  size: {min: 0, max: 6}"


def test_every_step_back() -> None:
    """What is found at each, done or not."""
    ours, free = machine_set("a", 3, managed=OURS), machine_set("a", 3)
    ma = machine_autoscaler("ma", "a", 1, 6)
    begun = asked(world(ours), named(), back=True)
    assert told(begun, 0) == (False, "NodeGroup a names the set")
    assert told(begun, 1) == (False, "no MachineAutoscaler names the set")
    assert told(begun, 2) == (False, "annotation autoscaling.openshift.io/machineautoscaler is not there yet")
    marked = machine_set("a", 3, annotations={"reconciler.dev/policy": "prod"})
    assert told(asked(world(marked), back=True), 0) == (False, "the loop has not released it yet")
    assert told(asked(world(free), back=True), 0) == (True, "released")
    assert told(asked(world(free), named(), back=True), 0) == (False, "NodeGroup a names the set")
    named_ = asked(world(free, ma), back=True)
    assert told(named_, 1) == (True, f"MachineAutoscaler {NAMESPACE}/ma names the set")
    assert told(named_, 2) == told(begun, 2)
    left = asked(
        world(machine_set("a", 3, annotations=SIZES | {"autoscaling.openshift.io/machineautoscaler": "gone"})), back=True
    )
    assert told(asked(world(*autoscaled()), back=True), 2) == (True, f"MachineAutoscaler {NAMESPACE}/ma")
    empty = machine_set("a", 3, annotations={"autoscaling.openshift.io/machineautoscaler": ""})
    assert told(asked(world(empty), back=True), 2) == told(begun, 2), "one that names nothing says nothing"
    assert left.steps[1].lines == (
        "apiVersion: autoscaling.openshift.io/v1beta1",
        "kind: MachineAutoscaler",
        f"metadata: {{name: a, namespace: {NAMESPACE}}}",
        "spec:",
        "  minReplicas: 1",
        "  maxReplicas: 6",
        f"  scaleTargetRef: {{apiVersion: {GROUP}/v1beta1, kind: MachineSet, name: a}}",
    )
