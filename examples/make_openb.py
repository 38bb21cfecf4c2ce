"""Make a cluster snapshot of 1,523 nodes and 6,090 pods, with a policy for it, from the openb tables in examples/data/openb.

    python examples/make_openb.py [--out examples/openb] [--pods examples/data/openb/pods.csv]

What comes out depends on the tables alone: the same bytes on any machine. The rules:

* Each distinct node shape (27) is a MachineDeployment with capacity and size annotations, from 0 to twice its nodes;
  each node has its Machine. Nobody owns `spec.replicas`.
* A card is 1,000 of the extended resource `example.com/gpu-milli`; a pod asks for `num_gpu * gpu_milli`.
* Pods that Failed or Succeeded are dropped. Running ones are placed in the order of the table on the first node, in the
  order of that table, that has room (cpu, memory, gpu-milli, 110 pods) and an accepted card model; what finds no room
  and what was Pending waits.
* Pods of one shape and phase belong to one ReplicaSet.
"""

import argparse
import csv
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
GPU = "example.com/gpu-milli"
MODEL = "example.com/gpu-model"
POOL = "example.com/pool"
MAX_PODS = 110
PER_FILE = 1000
START = datetime(2026, 1, 1, tzinfo=UTC)
CAPI = "cluster.x-k8s.io"
CAPI_VERSION = f"{CAPI}/v1beta2"
BOUND = f"{CAPI}/cluster-api-autoscaler-node-group"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io"
# Kinds that this cluster has none of; listing them says so.
EMPTY_KINDS = [
    "CSINode",
    "DaemonSet",
    "Job",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "PriorityClass",
    "StatefulSet",
    "StorageClass",
]

Object = dict[str, Any]


class NodeRow(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    cards: int
    model: str

    @property
    def pool(self) -> str:
        cards = f"-{self.cards}x{self.model.lower()}" if self.cards else ""
        return f"c{self.cpu_milli // 1000}-m{self.memory_mib // 1024}{cards}"


class PodRow(NamedTuple):
    name: str
    cpu_milli: int
    memory_mib: int
    gpu_milli: int
    models: tuple[str, ...]
    qos: str
    phase: str
    created: int

    @property
    def shape(self) -> tuple[int, int, int, tuple[str, ...], str]:
        return self.cpu_milli, self.memory_mib, self.gpu_milli, self.models, self.qos


def read_nodes(path: Path) -> list[NodeRow]:
    with path.open(newline="") as stream:
        return [
            NodeRow(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
            for row in csv.DictReader(stream)
        ]


def read_pods(path: Path) -> list[PodRow]:
    with path.open(newline="") as stream:
        return [
            PodRow(
                row["name"],
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]) * int(row["gpu_milli"]),
                tuple(sorted(model for model in row["gpu_spec"].split("|") if model)),
                row["qos"],
                row["pod_phase"],
                int(row["creation_time"]),
            )
            for row in csv.DictReader(stream)
        ]


def place(pods: Iterable[PodRow], nodes: list[NodeRow]) -> dict[str, int]:
    """Name of a running pod -> index of its node, first fit."""
    free = [[node.cpu_milli, node.memory_mib, node.cards * 1000, MAX_PODS] for node in nodes]
    # Nodes only fill up: where a shape found no room once, it never will.
    first: dict[object, int] = {}
    placed: dict[str, int] = {}
    for pod in pods:
        if pod.phase != "Running":
            continue
        need = (pod.cpu_milli, pod.memory_mib, pod.gpu_milli, 1)
        index = first.get(pod.shape, 0)
        while index < len(nodes) and not (
            all(have >= want for have, want in zip(free[index], need, strict=True))
            and (not pod.models or nodes[index].model in pod.models)
        ):
            index += 1
        first[pod.shape] = index
        if index < len(nodes):
            placed[pod.name] = index
            free[index] = [have - want for have, want in zip(free[index], need, strict=True)]
    return placed


def instant(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, namespace: str = "", created: int = 0, **rest: Any) -> Object:
    base = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "generation": 1, "creationTimestamp": instant(created)}
    return {**base, **({"namespace": namespace} if namespace else {}), **rest}


def owned_by(api_version: str, kind: str, name: str) -> list[Object]:
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def node_object(row: NodeRow) -> Object:
    amounts = {"cpu": f"{row.cpu_milli}m", "memory": f"{row.memory_mib}Mi", "pods": str(MAX_PODS)}
    if row.cards:
        amounts[GPU] = str(row.cards * 1000)
    labels = {
        **template_labels(row),
        "kubernetes.io/hostname": row.name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": instant(0)}
    return {
        "metadata": meta(row.name, labels=labels),
        "spec": {"providerID": f"openb:///{row.name}"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


def template_labels(row: NodeRow) -> dict[str, str]:
    return {POOL: row.pool, **({MODEL: row.model} if row.cards else {})}


def pod_object(row: PodRow, set_name: str, node: str | None) -> Object:
    requests = {"cpu": f"{row.cpu_milli}m", "memory": f"{row.memory_mib}Mi"}
    if row.gpu_milli:
        requests[GPU] = str(row.gpu_milli)
    spec: Object = {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "priority": 0,
    }
    if row.models:
        term = {"matchExpressions": [{"key": MODEL, "operator": "In", "values": list(row.models)}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec["affinity"] = {"nodeAffinity": required}
    since = instant(row.created)
    if node:
        spec["nodeName"] = node
        conditions = [{"type": kind, "status": "True", "lastTransitionTime": since} for kind in ("PodScheduled", "Ready")]
        status = {"phase": "Running", "conditions": conditions}
    else:
        unplaced = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": since}
        status = {"phase": "Pending", "conditions": [unplaced]}
    labels = {"app": set_name, "qos": row.qos}
    references = owned_by("apps/v1", "ReplicaSet", set_name)
    return {
        "metadata": meta(row.name, "openb", row.created, labels=labels, ownerReferences=references),
        "spec": spec,
        "status": status,
    }


def pool_objects(pool: str, rows: list[NodeRow]) -> tuple[Object, Object, list[Object]]:
    """MachineDeployment, its MachineSet, its Machines."""
    row = rows[0]
    annotations = {
        f"{BOUND}-min-size": "0",
        f"{BOUND}-max-size": str(2 * len(rows)),
        f"{CAPACITY}/cpu": f"{row.cpu_milli}m",
        f"{CAPACITY}/memory": f"{row.memory_mib}Mi",
        f"{CAPACITY}/maxPods": str(MAX_PODS),
        f"{CAPACITY}/labels": ",".join(f"{key}={value}" for key, value in sorted(template_labels(row).items())),
        "machinedeployment.clusters.x-k8s.io/revision": "1",
    }
    if row.cards:
        annotations |= {f"{CAPACITY}/gpu-type": GPU, f"{CAPACITY}/gpu-count": str(row.cards * 1000)}
    labels = {f"{CAPI}/cluster-name": "openb"}
    spec = {
        "clusterName": "openb",
        "replicas": len(rows),
        "selector": {"matchLabels": {f"{CAPI}/deployment-name": pool}},
        "template": {"metadata": {"labels": {f"{CAPI}/deployment-name": pool}}, "spec": {"clusterName": "openb"}},
    }
    # Replicas were left out of what was applied: the field is free for whoever is to size the group.
    managed = [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": CAPI_VERSION,
            "time": instant(0),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:clusterName": {}, "f:selector": {}, "f:template": {}}},
        }
    ]
    status = {"replicas": len(rows), "readyReplicas": len(rows)}
    deployment = {
        "metadata": meta(pool, "capi", annotations=annotations, labels=labels, managedFields=managed),
        "spec": spec,
        "status": status,
    }
    set_meta = meta(
        f"{pool}-1",
        "capi",
        annotations={"machinedeployment.clusters.x-k8s.io/revision": "1"},
        labels=labels,
        managedFields=managed,
        ownerReferences=owned_by(CAPI_VERSION, "MachineDeployment", pool),
    )
    machines = [
        {
            "metadata": meta(
                item.name,
                "capi",
                labels={**labels, f"{CAPI}/deployment-name": pool},
                ownerReferences=owned_by(CAPI_VERSION, "MachineSet", f"{pool}-1"),
            ),
            "spec": {"clusterName": "openb", "providerID": f"openb:///{item.name}"},
            "status": {"phase": "Running", "nodeRef": {"name": item.name}},
        }
        for item in rows
    ]
    return deployment, {"metadata": set_meta, "spec": spec, "status": status}, machines


def replica_sets(pods: list[PodRow], placed: dict[str, int]) -> tuple[dict[str, str], list[Object]]:
    """Pod name -> name of its ReplicaSet, and the sets."""
    members: dict[tuple[object, bool], list[PodRow]] = {}
    for pod in pods:
        members.setdefault((pod.shape, pod.name in placed), []).append(pod)
    names: dict[str, str] = {}
    sets: list[Object] = []
    for number, rows in enumerate(members.values()):
        name = f"job-{number:03}"
        names.update((row.name, name) for row in rows)
        spec = {"replicas": len(rows), "selector": {"matchLabels": {"app": name}}}
        sets.append({"metadata": meta(name, "openb", labels={"app": name}), "spec": spec})
    return names, sets


def chunks(items: list[Object]) -> Iterator[list[Object]]:
    return (items[start : start + PER_FILE] for start in range(0, len(items), PER_FILE))


def write_list(folder: Path, api_version: str, kind: str, items: list[Object]) -> int:
    """One typed list, as the API returns it, in files of at most PER_FILE items; the number of files."""
    parts = list(chunks(items))
    stem = f"{kind.lower()}s"
    for number, part in enumerate(parts):
        name = f"{stem}.json" if len(parts) == 1 else f"{stem}-{number:03}.json"
        body = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {}, "items": part}
        (folder / name).write_text(json.dumps(body, separators=(",", ":")) + "\n")
    return len(parts)


POLICY = """\
# Groups are the MachineDeployments that carry size annotations; those with cards are left to pods that need cards.
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: openb}
spec:
  mode: Observe
  tiers:
    - {name: cpu, match: {names: ["^c[0-9]+-m[0-9]+$"]}}
    - {name: gpu}
  expanders: [LeastWaste]
  discovery:
    - {name: pools, clusterAPI: {namespaces: [capi], clusterName: openb}}
  limits:
    - {name: cluster, max: {nodes: 3000}}
  budgets: [{nodes: "5%"}]
"""


def make(out: Path, pods_path: Path, nodes_path: Path) -> None:
    nodes = read_nodes(nodes_path)
    pods = [pod for pod in read_pods(pods_path) if pod.phase in ("Running", "Pending")]
    placed = place(pods, nodes)
    set_names, sets = replica_sets(pods, placed)
    pools: dict[str, list[NodeRow]] = {}
    for node in nodes:
        pools.setdefault(node.pool, []).append(node)
    made = [pool_objects(pool, rows) for pool, rows in sorted(pools.items())]
    cluster = {"metadata": meta("openb", "capi"), "spec": {}, "status": {"phase": "Provisioned"}}
    lists: list[tuple[str, str, list[Object]]] = [
        ("v1", "Node", [node_object(node) for node in nodes]),
        (
            "v1",
            "Pod",
            [pod_object(pod, set_names[pod.name], nodes[placed[pod.name]].name if pod.name in placed else None) for pod in pods],
        ),
        ("apps/v1", "ReplicaSet", sets),
        ("v1", "Namespace", [{"metadata": meta(name)} for name in ("capi", "openb")]),
        (CAPI_VERSION, "Cluster", [cluster]),
        (CAPI_VERSION, "MachineDeployment", [deployment for deployment, _, _ in made]),
        (CAPI_VERSION, "MachineSet", [machine_set for _, machine_set, _ in made]),
        (CAPI_VERSION, "Machine", [machine for _, _, machines in made for machine in machines]),
    ]
    (out / "policies").mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.json"):
        old.unlink()
    files = sum(write_list(out, api_version, kind, items) for api_version, kind, items in lists)
    kinds = sorted([kind for _, kind, _ in lists] + EMPTY_KINDS)
    captured = instant(max(pod.created for pod in pods) + 60)
    manifest = f'formatVersion: "1.0"\ncapturedAt: "{captured}"\ncluster: openb\nkinds: [{", ".join(kinds)}]\n'
    (out / "snapshot.yaml").write_text(manifest)
    (out / "policies" / "policy.yaml").write_text(POLICY)
    running = sum(pod.phase == "Running" for pod in pods)
    print(f"{out}: {files} files, captured {captured}")
    print(f"  {len(nodes)} nodes in {len(pools)} pools, each a MachineDeployment with its Machines")
    print(f"  {len(pods)} pods in {len(sets)} ReplicaSets: {len(placed)} placed, {len(pods) - len(placed)} waiting")
    print(f"  ({running} were Running in the table; {running - len(placed)} of them found no room)")
    print(f"{out / 'policies'}: one policy for them")
    print(f"try: reconciler plan --policy {out / 'policies'} --cluster {out}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the openb cluster snapshot and a policy for it.")
    parser.add_argument("--out", type=Path, default=HERE / "openb", help="where to write (default: examples/openb)")
    parser.add_argument("--pods", type=Path, default=HERE / "data" / "openb" / "pods.csv", help="table of pods")
    parser.add_argument("--nodes", type=Path, default=HERE / "data" / "openb" / "nodes.csv", help="table of nodes")
    arguments = parser.parse_args()
    make(arguments.out, arguments.pods, arguments.nodes)


if __name__ == "__main__":
    main()
