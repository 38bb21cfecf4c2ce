"""Worlds and policies by short calls, for tests.

cluster = ClusterBuilder()
cluster.group("general", nodes=2, cpu="4", memory="16Gi")            # nodes general-1, general-2 with machines
cluster.pods("web", 3, cpu="500m", on=["general-1", "general-2", None])
cluster.budget("web", min_available="50%")
world = cluster.world()
rules = policy(node_group("general", min=1, max=5))
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import ClaimUse, Owner, Pod, PodPhase, PodShape, PodTraits, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, Machine, OwnerEvidence, TargetFacts, TargetRef, TargetTemplate
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget
from reconciler.cluster.world import BufferPods, DaemonPods, PodsOfSet, RequestPods, World
from tests.policies import node_group, policy
from tests.values import amounts, api_group, machine_deployment, selector, taint

__all__ = ["NOW", "ClusterBuilder", "amounts", "machine_deployment", "node_group", "policy", "selector", "taint"]
NOW = 1_800_000_000
OUR_MANAGER = "nodegroup-reconciler"
CAPTURED = (
    "DaemonSet",
    "Deployment",
    "Job",
    "Machine",
    "MachineDeployment",
    "Namespace",
    "Node",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
)


class _PodRow(msgspec.Struct, frozen=True, kw_only=True):
    pod: Pod
    shape: PodShape
    traits: PodTraits
    on: str | None


class ClusterBuilder:
    """Collects objects for a World. `now` is Unix seconds; objects are `age` seconds old unless told."""

    def __init__(self, now: int = NOW, age: int = 86_400) -> None:
        self.now = now
        self.created = now - age
        self._nodes: dict[str, tuple[Node, NodeShape]] = {}
        self._pods: list[_PodRow] = []
        self._targets: dict[TargetRef, TargetFacts] = {}
        self._machines: list[Machine] = []
        self._budgets: list[DisruptionBudget] = []
        self._controllers: dict[tuple[str, str, str], Controller] = {}
        self._daemons: list[tuple[str, str, PodShape]] = []
        self._buffers: list[tuple[BufferPods, PodShape]] = []
        self._requests: list[tuple[RequestPods, list[tuple[PodShape, int]]]] = []

    def node(
        self,
        name: str,
        cpu: str = "4",
        memory: str = "16Gi",
        *,
        max_pods: int = 110,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] = (),
        ready: bool = True,
        cordoned: bool = False,
        annotations: Mapping[str, str] | None = None,
        created: int | None = None,
        **extended: int,
    ) -> str:
        """One node whose allocatable is its capacity; its name."""
        size = amounts(cpu, memory, max_pods, **extended)
        shape = NodeShape(
            labels=tuple(sorted({"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", **(labels or {})}.items())),
            taints=tuple(sorted(taint(text) for text in taints)),
            unschedulable=cordoned,
            capacity=size,
            allocatable=size,
        )
        created = created or self.created
        node = Node(
            name=name,
            uid=f"uid-{name}",
            shape=0,
            provider_id=f"sim:///{name}",
            created_seconds=created,
            ready=ready,
            ready_seconds=created,
            annotations=tuple(sorted((annotations or {}).items())),
        )
        self._nodes[name] = (node, shape)
        return name

    def shape_of(self, name: str) -> NodeShape:
        """The shape of a node made so far."""
        return self._nodes[name][1]

    def target(
        self,
        name: str,
        replicas: int | None,
        *,
        namespace: str = "prod",
        owners: Sequence[FieldOwner] | None = None,
        evidence: OwnerEvidence | None = None,
        labels: Mapping[str, str] | None = None,
        template: TargetTemplate | None = None,
        **fields: object,
    ) -> TargetRef:
        """A MachineDeployment without machines; `owners` None: we own the field. `fields` go to TargetFacts as they are."""
        ref = machine_deployment(name, namespace)
        held = owners if owners is not None else (FieldOwner(manager=OUR_MANAGER, operation="Apply", time_seconds=self.created),)
        facts = TargetFacts(
            ref=ref,
            uid=f"uid-{namespace}-{name}",
            resource_version="1",
            generation=1,
            replicas=replicas,
            labels=tuple(sorted((labels or {}).items())),
            owner=evidence or OwnerEvidence(owners=tuple(held)),
            template=template or TargetTemplate(),
        )
        self._targets[ref] = msgspec.structs.replace(facts, **fields)
        return ref

    def machine(
        self,
        name: str,
        target: TargetRef,
        *,
        node: str = "",
        created: int | None = None,
        failed: str = "",
        zone: str = "",
        last_error: str = "",
    ) -> None:
        """A Machine of a target; without `node` it is still on its way."""
        phase = "Failed" if failed else ("Running" if node else "Provisioning")
        self._machines.append(
            Machine(
                namespace=target.namespace,
                name=name,
                target=target,
                node=node,
                provider_id=f"sim:///{node}" if node else "",
                created_seconds=created or self.created,
                failed=failed,
                last_error=last_error,
                phase=phase,
                zone=zone,
            )
        )

    def group(
        self,
        name: str,
        *,
        nodes: int,
        cpu: str = "4",
        memory: str = "16Gi",
        max_pods: int = 110,
        replicas: int | None = None,
        namespace: str = "prod",
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] = (),
        owners: Sequence[FieldOwner] | None = None,
        evidence: OwnerEvidence | None = None,
        created: int | None = None,
        gpu: int = 0,
    ) -> tuple[str, ...]:
        """A MachineDeployment with `nodes` nodes `NAME-1`… and the same template, so that it can grow from zero."""
        all_labels = {"pool": name, **(labels or {})}
        size = amounts(cpu, memory, max_pods, gpu=gpu)
        template = TargetTemplate(
            capacity=size,
            allocatable=size,
            labels=tuple(sorted(all_labels.items())),
            taints=tuple(sorted(taint(text) for text in taints)),
            architecture="amd64",
            origins=("capacity annotations",),
        )
        wanted = nodes if replicas is None else replicas
        ref = self.target(name, wanted, namespace=namespace, owners=owners, evidence=evidence, template=template)
        names = tuple(f"{name}-{number}" for number in range(1, nodes + 1))
        for node in names:
            self.node(node, cpu, memory, max_pods=max_pods, labels=all_labels, taints=taints, created=created, gpu=gpu)
            self.machine(node, ref, node=node, created=created)
        return names

    def pods(
        self,
        name: str,
        count: int = 1,
        *,
        cpu: str = "0",
        memory: str = "0",
        on: str | Sequence[str | None] | None = None,
        namespace: str = "shop",
        labels: Mapping[str, str] | None = None,
        node_selector: Mapping[str, str] | None = None,
        tolerations: Sequence[str] = (),
        priority: int = 0,
        owner: str | None = "ReplicaSet",
        age: int | None = None,
        shape: Mapping[str, object] | None = None,
        traits: Mapping[str, object] | None = None,
        replicas: int | None = None,
        **extended: int,
    ) -> tuple[str, ...]:
        """`count` pods `NAME-1`…, running on `on` (one node, or one entry a pod) or pending where that is None.

        `owner` is the kind of the controller (made as well, with `count` replicas unless told) or None. `shape` and
        `traits` give further fields of PodShape and PodTraits.
        """
        places = [on] * count if on is None or isinstance(on, str) else list(on)
        pod_shape = PodShape(
            namespace=namespace,
            labels=tuple(sorted((labels or {"app": name}).items())),
            requests=amounts(cpu, memory, 1, **extended),
            node_selector=tuple(sorted((node_selector or {}).items())),
            tolerations=tuple(Toleration(key, "Exists", "", "") for key in sorted(tolerations)),
            priority=priority,
        )
        pod_traits = PodTraits(
            namespace=namespace,
            controller=Owner(api_group(owner), owner, name, f"uid-{namespace}-{name}") if owner else None,
            daemonset=owner == "DaemonSet",
        )
        if owner and owner != "DaemonSet":
            self.controller(name, owner, count if replicas is None else replicas, namespace=namespace)
        names = []
        for number, place in enumerate(places, start=1):
            created = self.created if age is None else self.now - age
            pod = Pod(
                namespace=namespace,
                name=f"{name}-{number}",
                uid=f"uid-{namespace}-{name}-{number}",
                shape=0,
                traits=0,
                phase=PodPhase.PENDING if place is None else PodPhase.RUNNING,
                ready=place is not None,
                created_seconds=created,
                unschedulable_seconds=created if place is None else 0,
            )
            self._pods.append(
                _PodRow(
                    pod=pod,
                    shape=msgspec.structs.replace(pod_shape, **(shape or {})),
                    traits=msgspec.structs.replace(pod_traits, **(traits or {})),
                    on=place,
                )
            )
            names.append(pod.key)
        return tuple(names)

    def daemonset(
        self,
        name: str,
        *,
        cpu: str = "100m",
        memory: str = "0",
        namespace: str = "kube-system",
        claims: tuple[ClaimUse, ...] = (),
    ) -> None:
        """A DaemonSet that tolerates everything, with one pod on every node made so far."""
        shape = PodShape(
            namespace=namespace,
            labels=(("app", name),),
            requests=amounts(cpu, memory, 1),
            tolerations=(Toleration("", "Exists", "", ""),),
            claims=claims,
        )
        self._daemons.append((namespace, name, shape))
        for node in sorted(self._nodes):
            traits = PodTraits(namespace=namespace, controller=Owner("apps", "DaemonSet", name, f"uid-{name}"), daemonset=True)
            pod = Pod(
                namespace=namespace,
                name=f"{name}-{node}",
                shape=0,
                traits=0,
                phase=PodPhase.RUNNING,
                ready=True,
                created_seconds=self.created,
            )
            self._pods.append(_PodRow(pod=pod, shape=shape, traits=traits, on=node))

    def buffer(
        self,
        name: str,
        pods: int,
        *,
        cpu: str = "0",
        memory: str = "0",
        namespace: str = "shop",
        shape: Mapping[str, object] | None = None,
        created: int | None = None,
        **fields: object,
    ) -> str:
        """A CapacityBuffer that asks room for some pods; its key. `shape` gives further fields of PodShape, `fields` of it."""
        asked = BufferPods(
            namespace=namespace,
            name=name,
            strategy="buffer.x-k8s.io/active-capacity",
            created_seconds=self.created if created is None else created,
            shape=0,
            asked=pods,
            count=pods,
        )
        pod_shape = PodShape(namespace=namespace, labels=(("app", name),), requests=amounts(cpu, memory, 1))
        buffer = msgspec.structs.replace(asked, **fields)
        self._buffers.append((buffer, msgspec.structs.replace(pod_shape, **(shape or {}))))
        return buffer.key

    def request(
        self,
        name: str,
        *sets: tuple[int, str],
        class_name: str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
        namespace: str = "ml",
        shape: Mapping[str, object] | None = None,
        created: int | None = None,
        **fields: object,
    ) -> str:
        """A ProvisioningRequest for sets of (pods, cpu); its key. `shape` gives further fields of PodShape, `fields` of it."""
        asked = RequestPods(
            namespace=namespace,
            name=name,
            uid=f"uid-{name}",
            class_name=class_name,
            valid_seconds=7 * 86_400,
            created_seconds=self.now - 60 if created is None else created,
        )
        shapes = [
            (PodShape(namespace=namespace, labels=(("app", name),), requests=amounts(cpu, "0", 1)), count) for count, cpu in sets
        ]
        replaced = [(msgspec.structs.replace(one, **(shape or {})), count) for one, count in shapes]
        request = msgspec.structs.replace(asked, **fields)
        self._requests.append((request, replaced))
        return request.key

    def controller(self, name: str, kind: str = "ReplicaSet", replicas: int | None = 1, *, namespace: str = "shop") -> None:
        """A controller of pods."""
        self._controllers[namespace, kind, name] = Controller(
            api_group=api_group(kind), kind=kind, namespace=namespace, name=name, uid=f"uid-{namespace}-{name}", replicas=replicas
        )

    def budget(
        self,
        app: str,
        *,
        allowed: int = 0,
        namespace: str = "shop",
        min_available: str = "",
        max_unavailable: str = "",
        healthy: int = 0,
        desired: int = 0,
        expected: int = 0,
    ) -> None:
        """A PodDisruptionBudget over the pods with label `app=APP`."""
        self._budgets.append(
            DisruptionBudget(
                namespace=namespace,
                name=app,
                selector=selector(app=app),
                disruptions_allowed=allowed,
                current_healthy=healthy,
                desired_healthy=desired,
                expected_pods=expected,
                min_available=min_available,
                max_unavailable=max_unavailable,
            )
        )

    def world(self, **fields: object) -> World:
        """The World in canonical order. `fields` override."""
        node_names = sorted(self._nodes)
        position = {name: index for index, name in enumerate(node_names)}
        node_shapes: dict[NodeShape, int] = {}
        nodes = []
        for name in node_names:
            node, node_shape = self._nodes[name]
            nodes.append(msgspec.structs.replace(node, shape=node_shapes.setdefault(node_shape, len(node_shapes))))
        pod_shapes: dict[PodShape, int] = {}
        pod_traits: dict[PodTraits, int] = {}
        pods = [
            msgspec.structs.replace(
                row.pod,
                shape=pod_shapes.setdefault(row.shape, len(pod_shapes)),
                traits=pod_traits.setdefault(row.traits, len(pod_traits)),
                node=-1 if row.on is None else position.get(row.on, -1),
                unknown_node=row.on if row.on is not None and row.on not in position else "",
            )
            for row in sorted(self._pods, key=lambda row: (row.pod.namespace, row.pod.name))
        ]
        daemons = tuple(
            sorted(
                DaemonPods(namespace=namespace, name=name, shape=pod_shapes.setdefault(shape, len(pod_shapes)))
                for namespace, name, shape in self._daemons
            )
        )
        buffers = tuple(
            one if one.shape < 0 else msgspec.structs.replace(one, shape=pod_shapes.setdefault(shape, len(pod_shapes)))
            for one, shape in sorted(self._buffers, key=lambda pair: (pair[0].namespace, pair[0].name))
        )
        requests = tuple(
            msgspec.structs.replace(
                one,
                sets=tuple(PodsOfSet(shape=pod_shapes.setdefault(shape, len(pod_shapes)), count=count) for shape, count in sets),
            )
            for one, sets in sorted(self._requests, key=lambda pair: (pair[0].namespace, pair[0].name))
        )
        extra = ("CapacityBuffer",) if buffers else ()
        world = World(
            name="test",
            captured_seconds=self.now,
            node_shapes=tuple(node_shapes),
            nodes=tuple(nodes),
            pod_shapes=tuple(pod_shapes),
            pod_traits=tuple(pod_traits),
            pods=PodTable(pods),
            targets=tuple(self._targets[ref] for ref in sorted(self._targets)),
            machines=tuple(sorted(self._machines)),
            budgets=tuple(sorted(self._budgets, key=lambda budget: (budget.namespace, budget.name))),
            controllers=tuple(sorted(self._controllers.values())),
            daemon_pods=daemons,
            buffers=buffers,
            provisioning_requests=requests,
            namespaces=tuple((name, ()) for name in sorted({row.pod.namespace for row in self._pods})),
            captured=(*CAPTURED, *extra, *(("ProvisioningRequest",) if requests else ())),
        )
        return msgspec.structs.replace(world, **fields)
