"""How a MachineSet changes hands, said from what is there: every step, and what is found when it is not done."""

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.decisions.platform_handover import Handover, HandoverCase, handovers
from reconciler.plan.plan import OwnerState
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.policy.documents import NodeGroup, Size, TargetSpec
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
    assert word in handover.steps[2].found


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
    assert handover.steps[3].found == ("node n2 carries a taint of the autoscaler; Machine a-1 is marked for deletion")
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
    assert "Hive" in handover.steps[1].found or "hive" in handover.steps[1].found


def test_back() -> None:
    """Released, named by a MachineAutoscaler with bounds around what is there, and annotated."""
    ours, free = machine_set("a", 3, managed=OURS), machine_set("a", 3)
    assert asked(world(ours), named(), back=True).next == 0
    assert asked(world(ours), back=True).steps[0].found == "the loop has not released it yet"
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
