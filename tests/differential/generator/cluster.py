"""A random cluster: plain nodes and pods first, then each asked feature on top."""

from collections.abc import Sequence
from random import Random

from tests.differential.generator import (
    attachments,
    bare,
    capacities,
    claims,
    declared_features,
    default_spread,
    device_claims,
    devices,
    disks,
    extended_claims,
    host_labels,
    huge_amounts,
    inter_pod_affinity,
    migrated_disks,
    negative_selectors,
    node_affinity,
    phases,
    ports,
    promises,
    releases,
    requests,
    required_drivers,
    resizes,
    spread,
    taints,
    unfolded_keys,
    volume_limits,
    volume_zones,
)
from tests.differential.generator.draft import APPS, HOSTNAME, NAMESPACES, REGION, ZONE, ZONES, Draft, Object

# In this order, whatever the order asked for: later ones read what earlier ones made.
FEATURES = {
    "releases": releases.add,
    "requests": requests.add,
    "resizes": resizes.add,
    "taints": taints.add,
    "nodeAffinity": node_affinity.add,
    "hostLabels": host_labels.add,
    "ports": ports.add,
    "disks": disks.add,
    "claims": claims.add,
    "volumeZones": volume_zones.add,
    "volumeLimits": volume_limits.add,
    "attachments": attachments.add,
    "migratedDisks": migrated_disks.add,
    "capacities": capacities.add,
    "requiredDrivers": required_drivers.add,
    "spread": spread.add,
    "interPodAffinity": inter_pod_affinity.add,
    "unfoldedKeys": unfolded_keys.add,
    "negativeSelectors": negative_selectors.add,
    "promises": promises.add,
    "phases": phases.add,
    "declaredFeatures": declared_features.add,
    "devices": devices.add,
    "deviceClaims": device_claims.add,
    "extendedClaims": extended_claims.add,
    "hugeAmounts": huge_amounts.add,
    "defaultSpread": default_spread.add,
    "bare": bare.add,
}


def generate(seed: int, features: Sequence[str]) -> Object:
    """The cluster of a seed as a JSON List: 5 to 40 nodes, 100 to 200 pods, two thirds of them on nodes."""
    # A seed of text keeps clusters with different features apart that share a number.
    draft = Draft(Random(f"{seed}:{','.join(sorted(features))}"))
    _plain_nodes(draft)
    _plain_namespaces(draft)
    _plain_pods(draft)
    for name, add in FEATURES.items():
        if name in features:
            add(draft)
    return draft.snapshot()


def _plain_nodes(draft: Draft) -> None:
    random = draft.random
    count = random.randint(5, 40)
    # About 130 pods of 0.7 cpus on all nodes together: some nodes full, some with room, whatever their number.
    cpus = 130 / count
    for index in range(count):
        name = f"node-{index:02d}"
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": random.choice(("amd64", "arm64"))}
        if draft.chance(90):
            labels |= {ZONE: random.choice(ZONES), REGION: "r1"}
        amounts = {
            "cpu": f"{int(cpus * random.choice((500, 1000, 1500, 3000)))}m",
            "memory": f"{int(cpus * random.choice((1, 2, 4, 8)) * 1024)}Mi",
            "ephemeral-storage": "100Gi",
            "pods": str(int(cpus * random.choice((1, 3, 5))) + 2),
        }
        draft.nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "uid": f"node-uid-{index}", "labels": labels},
                "spec": {},
                "status": {
                    "capacity": dict(amounts),
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                },
            }
        )


def _plain_namespaces(draft: Draft) -> None:
    for name in NAMESPACES:
        labels = {"kubernetes.io/metadata.name": name, "team": draft.random.choice(("red", "blue"))}
        draft.namespaces.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def _plain_pods(draft: Draft) -> None:
    random = draft.random
    nodes = draft.node_names()
    for index in range(random.randint(100, 200)):
        app = random.choice(APPS)
        pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{app}-{index:03d}",
                "namespace": random.choice(NAMESPACES),
                "uid": f"pod-uid-{index}",
                "labels": {"app": app, "version": random.choice(("v1", "v2"))},
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {
                "containers": [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": _amounts(draft)}}],
                "schedulerName": "default-scheduler",
                "priority": 0,
            },
            "status": {"phase": "Pending"},
        }
        if draft.chance(66):
            pod["spec"]["nodeName"] = random.choice(nodes)
            pod["status"]["phase"] = "Running"
        draft.pods.append(pod)


def _amounts(draft: Draft) -> dict[str, str]:
    return {
        "cpu": draft.random.choice(("50m", "100m", "0.5", "1", "2")),
        "memory": draft.random.choice(("64Mi", "256Mi", "1Gi", "1500M", "3Gi")),
    }
