"""A snapshot that leaves the house says the same of who sizes a MachineSet, and of its nodes."""

from reconciler.cluster.snapshots.listing import Listing, Object
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.snapshots.redaction import redacted
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.world import World
from tests.openshift.objects import GROUP, machine, machine_set


def listing(kind: str, plural: str, *items: Object) -> Listing:
    bare = [{key: part for key, part in item.items() if key not in ("apiVersion", "kind")} for item in items]
    return Listing(file=f"{plural}.{GROUP}", api_version=f"{GROUP}/v1beta1", kind=kind, items=bare)


def read(*listings: Listing) -> World:
    return read_snapshot({f"{one.file}.json": one.encoded() for one in listings})


def test_holds_shapes_and_failures_stay() -> None:
    """Hive, the control plane, the other API, a size, a Failed Machine; what its cloud said does not leave."""
    sets = (
        machine_set("hive", labels={"hive.openshift.io/machine-pool": "worker"}),
        machine_set("masters", role="master"),
        machine_set("twin", spec={"authoritativeAPI": "ClusterAPI"}, status={"authoritativeAPI": "ClusterAPI"}),
        machine_set(
            "sized",
            value={"numCPUs": 4, "memoryMiB": 16384},
            annotations={f"{GROUP}/vCPU": "8", f"{GROUP}/memoryMb": "1024", f"{GROUP}/maxPods": "58"},
        ),
    )
    whole = (
        listing("MachineSet", "machinesets", *sets),
        listing("Machine", "machines", machine("sized-1", "sized", phase="Failed", error="account 123 has no quota")),
    )
    before, after = read(*whole), read(*redacted(whole, Pseudonyms(b"s" * 32)))
    for one, other in zip(before.targets, after.targets, strict=True):
        assert (one.ref, [writer.by for writer in one.writers]) == (other.ref, [writer.by for writer in other.writers])
        assert (one.template.capacity, one.keeps_nodes) == (other.template.capacity, other.keeps_nodes)
    assert [bool(one.writers) for one in after.targets] == [True, True, False, True]
    assert after.machines[0].failed
    assert "account 123" not in "".join(one.encoded().decode() for one in redacted(whole, Pseudonyms(b"s" * 32)))
