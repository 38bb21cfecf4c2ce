"""One snapshot with everything that tenants tried at once: extreme amounts, odd texts, deep and long values in every object of
theirs. The plan is made, no defect is met, and the pods of others are judged as without it."""

import json
from collections.abc import Iterator
from pathlib import Path

from reconciler.cluster.defects import DEFECT
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, full_decision
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from reconciler.policy.documents import BufferReading, HeadroomFrom, RequestReading, RequestsFrom
from reconciler.scheduling.fit import fit
from reconciler.simulation.settled import come_to_rest
from tests.builders import node_group, policy

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"
CREATED = "2026-11-20T00:00:00Z"
Object = dict[str, object]
HUGE, LONG = 2**63 - 1, "9" * 5000
TEXTS = ("", LONG, "-1", "NaN", "true\n", "\u0661\u0662", "1e999999999s", "\u0000", "\U0001f600" * 100, "1h" * 3000, "\u00b2")
ANNOTATIONS = (
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "cluster-autoscaler.kubernetes.io/pod-scale-up-delay",
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "karpenter.sh/do-not-disrupt",
)
SELECTORS = (
    "(" * 5000, "!" * 9000 + "true", "||".join(["false"] * 1400), "==".join(["true"] * 2000), "-" * 9000, "[" * 3000, "1" * 9000,
    "true?" * 1000, "0x" + "f" * 9000, f"semver('{LONG}.0.0')==semver('1.0.0')", f"quantity('{LONG}')==quantity('1')", "'\\", "",
    "'a'.matches('" + "(a*)*" * 1000 + "')", "||".join([f"'{'a' * 380}'.matches('a*a*a*b')"] * 22), "cel.bind(a," * 500,
    "'\0'=='\0'",
)  # fmt: skip
_RULES = policy(
    node_group("big", namespace="capi", max=9),
    node_group("spot", namespace="capi", max=9),
    headroom_from=HeadroomFrom(capacity_buffers=BufferReading.READ),
    requests_from=RequestsFrom(provisioning_requests=RequestReading.READ),
)


def _object(api: str, kind: str, name: str, **fields: object) -> Object:
    meta = {"name": name, "namespace": "evil", "uid": f"u-{name}", "creationTimestamp": CREATED}
    return {"apiVersion": api, "kind": kind, "metadata": meta | fields.pop("meta", {}), **fields}  # type: ignore[operator]


def _pod(name: str, meta: Object | None = None, **spec: object) -> Object:
    # On no node, whatever else it asks for: the pods of others see nothing of it.
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
    whole = {"containers": [container], "nodeSelector": {"no": "where"}, **spec}
    return _object("v1", "Pod", name, meta=meta or {}, spec=whole, status={"phase": "Pending"})


def _pods() -> Iterator[Object]:
    for number, text in enumerate(TEXTS):
        yield _pod(f"text-{number}", {"annotations": dict.fromkeys(ANNOTATIONS, text), "labels": {"odd": text, text: "odd"}})
    for number, amount in enumerate((str(HUGE), "1n", "1E", "9" * 60, "-0", "0" * 60 + "1")):
        requests = dict.fromkeys(("cpu", "memory", "example.com/foo", "hugepages-2Mi", "attachable-volumes-csi-x"), amount)
        yield _pod(f"amount-{number}", containers=[{"name": f"c{one}", "resources": {"requests": requests}} for one in range(50)])
    gt = [{"key": "a", "operator": "Gt", "values": [text]} for text in ("9" * 60, "\u0661", "")]
    terms = {"nodeSelectorTerms": [{"matchExpressions": gt}, {}, {"matchFields": []}] * 50}
    yield _pod("terms", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
    spread = {"maxSkew": 2**31 - 1, "minDomains": 2**31 - 1, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule"}
    yield _pod("spread", topologySpreadConstraints=[spread, {**spread, "labelSelector": {}, "matchLabelKeys": ["a"]}])
    yield _pod("ports", containers=[{"name": "c", "ports": [{"hostPort": 65535, "hostIP": "not an address"}]}])
    yield _pod("grace", terminationGracePeriodSeconds=HUGE, priority=-(2**31), tolerations=[{"operator": "Exists"}] * 1000)
    yield _pod("late", {"deletionTimestamp": "9999-12-31T23:59:59Z"})
    yield _pod(
        "volumes", volumes=[{"name": f"v{one}", "persistentVolumeClaim": {"claimName": f"none{one}"}} for one in range(200)]
    )
    yield _pod("disks", volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": ""}}, {"name": "r", "rbd": {"image": ""}}])
    yield _pod("claims", resourceClaims=[{"name": f"c{one}", "resourceClaimName": "none"} for one in range(64)])
    for number in range(len(SELECTORS)):
        yield _pod(f"selector-{number}", resourceClaims=[{"name": "g", "resourceClaimName": f"claim-{number}"}])


def _objects() -> Iterator[Object]:
    yield from _pods()
    for number, expression in enumerate(SELECTORS):
        asked = {
            "deviceClassName": "gpu",
            "count": 1,
            "allocationMode": "ExactCount",
            "selectors": [{"cel": {"expression": expression}}],
        }
        spec = {"devices": {"requests": [{"name": "r", "exactly": asked}]}}
        yield _object("resource.k8s.io/v1", "ResourceClaim", f"claim-{number}", spec=spec)
    device = {"name": "d", "attributes": {"a": {"version": LONG}}, "capacity": {"m": {"value": "9" * 60}}}
    pool = {"name": "p", "generation": -(2**63), "resourceSliceCount": HUGE}
    yield _object(
        "resource.k8s.io/v1", "ResourceSlice", "s", spec={"driver": "d", "allNodes": True, "pool": pool, "devices": [device]}
    )
    yield _object("resource.k8s.io/v1", "DeviceClass", "gpu", spec={"selectors": [{"cel": {"expression": "(" * 9000}}]})
    for number, text in enumerate(("most", LONG + "%", "50.5%", "-5")):
        spec = {"selector": {}, "maxUnavailable" if number % 2 else "minAvailable": text}
        yield _object("policy/v1", "PodDisruptionBudget", f"pdb-{number}", spec=spec, status={"disruptionsAllowed": HUGE})
    amounts: tuple[object, ...] = (2**31 - 1, 10**400, -1, 1.5, "5", None)
    for number, amount in enumerate(amounts):
        spec = {"podTemplateRef": {"name": "t"}, "replicas": amount, "limits": {"cpu": "0" * 100 + "1"}}
        yield _object("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", f"buffer-{number}", spec=spec)
        spec = {
            "provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
            "podSets": [{"podTemplateRef": {"name": "t"}, "count": amount}],
            "parameters": {"ValidUntilSeconds": LONG},
        }
        yield _object("autoscaling.x-k8s.io/v1", "ProvisioningRequest", f"request-{number}", spec=spec)
    yield _object("v1", "PodTemplate", "t", template={"spec": {"containers": [{"name": "c"}], "overhead": {"cpu": "9" * 60}}})
    yield _object("v1", "ResourceQuota", "q", spec={"hard": {"pods": "x", "cpu": "9" * 60}, "scopes": ["Unknown"] * 100})
    yield _object("v1", "LimitRange", "l", spec={"limits": [{"type": "Container", "default": {"cpu": "x"}}, {"type": "Unknown"}]})


def _plan(items: list[Object]) -> Plan:
    files = {file.name: file.read_bytes() for file in QUICKSTART.iterdir() if file.suffix != ".md"}
    files["evil.json"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    world = read_snapshot(files)
    assert sum(len(one.nodes) > 0 for one in fit(world, messages=False)) > 0
    decision = full_decision(world, _RULES, Memory(), world.captured_seconds, Work(DEFAULT_WORK_BUDGET))
    plan = decision.plan
    return come_to_rest(world, _RULES, Memory(), world.captured_seconds, plan, decision=decision).plan


def test_everything_at_once() -> None:
    """Sizes and the outcomes of others are those without these objects."""
    calm = _plan([])
    plan = _plan(list(_objects()))
    assert [one for one in plan.problems if one.code == DEFECT] == []
    assert [(one.name, one.desired) for one in plan.groups] == [(one.name, one.desired) for one in calm.groups]
    others = [line for line in plan.pods if not line.pod.startswith("evil/")]
    assert [(line.pod, line.outcome) for line in others] == [(line.pod, line.outcome) for line in calm.pods]
    assert len(plan.pods) > len(others) + 40
