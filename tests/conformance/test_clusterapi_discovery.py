"""Cluster Autoscaler's table cases about discovery of Cluster API targets, and the count of all cases of its provider.

| table | cases | differ on purpose |
|---|---|---|
| TestCanScaleFromZero | 20 | none |
| TestParseCPUCapacity, TestParseMemoryCapacity | 6, 6 | none |
| TestParseGPUCapacity | 5 | none (a count needs a type beside it, which these cases leave out; the test adds it) |
| TestParseMaxPodsCapacity | 5 | none |
| TestUtilNormalizedProviderID | 6 | none |
| TestUtilParseScalingBounds | 9 | 2: one annotation without the other is reported, not passed over in silence |
| Test_parseAutoDiscoverySpec | 15 | none |
| Test_allowedByAutoDiscoverySpec | 11 | none; a target needs both size annotations as well, as upstream checks elsewhere |
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.groups.discovered_groups import discovered
from reconciler.platforms.clusterapi.auto_discovery import DiscoverySpecError, discovery_of
from reconciler.policy.documents import Discovery
from tests.policies import policy

DATA = Path(__file__).parent / "data"
SPECS: dict[str, Any] = json.loads((DATA / "Test_parseAutoDiscoverySpec.json").read_text())
ALLOWED: dict[str, Any] = json.loads((DATA / "Test_allowedByAutoDiscoverySpec.json").read_text())
CASES = {
    "TestCanScaleFromZero": 20,
    "TestParseCPUCapacity": 6,
    "TestParseMemoryCapacity": 6,
    "TestParseGPUCapacity": 5,
    "TestParseMaxPodsCapacity": 5,
    "TestUtilNormalizedProviderID": 6,
    "TestUtilParseScalingBounds": 9,
    "Test_parseAutoDiscoverySpec": 15,
    "Test_allowedByAutoDiscoverySpec": 11,
}
# The table was saved without the selectors' words; upstream's cases all ask for this label.
ASKED = ("color", "green")


def test_all_cases_of_the_provider_are_here() -> None:
    """83 cases in nine tables."""
    counts = {name: len(json.loads((DATA / f"{name}.json").read_text())) for name in CASES}
    assert counts == CASES
    assert sum(counts.values()) == 83


@pytest.mark.parametrize("name", SPECS)
def test_flags_are_read_alike(name: str) -> None:
    """The same namespace, cluster name and number of labels; an error where upstream has one."""
    case = SPECS[name]
    if case["wantErr"]:
        with pytest.raises(DiscoverySpecError, match=case["spec"].split(":")[0]):
            discovery_of(case["spec"])
        return
    found, want = discovery_of(case["spec"]), case["want"]
    assert found.namespaces == ((want["namespace"],) if want["namespace"] else ())
    assert found.cluster_name == want["clusterName"]
    assert len(found.labels) == len(want["labelSelector"] or ())


@pytest.mark.parametrize("name", ALLOWED)
def test_targets_are_taken_alike(name: str) -> None:
    """A target is discovered where upstream allows it."""
    case = ALLOWED[name]
    spec, wanted = case["testSpec"], case["autoDiscoveryConfig"]
    kind = "MachineDeployment" if spec["rootIsMachineDeployment"] else "MachineSet"
    size = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
    target = {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {
            "name": spec["machineDeploymentName"] if kind == "MachineDeployment" else spec["machineSetName"],
            "namespace": spec["namespace"],
            "labels": case["additionalLabels"],
            "annotations": {**spec["annotations"], f"{size}min-size": "1", f"{size}max-size": "10"},
        },
        "spec": {"clusterName": spec["clusterName"], "replicas": spec["nodeCount"]},
    }
    item = Discovery(
        name="flag",
        provider="clusterAPI",
        namespaces=(wanted["namespace"],) if wanted["namespace"] else (),
        cluster_name=wanted["clusterName"],
        labels=(ASKED,) * len(wanted["labelSelector"] or ()),
    )
    (facts,) = read_snapshot({"target.json": json.dumps(target).encode()}).targets
    assert (discovered(policy(discovery=(item,)).policy, facts) is not None) is case["shouldMatch"]


def test_several_flags_may_name_several_namespaces() -> None:
    """Differs on purpose: upstream watches the namespace of the first flag only."""
    items = tuple(discovery_of(f"clusterapi:namespace={name}", name) for name in ("staging", "prod"))
    size = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
    found = []
    for namespace in ("staging", "prod", "other"):
        target = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {
                "name": "a",
                "namespace": namespace,
                "annotations": {f"{size}min-size": "0", f"{size}max-size": "3"},
            },
            "spec": {"replicas": 1},
        }
        (facts,) = read_snapshot({"target.json": json.dumps(target).encode()}).targets
        item = discovered(policy(discovery=items).policy, facts)
        found.append(item.name if item else None)
    assert found == ["staging", "prod", None]
