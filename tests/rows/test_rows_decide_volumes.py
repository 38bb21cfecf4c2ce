"""Rows about volumes: disks live in one zone."""

import pytest

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.pods.pod import VolumeUse
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.volume import PersistentVolume, PersistentVolumeClaim
from reconciler.cluster.world import Storage
from reconciler.values.label_selector import Requirement
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of


@pytest.mark.parametrize("zone", ["a", "b", "c"])
@pytest.mark.parametrize("balance", ["Off", "all", "Auto"])
def test_s060_only_the_group_of_the_volumes_zone_grows(zone: str, balance: str) -> None:
    """Three empty groups that differ in their zone alone, balanced or not: the disk's zone decides."""
    cluster = ClusterBuilder()
    for name in "abc":
        cluster.group(name, nodes=0, labels={"pool": "all", ZONE_LABEL: name})
    cluster.pods("db", 1, cpu="1", shape={"volumes": (VolumeUse(kind="PersistentVolumeClaim", claim="data"),)})
    storage = Storage(
        volumes=(
            PersistentVolume(
                name="pv",
                phase="Bound",
                driver="disk.csi.example.com",
                handle="pv",
                capacity_bytes=1 << 30,
                access_modes=("ReadWriteOnce",),
                claim="shop/data",
                required_terms=(NodeSelectorTerm((Requirement(ZONE_LABEL, "In", (zone,)),)),),
            ),
        ),
        claims=(
            PersistentVolumeClaim(
                namespace="shop",
                name="data",
                volume="pv",
                bind_completed=True,
                phase="Bound",
                requested_bytes=1 << 30,
                access_modes=("ReadWriteOnce",),
            ),
        ),
    )
    rules = policy(*(node_group(name, balance_with=balance) for name in "abc"))
    plan = plan_of(cluster.world(storage=storage), rules)
    assert [line.name for line in plan.groups if line.desired] == [zone]
