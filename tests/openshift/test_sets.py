"""MachineSets row by row: who else sizes them, what discovery takes, what a Machine says of itself."""

from typing import cast

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.selection import label_pairs
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Served
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.platforms.openshift.rules import RULES, takes
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.policy.documents import Discovery
from tests.cluster.objects import scalable
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_autoscaler, machine_set, only, world
from tests.providers.scripted_api import ScriptedApi

SIZES = {f"{GROUP}/cluster-api-autoscaler-node-group-{end}-size": size for end, size in (("min", "1"), ("max", "6"))}


@pytest.mark.parametrize(
    ("namespaces", "labels", "parts", "taken"),
    [
        ((), {}, {"annotations": SIZES}, True),
        ((), {}, {}, False),
        ((NAMESPACE, "x"), {}, {"annotations": SIZES}, True),
        (("x",), {}, {"annotations": SIZES}, False),
        ((), {"team": "a"}, {"annotations": SIZES, "labels": {"team": "a", "b": "c"}}, True),
        ((), {"team": "a"}, {"annotations": SIZES, "labels": {"team": "b"}}, False),
        ((), {"team": "a", "b": "d"}, {"annotations": SIZES, "labels": {"team": "a", "b": "c"}}, False),
    ],
)
def test_discovery(namespaces: tuple[str, ...], labels: dict[str, str], parts: dict[str, object], *, taken: bool) -> None:
    """Sets with both size annotations, in one of the namespaces, with all labels."""
    item = Discovery(name="d", provider="openshift", namespaces=namespaces, labels=label_pairs(labels))
    assert takes(item, only(machine_set("a", 3, **parts))) is taken


def test_a_set_that_another_object_controls() -> None:
    """Its replicas are that one's; with a MachineAutoscaler a set needs no annotations."""
    owned = machine_set("a", 3, annotations=SIZES)
    reference = {"apiVersion": "x/v1", "kind": "Pool", "name": "p", "uid": "1", "controller": True}
    owned["metadata"]["ownerReferences"] = [reference]  # type: ignore[index]
    item = Discovery(name="d", provider="openshift")
    assert not takes(item, only(owned))
    assert takes(item, only(machine_set("a", 3), machine_autoscaler("ma", "a", 1, 2)))


def test_a_set_in_a_policy() -> None:
    """As it is written there; somebody may declare it in git."""
    ref = TargetRef(kind=MACHINE_SET, namespace="n", name="a")
    assert RULES.policy_value(ref) == {"openshift": {"namespace": "n", "machineSet": "a"}}
    assert (RULES.provider, RULES.declared_in_manifests) == ("openshift", True)


@pytest.mark.parametrize(("decides", "double"), [("MachineAPI", "MachineSet"), ("ClusterAPI", MACHINE_SET)])
def test_the_twin_that_does_not_decide(decides: str, double: str) -> None:
    """Of two sets of one name in two APIs; one without a twin, or whose namesake lies elsewhere, is none."""
    api = {"authoritativeAPI": decides}
    twin = scalable("MachineSet", "a")
    twin["metadata"]["namespace"] = "openshift-cluster-api"
    elsewhere = scalable("MachineSet", "b")
    sets = [machine_set(name, 3, spec=dict(api), status=dict(api)) for name in ("a", "b")]
    found = RULES.doubles(world(*sets, twin, elsewhere).targets)
    assert {(ref.kind, ref.name) for ref in found} == {(double, "a")}


@pytest.mark.parametrize(
    ("wanted", "status", "by", "words"),
    [
        ("", {}, "", ""),
        ("MachineAPI", {"authoritativeAPI": "MachineAPI"}, "", ""),
        ("ClusterAPI", {"authoritativeAPI": "ClusterAPI"}, "its twin in Cluster API", "spec.authoritativeAPI is ClusterAPI"),
        ("MachineAPI", {}, "a migration between two APIs", "status.authoritativeAPI is unset"),
        ("", {"authoritativeAPI": "MachineAPI"}, "a migration between two APIs", "spec.authoritativeAPI is unset"),
        ("Migrating", {"authoritativeAPI": "Migrating"}, "a migration between two APIs", "is Migrating"),
        (
            "MachineAPI",
            {"authoritativeAPI": "MachineAPI", "conditions": [{"type": "Synchronized", "status": "False", "message": "m"}]},
            "a migration between two APIs",
            "condition Synchronized is False: m",
        ),
        (
            "MachineAPI",
            {
                "authoritativeAPI": "MachineAPI",
                "conditions": [{"type": "Other", "status": "False"}, {"type": "Synchronized", "status": "True"}],
            },
            "",
            "",
        ),
        (
            "MachineAPI",
            {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 2},
            "a migration between two APIs",
            "generation 3 is not synchronized yet",
        ),
        ("MachineAPI", {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 3}, "", ""),
        ("MachineAPI", {"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 0}, "", ""),
    ],
)
def test_which_api_decides(wanted: str, status: Object, by: str, words: str) -> None:
    """SOURCE: openshift/cluster-capi-operator: while it is not settled nobody writes."""
    found = only(machine_set("a", 3, spec={"authoritativeAPI": wanted}, status=status)).writers
    assert [one.by for one in found] == ([by] if by else [])
    assert all(words in one.evidence for one in found)


@pytest.mark.parametrize(
    ("parts", "by", "evidence"),
    [
        ({"role": "master"}, "the control plane", f"its Machines have {GROUP}/cluster-api-machine-role: master"),
        ({"role": "control-plane"}, "the control plane", f"its Machines have {GROUP}/cluster-api-machine-role: control-plane"),
        ({"role": "worker"}, "", ""),
        (
            {"labels": {"hive.openshift.io/machine-pool": "w"}},
            "Hive",
            "label hive.openshift.io/machine-pool: w: its hub resets replicas",
        ),
        ({"labels": {"hive.openshift.io/managed": ""}}, "Hive", "label hive.openshift.io/managed: : its hub resets replicas"),
        (
            {"annotations": {"autoscaling.openshift.io/machineautoscaler": "n/ma"}},
            "MachineAutoscaler n/ma",
            "annotation autoscaling.openshift.io/machineautoscaler: n/ma",
        ),
    ],
)
def test_who_else_sizes_it(parts: dict[str, object], by: str, evidence: str) -> None:
    """Each with its evidence."""
    found = only(machine_set("a", 3, **parts)).writers
    assert [(one.by, one.evidence) for one in found] == ([(by, evidence)] if by else [])


def test_the_autoscaler_that_names_it() -> None:
    """Its range is the set's, and it is told; the mark on the set is its own then."""
    marked = machine_set("a", 3, annotations={"autoscaling.openshift.io/machineautoscaler": "n/other"})
    found = only(marked, machine_autoscaler("ma", "a", 1, 6))
    name = f"MachineAutoscaler {NAMESPACE}/ma"
    assert [(one.by, one.evidence) for one in found.writers] == [(name, f"{name} sizes it between 1 and 6")]
    assert (found.min_size, found.max_size, found.size_origin, found.beyond_autoscaler) == (1, 6, name, False)


@pytest.mark.parametrize(
    ("annotations", "beyond"),
    [({}, True), (dict([*SIZES.items()][:1]), False), (dict([*SIZES.items()][1:]), False), (SIZES, False)],
)
def test_whether_the_autoscaler_passes_it_over(annotations: dict[str, str], *, beyond: bool) -> None:
    """One without either size annotation."""
    assert only(machine_set("a", 3, annotations=annotations)).beyond_autoscaler is beyond


def hooks(**names: str) -> Object:
    return {key: [{"name": name, "owner": "me"}] for key, name in names.items()}


@pytest.mark.parametrize(
    ("parts", "phase"),
    [
        ({}, "Running"),
        ({"deleting": True, "phase": "Deleting"}, "Deleting"),
        ({"hooks": hooks(preDrain="a")}, "Running"),
        ({"deleting": True, "phase": "Deleting", "hooks": hooks(preDrain="a")}, "Deleting, kept by lifecycle hook a of me"),
        ({"deleting": True, "phase": "Deleting", "hooks": hooks(preTerminate="b")}, "Deleting, kept by lifecycle hook b of me"),
        (
            {"deleting": True, "phase": "Deleting", "hooks": hooks(preDrain="a", preTerminate="b")},
            "Deleting, kept by lifecycle hook a of me",
        ),
        ({"phase": None}, ""),
    ],
)
def test_where_a_machine_is(parts: dict[str, object], phase: str) -> None:
    """With what keeps one that is going, which may be for days."""
    (found,) = world(machine_set("a"), machine("m", "a", **parts)).machines
    assert found.phase == phase


def test_machines_that_failed() -> None:
    """In their own words, else by their phase; three are named where more did, and nothing else goes then."""
    found = world(
        machine_set("a", 5),
        *(machine(f"m{number}", "a", phase="Failed") for number in range(4)),
        machine("m4", "a", error="no quota"),
    )
    assert [one.failed for one in found.machines] == ["phase Failed"] * 4 + ["InvalidConfiguration: no quota"]
    assert found.targets[0].keeps_nodes.startswith("Machine m0, m1, m2 and 2 more failed and could go")
    three = world(machine_set("a", 5), *(machine(f"m{number}", "a", phase="Failed") for number in range(3)))
    assert three.targets[0].keeps_nodes.startswith("Machine m0, m1, m2 failed")


def test_machines_that_say_little() -> None:
    """Without a status and labels nothing is known of them; one of another API's set is nobody's here."""
    bare = machine("m", "a")
    bare["status"] = None
    bare["metadata"] |= {"creationTimestamp": None, "labels": None, "annotations": None}  # type: ignore[operator]
    (found,) = world(machine_set("a"), bare).machines
    assert (found.node, found.phase, found.zone, found.created_seconds, found.failed) == ("", "", "", 0, "")
    other = machine("m", "a")
    other["metadata"]["ownerReferences"][0]["apiVersion"] = "cluster.x-k8s.io/v1beta2"  # type: ignore[index]
    assert world(machine_set("a"), other).machines[0].target is None


@pytest.mark.parametrize("deleting", [False, True])
def test_a_machine_autoscaler_that_is_going(*, deleting: bool) -> None:
    """It sizes nothing any more; one of another kind of target never did."""
    ma = machine_autoscaler("ma", "a", 1, 6)
    if deleting:
        ma["metadata"]["deletionTimestamp"] = "2026-11-02T00:00:00Z"  # type: ignore[index]
    assert bool(only(machine_set("a"), ma).writers) is not deleting
    other = machine_autoscaler("ma", "a", 1, 6)
    other["spec"]["scaleTargetRef"]["kind"] = "MachineDeployment"  # type: ignore[index]
    assert only(machine_set("a"), other).writers == ()


@pytest.mark.parametrize("status", [404, 403])
def test_a_machine_that_is_not_there(status: int) -> None:
    """It is gone where the server says so; where it may not be read nobody knows."""
    dialect = MachineApiDialect((Served(platform="openshift", group=GROUP, version="v1beta1"),))
    api = cast(Api, ScriptedApi({f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/machines/m": status}))
    if status == 404:
        assert dialect.read_machine(api, NAMESPACE, "m") is None
    else:
        with pytest.raises(ApiError):
            dialect.read_machine(api, NAMESPACE, "m")
