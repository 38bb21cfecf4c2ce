"""What a snapshot has of a cluster that is given as facts: Kubernetes objects, Auto Scaling groups, and a policy."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.properties.node_facts import (
    KINDS,
    NOTHING,
    NOW,
    OLD,
    TAG,
    ZONE_KEY,
    Amount,
    Daemon,
    Facts,
    Group,
    Json,
    Node,
    Pod,
    Stage,
    Taint,
    Workload,
)

CAPI = {"cluster.x-k8s.io/cluster-name": "c1"}
NOT_READY = (("node.kubernetes.io/not-ready", "", "NoExecute"), ("node.kubernetes.io/not-ready", "", "NoSchedule"))


def instant(seconds: int) -> str:
    """RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def snapshot(facts: Facts, now: int) -> dict[str, bytes]:
    """The files of one snapshot."""
    files = {
        "snapshot.yaml": {"formatVersion": "1.0", "capturedAt": instant(now), "cluster": "c1", "kinds": KINDS},
        "objects.json": {"apiVersion": "v1", "kind": "List", "items": list(_objects(facts))},
    }
    return {name: json.dumps(content).encode() for name, content in files.items()} | platform_files(facts)


def platform_files(facts: Facts) -> dict[str, bytes]:
    """Those of them that tell of the targets."""
    if facts.on_aws:
        files: dict[str, Json] = {
            "asg.json": {"AutoScalingGroups": [_auto_scaling_group(facts, group) for group in facts.groups]},
            "lt.json": {"LaunchTemplateVersions": [_launch_template(group) for group in facts.groups]},
        }
    else:
        targets = [item for group in facts.groups for item in _deployment(facts, group)]
        files = {"targets.json": {"apiVersion": "v1", "kind": "List", "items": targets}}
    return {name: json.dumps(content).encode() for name, content in files.items()}


def policy_text(facts: Facts, seed: int) -> bytes:
    """A policy that sizes all groups up, and never down. What no node tells, and no target can, it says."""
    expanders = (["LeastWaste"], ["LeastNodes"], ["MostPods"], ["LeastCost"])[seed % 4]
    spec: Json = {"mode": "Enforce", "expanders": expanders, "defaults": {"scaleDown": {"mode": "Disabled"}}}
    documents = [{"apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroupPolicy", "metadata": {"name": "prod"}, "spec": spec}]
    for group in facts.groups:
        template: Json = {"startupTaints": [{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}]}
        if not group.nodes:
            template["reserved"] = group.kept.listed()
        aws = {"autoScalingGroup": group.name, "region": "eu-central-1"}
        capi = {"kind": "MachineDeployment", "namespace": "capi", "name": group.name}
        documents.append(
            {
                "apiVersion": "reconciler.dev/v1alpha1",
                "kind": "NodeGroup",
                "metadata": {"name": group.name, "namespace": "reconciler"},
                "spec": {
                    "policyRef": {"name": "prod"},
                    "target": {"aws": aws} if group.on_aws else {"clusterAPI": capi},
                    "size": {"min": 0, "max": 40},
                    "template": template,
                    "pricePerHour": f"0.{group.capacity.cpu // 100:03d}",
                },
            }
        )
    return "\n---\n".join(json.dumps(document) for document in documents).encode()


def _object(api: str, kind: str, name: str, namespace: str = "", created: int = OLD, **fields: object) -> Json:
    meta: Json = {"name": name, "uid": f"uid-{kind}-{name}", "creationTimestamp": instant(created)}
    meta |= {"namespace": namespace} if namespace else {}
    meta |= fields.pop("meta", {})  # type: ignore[operator]
    return {"apiVersion": api, "kind": kind, "metadata": meta, **fields}


def _objects(facts: Facts) -> Iterator[Json]:
    yield from cluster_wide(facts)
    yield from map(daemon_set, facts.daemons)
    for group in facts.groups:
        for node in group.nodes:
            yield from _with_pods(facts, group, node)
    for pod in facts.waiting:
        yield from _pod_and_volume(facts, pod, None)
    pods = [*facts.waiting, *(pod for group in facts.groups for node in group.nodes for pod in node.pods)]
    works = {pod.workload.name: pod.workload for pod in pods}
    for name, many in Counter(pod.workload.name for pod in pods).items():
        template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(works[name])}
        spec = {"replicas": many, "selector": {"matchLabels": {"app": name}}, "template": template}
        yield _object("apps/v1", "ReplicaSet", name, "shop", spec=spec, status={"replicas": many})


def cluster_wide(facts: Facts) -> Iterator[Json]:
    """What neither a node nor a pod has."""
    yield _object("storage.k8s.io/v1", "StorageClass", "fast", provisioner=facts.driver, volumeBindingMode="WaitForFirstConsumer")
    yield _object("storage.k8s.io/v1", "CSIDriver", facts.driver, spec={"attachRequired": True, "storageCapacity": False})
    if facts.limit_range is not None:
        limit: Json = {"type": "Container", "defaultRequest": facts.limit_range.listed()}
        limit["default"] = facts.limit_range.plus(facts.limit_range).listed()
        yield _object("v1", "LimitRange", "defaults", facts.agents, spec={"limits": [limit]})
    for name, (overhead, selector) in facts.overheads.items():
        scheduling = {"scheduling": {"nodeSelector": selector}} if selector else {}
        yield _object(
            "node.k8s.io/v1", "RuntimeClass", name, handler=name, overhead={"podFixed": overhead.listed()}, **scheduling
        )


def _containers(daemon: Daemon) -> list[Json]:
    return [
        {"name": f"c{number}", "image": "x", "resources": {says: amount.listed()} if says else {}}
        for number, (says, amount) in enumerate(daemon.containers)
    ]


def daemon_set(daemon: Daemon) -> Json:
    """As its owner wrote it."""
    spec: Json = {"containers": _containers(daemon)}
    own = {key: value for key, value in daemon.selector.items() if key != "kata"}
    spec |= {"nodeSelector": own} if own else {}
    spec |= {"runtimeClassName": daemon.runtime_class} if daemon.runtime_class else {}
    spec |= {"tolerations": [{"operator": "Exists"}]} if daemon.tolerates_all else {}
    template = {"metadata": {"labels": {"app": daemon.name}}, "spec": spec}
    whole = {"selector": {"matchLabels": {"app": daemon.name}}, "template": template}
    return _object("apps/v1", "DaemonSet", daemon.name, daemon.namespace, spec=whole, status={"desiredNumberScheduled": 1})


def _taints(taints: tuple[Taint, ...]) -> list[Json]:
    return [
        {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
        for key, value, effect in taints
    ]


def node_object(group: Group, node: Node) -> Json:
    """A Node as its kubelet, the platform and the controllers of nodes have made it."""
    starting = node.stage is Stage.STARTING
    taints = (*group.taints, *node.passing)
    taints += group.startup if starting else ()
    taints += NOT_READY if not node.ready else ()
    taints += (("node.kubernetes.io/unschedulable", "", "NoSchedule"),) if node.cordoned else ()
    devices = {"nvidia.com/gpu": str(group.gpus)} if group.gpus and not starting else {}
    rest = {"pods": str(group.most_pods), "ephemeral-storage": "100Gi", **devices}
    ready = {"type": "Ready", "status": "True" if node.ready else "False", "lastTransitionTime": instant(node.created)}
    provider = f"aws:///{node.zone}/{_instance(node)}" if group.on_aws else f"sim://{node.name}"
    annotations = {"cluster.x-k8s.io/machine": node.name, "cluster.x-k8s.io/cluster-namespace": "capi", **CAPI}
    return _object(
        "v1",
        "Node",
        node.name,
        created=node.created,
        meta={
            "labels": {**group.labels_in(node.zone), "kubernetes.io/hostname": node.name},
            "annotations": {} if group.on_aws else annotations,
        },
        spec={
            "providerID": provider,
            **({"taints": _taints(taints)} if taints else {}),
            **({"unschedulable": True} if node.cordoned else {}),
        },
        status={
            "capacity": {**group.capacity.listed(), **rest},
            "allocatable": {**group.offered().listed(), **rest},
            "conditions": [ready],
            "nodeInfo": {"operatingSystem": "linux", "architecture": "amd64", "kubeletVersion": "v1.34.0"},
        },
    )


def csi_node(facts: Facts, group: Group, node: Node) -> Json:
    """What the driver says of a node once it runs there."""
    driver: Json = {"name": facts.driver, "nodeID": node.name, "topologyKeys": [facts.driver_key]}
    driver |= {"allocatable": {"count": group.limit}} if group.limit is not None else {}
    return _object("storage.k8s.io/v1", "CSINode", node.name, spec={"drivers": [driver]})


def _with_pods(facts: Facts, group: Group, node: Node) -> Iterator[Json]:
    yield node_object(group, node)
    if node.stage is Stage.USABLE:
        yield csi_node(facts, group, node)
    for daemon in facts.daemons:
        if daemon.is_on(group, node):
            yield _daemon_pod(daemon, node, facts.overheads)
    if group.static is not None:
        yield static_pod(group.static, node)
    for pod in node.pods:
        yield from _pod_and_volume(facts, pod, node)


def static_pod(amount: Amount, node: Node) -> Json:
    """What the kubelet says of a pod that it made from a file."""
    owner = {"kind": "Node", "apiVersion": "v1", "name": node.name}
    made = _own_pod(f"proxy-{node.name}", "kube-system", node, amount, owner)
    made["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "0"}, "labels": {"app": "proxy"}}
    return made


def _daemon_pod(daemon: Daemon, node: Node, overheads: dict[str, tuple[Amount, dict[str, str]]]) -> Json:
    owner = {"kind": "DaemonSet", "apiVersion": "apps/v1", "name": daemon.name}
    amount = daemon.really
    overhead = overheads[daemon.runtime_class][0] if daemon.runtime_class else NOTHING
    amount = Amount(amount.cpu - overhead.cpu, amount.memory - overhead.memory)
    made = _own_pod(f"{daemon.name}-{node.name}", daemon.namespace, node, amount, owner)
    if daemon.runtime_class:
        made["spec"] |= {"runtimeClassName": daemon.runtime_class, "overhead": overhead.listed()}
    return made


def _own_pod(name: str, namespace: str, node: Node, amount: Amount, owner: Json) -> Json:
    reference = {**owner, "uid": f"uid-{owner['kind']}-{owner['name']}", "controller": True}
    meta: Json = {"labels": {"app": owner["name"]}, "ownerReferences": [reference]}
    spec = {
        "containers": [{"name": "c", "image": "x", "resources": {"requests": amount.listed()}}],
        "nodeName": node.name,
        "tolerations": [{"operator": "Exists"}],
    }
    return _object("v1", "Pod", name, namespace, node.created, meta=meta, spec=spec, status=_running(node.created))


def _running(since: int) -> Json:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": instant(since)}]}


def pod_spec(work: Workload) -> Json:
    """What the template of a workload says."""
    requests = {**work.request.listed(), **({"nvidia.com/gpu": str(work.gpus)} if work.gpus else {})}
    limits = {"limits": {"nvidia.com/gpu": str(work.gpus)}} if work.gpus else {}
    spec: Json = {"containers": [{"name": "c", "image": "x", "resources": {"requests": requests, **limits}}]}
    spec |= {"nodeSelector": work.selector} if work.selector else {}
    spec |= {"tolerations": [{"key": key, "operator": "Exists"} for key in work.tolerations]} if work.tolerations else {}
    mine = {"labelSelector": {"matchLabels": {"app": work.name}}}
    if work.spread:
        rule: Json = {"maxSkew": 1, "topologyKey": work.spread, "whenUnsatisfiable": "DoNotSchedule", **mine}
        spec["topologySpreadConstraints"] = [rule | ({"nodeTaintsPolicy": "Honor"} if work.honor_taints else {})]
    if work.alone:
        terms = [{"topologyKey": "kubernetes.io/hostname", **mine}]
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if work.together:
        terms = [{"topologyKey": ZONE_KEY, **mine}]
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return spec


def _pod_and_volume(facts: Facts, pod: Pod, node: Node | None) -> Iterator[Json]:
    if pod.workload.volume:
        yield claim(pod)
        if pod.volume_zone:
            yield volume(facts, pod)
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": pod.workload.name,
        "uid": f"uid-ReplicaSet-{pod.workload.name}",
        "controller": True,
    }
    yield pod_object(pod, node, reference)


def size(work: Workload) -> int:
    """kube-scheduler takes pods of one priority by their age: the larger came first."""
    return work.request.cpu * 4096 // 1000 + work.request.memory


def pod_object(pod: Pod, node: Node | None, owner: Json) -> Json:
    """A pod of a workload, on a node or waiting for one."""
    work = pod.workload
    spec = pod_spec(work)
    if work.volume:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": pod.name}}]
    spec |= {"nodeName": node.name} if node else {}
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": instant(NOW - 60)}
    status = _running(OLD) if node else {"phase": "Pending", "conditions": [unscheduled]}
    meta = {"labels": {"app": work.name}, "ownerReferences": [owner]}
    return _object("v1", "Pod", pod.name, "shop", NOW - 600 - size(work) // 10, meta=meta, spec=spec, status=status)


def claim(pod: Pod) -> Json:
    """The claim of a pod: bound where its volume has been made."""
    spec: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}}
    if not pod.volume_zone:
        return _object("v1", "PersistentVolumeClaim", pod.name, "shop", spec=spec, status={"phase": "Pending"})
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec["volumeName"] = f"pv-{pod.name}"
    return _object("v1", "PersistentVolumeClaim", pod.name, "shop", meta=bound, spec=spec, status={"phase": "Bound"})


def volume(facts: Facts, pod: Pod) -> Json:
    """The volume of a pod, once it has been made."""
    where = {"matchExpressions": [{"key": facts.driver_key, "operator": "In", "values": [pod.volume_zone]}]}
    return _object(
        "v1",
        "PersistentVolume",
        f"pv-{pod.name}",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "10Gi"},
            "storageClassName": "fast",
            "csi": {"driver": facts.driver, "volumeHandle": f"pv-{pod.name}"},
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "namespace": "shop",
                "name": pod.name,
                "uid": f"uid-PersistentVolumeClaim-{pod.name}",
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [where]}},
        },
        status={"phase": "Bound"},
    )


# Cluster API.


def _deployment(facts: Facts, group: Group) -> Iterator[Json]:
    name = group.name
    labels = {**CAPI, "cluster.x-k8s.io/deployment-name": name}
    machine: Json = {
        "clusterName": "c1",
        "infrastructureRef": {"apiGroup": "infra.example.com", "kind": "XMachineTemplate", "name": "t"},
    }
    spec = {
        "clusterName": "c1",
        "replicas": group.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": machine},
    }
    there = len(group.nodes)
    status = {"replicas": there, "readyReplicas": there, "upToDateReplicas": there, "observedGeneration": 1}
    api = "cluster.x-k8s.io/v1beta2"
    fields = [
        {"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}}
    ]
    meta: Json = {"labels": CAPI, "generation": 1, "annotations": _annotations(facts, group), "managedFields": fields}
    yield _object(api, "MachineDeployment", name, "capi", meta=meta, spec=spec, status=status)
    above = {
        "apiVersion": api,
        "kind": "MachineDeployment",
        "name": name,
        "uid": f"uid-MachineDeployment-{name}",
        "controller": True,
    }
    meta = {"labels": labels, "generation": 1, "ownerReferences": [above]}
    yield _object(api, "MachineSet", f"{name}-ms", "capi", meta=meta, spec=spec, status=status)
    above = {
        "apiVersion": api,
        "kind": "MachineSet",
        "name": f"{name}-ms",
        "uid": f"uid-MachineSet-{name}-ms",
        "controller": True,
    }
    for node in group.nodes:
        meta = {"labels": {**labels, "cluster.x-k8s.io/set-name": f"{name}-ms"}, "ownerReferences": [above]}
        one = {"clusterName": "c1", "providerID": f"sim://{node.name}", "infrastructureRef": machine["infrastructureRef"]}
        status = {"nodeRef": {"name": node.name}, "phase": "Running"}
        yield _object(api, "Machine", node.name, "capi", node.created, meta=meta, spec=one, status=status)


def _annotations(facts: Facts, group: Group) -> dict[str, str]:
    if group.declared is None:
        return {}
    size, pods, limit = group.declared
    prefix = "capacity.cluster-autoscaler.kubernetes.io/"
    said = {"cpu": f"{size.cpu}m", "memory": f"{size.memory}Mi", "maxPods": str(pods), "ephemeral-disk": "100Gi"}
    said["labels"] = ",".join(f"{key}={value}" for key, value in group.labels_in(group.zones[0]).items())
    if group.taints or group.startup:
        said["taints"] = ",".join(
            f"{key}={value}:{effect}"
            for key, value, effect in (*group.taints, *group.startup)
            if key != "node.cilium.io/agent-not-ready"
        )
    if limit is not None:
        said["csi-driver"] = f"{facts.driver}={limit}"
    if group.gpus:
        said |= {"gpu-type": "nvidia.com/gpu", "gpu-count": str(group.gpus)}
    return {prefix + key: text for key, text in said.items() if text}


# AWS.


def _instance(node: Node) -> str:
    return "i-" + node.name.encode().hex().rjust(17, "0")[-17:]


def _launch_template(group: Group) -> Json:
    data = {"InstanceType": "m5.xlarge"} if group.capacity.cpu == 4000 else {"ImageId": "ami-1"}
    return {
        "LaunchTemplateId": f"lt-{group.name}",
        "LaunchTemplateName": f"lt-{group.name}",
        "VersionNumber": 1,
        "DefaultVersion": True,
        "LaunchTemplateData": data,
    }


def _auto_scaling_group(facts: Facts, group: Group) -> Json:
    name = group.name
    instances = [
        {
            "InstanceId": _instance(node),
            "AvailabilityZone": node.zone,
            "LifecycleState": "InService",
            "HealthStatus": "Healthy",
            "ProtectedFromScaleIn": False,
        }
        for node in group.nodes
    ]
    return {
        "AutoScalingGroupName": name,
        "AutoScalingGroupARN": f"arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:u:autoScalingGroupName/{name}",
        "LaunchTemplate": {"LaunchTemplateId": f"lt-{name}", "LaunchTemplateName": f"lt-{name}", "Version": "$Latest"},
        "MinSize": 0,
        "MaxSize": 40,
        "DesiredCapacity": group.replicas,
        "AvailabilityZones": list(group.zones),
        "Instances": instances,
        "SuspendedProcesses": [],
        "Tags": [{"Key": key, "Value": value} for key, value in _tags(facts, group).items()],
    }


def _tags(facts: Facts, group: Group) -> dict[str, str]:
    if group.declared is None:
        return {}
    size, pods, limit = group.declared
    said = {"resources/cpu": f"{size.cpu}m", "resources/memory": f"{size.memory}Mi", "resources/pods": str(pods)}
    said["resources/ephemeral-storage"] = "100Gi"
    said |= {f"label/{key}": value for key, value in group.labels.items()}
    said |= {f"taint/{key}": f"{value}:{effect}" for key, value, effect in group.taints}
    if limit is not None:
        said[f"resources/attachable-volumes-csi-{facts.driver}"] = str(limit)
    if group.gpus:
        said["resources/nvidia.com/gpu"] = str(group.gpus)
    return {TAG + key: text for key, text in said.items()}
