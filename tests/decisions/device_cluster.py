"""Clusters with devices by short calls: each node has GPUs in one slice, each pod its own claims or a shared one."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import (
    Allocated,
    Allocation,
    Alternative,
    ClaimTemplate,
    DeviceRequest,
    ResourceClaim,
)
from reconciler.cluster.devices.resource_slice import Attribute, AttributeKind, Device, DeviceCapacity, ResourceSlice, Where
from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.values.label_selector import Requirement
from tests.builders import CAPTURED, ClusterBuilder

DRIVER = "gpu.example.com"
GPU = DeviceClass(name="gpu", selectors=(f'device.driver == "{DRIVER}"',))
CARD, IMPLICIT = "example.com/card", "deviceclass.resource.kubernetes.io/gpu"
SERVING = msgspec.structs.replace(GPU, extended_resource=CARD)
"""The class where its devices can be asked for as extended resource `CARD`, and as every class `IMPLICIT`."""


def gpu(number: int, model: str = "a100", **rest: object) -> Device:
    """`gpu-N` with 40 Gi."""
    found = Device(
        name=f"gpu-{number}",
        attributes=(Attribute("model", AttributeKind.STRING, model),),
        capacities=(DeviceCapacity(name="memory", milli=40 * 1024**3 * 1000),),
    )
    return msgspec.structs.replace(found, **rest)


def slice_of(node: str, devices: Sequence[Device], **rest: object) -> ResourceSlice:
    """The only slice of the node's pool."""
    found = ResourceSlice(
        name=f"{node}-gpu", driver=DRIVER, pool=node, generation=1, slice_count=1, where=Where(node_name=node),
        devices=tuple(devices),
    )  # fmt: skip
    return msgspec.structs.replace(found, **rest)


def request(count: int = 1, *selectors: str, **rest: object) -> DeviceRequest:
    """So many devices of class gpu."""
    asked = Alternative(name="r", device_class="gpu", selectors=selectors, count=count)
    return DeviceRequest(name="r", alternatives=(msgspec.structs.replace(asked, **rest),))


def only_on(node: str) -> tuple[NodeSelectorTerm, ...]:
    """What the scheduler writes for devices of one node."""
    return (NodeSelectorTerm((), (Requirement("metadata.name", "In", (node,)),)),)


class DeviceCluster(ClusterBuilder):
    """A `ClusterBuilder` with devices."""

    def __init__(self) -> None:
        super().__init__()
        self.slices: list[ResourceSlice] = []
        self.claims: list[ResourceClaim] = []
        self.templates: list[ClaimTemplate] = []

    def gpus(self, nodes: Sequence[str], count: int = 8, model: str = "a100") -> None:
        """Each of these nodes has so many."""
        self.slices.extend(slice_of(node, [gpu(number, model) for number in range(count)]) for node in nodes)

    def claim(self, name: str, wanted: DeviceRequest, has: Sequence[tuple[str, str]] = (), **rest: object) -> None:
        """A claim that has these devices (node, device), all of them on the first node."""
        devices = tuple(Allocated(driver=DRIVER, pool=pool, device=device) for pool, device in has)
        allocation = Allocation(devices=devices, terms=only_on(has[0][0])) if has else None
        made = ResourceClaim(namespace="shop", name=name, requests=(wanted,), allocation=allocation)
        self.claims.append(msgspec.structs.replace(made, **rest))

    def template(self, name: str, wanted: DeviceRequest | None = None, namespace: str = "shop") -> ClaimUse:
        """A ResourceClaimTemplate, and how pods use it before their claims are made."""
        self.templates.append(ClaimTemplate(namespace=namespace, name=name, requests=(wanted or request(),)))
        return ClaimUse(name="gpu", generated=True, template=name)

    def agent(self, name: str, wanted: DeviceRequest | None = None) -> None:
        """A DaemonSet whose pods have claims from a template of its name. Call it before nodes are made."""
        self.daemonset(name, namespace="shop", claims=(self.template(name, wanted),))

    def train(
        self,
        name: str,
        count: int = 1,
        wanted: DeviceRequest | None = None,
        *,
        on: Mapping[str, Sequence[str]] | None = None,
        **rest: object,
    ) -> None:
        """Pods `NAME-I-1` of one kind, each with a claim of its own: `count` that wait, else one per entry of `on`, which says on
        which node it runs with which devices (`{"n1": ["gpu-0"]}`: one pod with one device each)."""
        places: list[tuple[str, str] | None] = [None] * count
        if on is not None:
            places = [(node, device) for node, devices in on.items() for device in devices]
        for number, place in enumerate(places, start=1):
            pod, uid = f"{name}-{number}", f"uid-shop-{name}-{number}-1"
            use = ClaimUse(name="gpu", claim=f"{pod}-gpu-x", generated=True)
            self.pods(
                pod, 1, on=place[0] if place else None,
                shape={"claims": (use,)}, **{"cpu": "1", "labels": {"app": name}, **rest},
            )  # fmt: skip
            has = [(place[0], device) for device in place[1].split("+")] if place else ()
            self.claim(
                f"{pod}-gpu-x", wanted or request(), has, owner_uid=uid, owner_name=f"{pod}-1", reserved_for=(uid,) if has else ()
            )

    def special_claim(self, pod: str, amounts: Mapping[str, int], has: Sequence[tuple[str, str]]) -> None:
        """What kube-scheduler makes for a pod that asks for extended resources. It has these devices (node, device)."""
        uid = f"uid-shop-{pod}"
        one = {name: Alternative(name=name, device_class="gpu", count=count) for name, count in amounts.items()}
        requests = tuple(DeviceRequest(name=name, alternatives=(asked,)) for name, asked in sorted(one.items()))
        self.claim(
            f"{pod}-extended-resources-x", request(), has, requests=requests, owner_uid=uid, owner_name=pod,
            reserved_for=(uid,) if has else (), of_extended_resources=True,
        )  # fmt: skip

    def cards(self, name: str, count: int = 1, *, on: Mapping[str, Sequence[str]] | None = None, **rest: object) -> None:
        """Pods `NAME-I` with one `CARD` each: `count` that wait, else one per device of `on` (`{"n1": ["gpu-0"]}`). An empty name
        of a device is one that a device plugin gave."""
        places = [(node, device) for node, devices in on.items() for device in devices] if on is not None else []
        nodes = [node for node, _ in places]
        self.pods(name, len(places) or count, on=nodes or None, **{"cpu": "1", CARD: 1, **rest})
        for number, (node, device) in enumerate(places, start=1):
            if device:
                self.special_claim(f"{name}-{number}", {CARD: 1}, [(node, device)])

    def world(self, **fields: object) -> World:
        """With all kinds captured."""
        kinds = (*CAPTURED, "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
        return super().world(
            **{
                "device_classes": (GPU,),
                "resource_slices": tuple(sorted(self.slices)),
                "resource_claims": tuple(sorted(self.claims, key=lambda one: one.name)),
                "claim_templates": tuple(sorted(self.templates)),
                "captured": tuple(sorted(kinds)),
                **fields,
            }
        )
