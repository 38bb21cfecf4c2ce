"""The generated clusters have every situation in which the DynamicResources plugin of kube-scheduler says no.

The situations are read from the source of the plugin in 1.36. Allocations in flight are left out: no snapshot shows them.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.differential.generator.cluster import generate
from tests.differential.generator.draft import Object

_SEEDS = range(25)
_FEATURES = ("devices", "deviceClaims")


class _Cluster:
    """The objects of one generated cluster, by kind."""

    def __init__(self, items: list[Object]) -> None:
        self.items = items
        self.claims = self.of("ResourceClaim")
        self.classes = {item["metadata"]["name"] for item in self.of("DeviceClass")}
        self.slices = [item["spec"] for item in self.of("ResourceSlice")]
        self.pending = [pod for pod in self.of("Pod") if "nodeName" not in pod["spec"]]

    def of(self, kind: str) -> list[Object]:
        return [item for item in self.items if item["kind"] == kind]

    def used(self) -> Iterator[Object | None]:
        """The claim of each use by a pod that waits; None: there is none of that name."""
        named = {(claim["metadata"]["namespace"], claim["metadata"]["name"]): claim for claim in self.claims}
        for pod in self.pending:
            made = {one["name"]: one.get("resourceClaimName") for one in pod["status"].get("resourceClaimStatuses", ())}
            for use in pod["spec"].get("resourceClaims", ()):
                name = use.get("resourceClaimName") or made.get(use["name"])
                yield named.get((pod["metadata"]["namespace"], name))

    def asked(self) -> Iterator[Object]:
        """What one alternative of a request asks for."""
        for claim in self.claims:
            for request in claim["spec"]["devices"]["requests"]:
                yield from request.get("firstAvailable", ()) or (request["exactly"],)

    def results(self) -> Iterator[Object]:
        for claim in self.claims:
            yield from _allocation(claim).get("devices", {}).get("results", ())

    def devices(self) -> Iterator[Object]:
        for spec in self.slices:
            yield from spec.get("devices", ())


def _allocation(claim: Object) -> Object:
    return claim.get("status", {}).get("allocation", {})


def _conditions(cluster: _Cluster, kind: str) -> bool:
    said = (one for claim in cluster.claims for one in claim.get("status", {}).get("devices", ()))
    return any(condition["type"] == kind and condition["status"] == "True" for one in said for condition in one["conditions"])


def _incomplete(cluster: _Cluster) -> bool:
    seen: dict[tuple[str, str, int], list[int]] = {}
    for spec in cluster.slices:
        pool = spec["pool"]
        seen.setdefault((spec["driver"], pool["name"], pool["generation"]), []).append(pool["resourceSliceCount"])
    return any(len(counts) < counts[0] for counts in seen.values())


def _twice(cluster: _Cluster) -> bool:
    names = [
        (spec["driver"], spec["pool"]["name"], spec["pool"]["generation"], device["name"])
        for spec in cluster.slices
        for device in spec.get("devices", ())
    ]
    return len(names) > len(set(names))


def _class_serves(cluster: _Cluster, *, listed: bool) -> bool:
    served = {item["spec"].get("extendedResourceName") for item in cluster.of("DeviceClass")} - {None}
    asked = {name for pod in cluster.pending for name in pod["spec"]["containers"][0]["resources"].get("requests", {})}
    on_nodes = {name for node in cluster.of("Node") for name in node["status"]["allocatable"]}
    return bool(served & asked & on_nodes if listed else served & asked - on_nodes)


_ROWS: dict[str, Callable[[_Cluster], bool]] = {
    "a claim that is missing": lambda one: None in one.used(),
    "a claim that is being deleted": lambda one: any("deletionTimestamp" in claim["metadata"] for claim in one.used() if claim),
    "a claim of another pod": lambda one: any(
        owner["uid"] == "another" for claim in one.used() if claim for owner in claim["metadata"].get("ownerReferences", ())
    ),
    "a claim that needs no devices": lambda one: any(
        "resourceClaimName" not in status for pod in one.pending for status in pod["status"].get("resourceClaimStatuses", ())
    ),
    "a claim that others reserved": lambda one: any(claim.get("status", {}).get("reservedFor") for claim in one.used() if claim),
    "a device class that is missing": lambda one: any(asked["deviceClassName"] not in one.classes for asked in one.asked()),
    "devices that only some nodes reach": lambda one: any("nodeSelector" in _allocation(claim) for claim in one.used() if claim),
    "binding conditions that are met": lambda one: _conditions(one, "Attached"),
    "binding conditions that failed": lambda one: _conditions(one, "Failed"),
    "selectors of a request": lambda one: any("selectors" in asked for asked in one.asked()),
    "device taints": lambda one: any("taints" in device for device in one.devices()),
    "tolerations": lambda one: any("tolerations" in asked for asked in one.asked()),
    "devices that are taken": lambda one: any(True for _ in one.results()),
    "admin access": lambda one: any(asked.get("adminAccess") for asked in one.asked()),
    "shared counters": lambda one: any("consumesCounters" in device for device in one.devices()),
    "capacity that claims share": lambda one: any("consumedCapacity" in result for result in one.results()),
    "a policy for requests of capacity": lambda one: any(
        "requestPolicy" in amount for device in one.devices() for amount in device.get("capacity", {}).values()
    ),
    "an attribute that must match": lambda one: _constrained(one, "matchAttribute"),
    "an attribute that must differ": lambda one: _constrained(one, "distinctAttribute"),
    "more devices than a claim may have": lambda one: any(
        int(amount) > 32
        for pod in one.pending
        for name, amount in pod["spec"]["containers"][0]["resources"].get("requests", {}).items()
        if name == "example.com/card"
    ),
    "two generations of a pool": lambda one: any(spec["pool"]["generation"] > 1 for spec in one.slices),
    "an incomplete pool": _incomplete,
    "a pool with a device twice": _twice,
    "a device with binding conditions": lambda one: any("bindingConditions" in device for device in one.devices()),
    "all devices": lambda one: any(asked["allocationMode"] == "All" for asked in one.asked()),
    "alternatives": lambda one: any(
        "firstAvailable" in request for claim in one.claims for request in claim["spec"]["devices"]["requests"]
    ),
    "an extended resource of a class": lambda one: _class_serves(one, listed=False),
    "an extended resource of a class that nodes list": lambda one: _class_serves(one, listed=True),
}


def _constrained(cluster: _Cluster, kind: str) -> bool:
    return any(kind in one for claim in cluster.claims for one in claim["spec"]["devices"].get("constraints", ()))


@pytest.fixture(scope="module")
def clusters() -> list[_Cluster]:
    return [_Cluster(generate(seed, _FEATURES)["items"]) for seed in _SEEDS]


@pytest.mark.parametrize("row", _ROWS)
def test_the_generated_clusters_have_it(clusters: list[_Cluster], row: str) -> None:
    assert any(_ROWS[row](cluster) for cluster in clusters), row
