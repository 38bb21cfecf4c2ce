"""Range queries of kube-state-metrics: which pods there were at each step, and what they requested.

SOURCE: the HTTP API of Prometheus (`/api/v1/query_range`: a matrix of series, each with `metric` and `values`), and the pod
metrics of kube-state-metrics. One file is one response. `kube_pod_container_resource_requests` is needed. `kube_pod_info` or
`kube_pod_owner` says which controller a pod has. With `kube_pod_status_phase`, a pod is wanted while it is Pending or Running.
Without it, a pod is wanted as long as its requests were seen.
"""

import itertools
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation

import msgspec

from reconciler.cluster.pods.pod import Owner, PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.importers.demand.lifetimes import MOST_PODS, DemandImportError, Imported, Lifetime, trace_of
from reconciler.simulation.replays.trace import DemandSource
from reconciler.values.decoding import decode
from reconciler.values.plural import count_text

REQUESTS = "kube_pod_container_resource_requests"
INFO, OWNER, PHASE = "kube_pod_info", "kube_pod_owner", "kube_pod_status_phase"
_HINT = f"query {REQUESTS}, {INFO} and {PHASE} as they are, one file each"
_API_GROUPS = {"Job": "batch", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps"}
_OF_NODES = frozenset({"DaemonSet", "Node"})
_BY_NAME = "StatefulSet"
_WANTED_PHASES = frozenset({"Pending", "Running"})
_EXTENDED = {"".join(letter if letter.isalnum() else "_" for letter in name): name for name in GPU_RESOURCES}
_MOST = 1 << 62
_DEFAULT_STEP_SECONDS = 60


class Series(msgspec.Struct, frozen=True):
    """One series of a response."""

    metric: Mapping[str, str]
    values: tuple[tuple[float, str], ...]


class Matrix(msgspec.Struct, frozen=True, rename="camel"):
    """What a range query found."""

    result_type: str
    result: tuple[Series, ...]


class Response(msgspec.Struct, frozen=True):
    """A response of the HTTP API."""

    status: str
    data: Matrix | None = None
    error: str = ""


PodKey = tuple[str, str, str]
"""Namespace, name, and uid where the series have it."""


class _Pod:
    """What is known of one pod."""

    __slots__ = ("controller", "live", "requests", "seen")

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str], int] = {}
        self.controller: tuple[str, str] | None = None
        self.seen: tuple[int, int] | None = None
        self.live: tuple[int, int] | None = None
        """First and last instant: with requests, and in a phase in which a pod is wanted."""


def read_response(text: bytes) -> Response:
    """One file. Raises `DemandImportError`."""
    try:
        response = decode(text, Response)
    except msgspec.MsgspecError as error:
        raise DemandImportError(1, f"not a response of a range query: {error}", _HINT) from None
    if response.status != "success" or response.data is None:
        raise DemandImportError(1, f"the query failed: {response.error[:200] or response.status[:40]}", "run it again")
    if response.data.result_type != "matrix":
        raise DemandImportError(1, f"a {response.data.result_type[:40]!r}, and not a matrix", "use /api/v1/query_range")
    return response


def read_range_queries(name: str, responses: Iterable[Response]) -> Imported:
    """The demand of all responses together. Raises `DemandImportError`."""
    pods: dict[PodKey, _Pod] = {}
    instants: set[int] = set()
    phases = False
    for one in (one for response in responses if response.data is not None for one in response.data.result):
        metric = one.metric.get("__name__", "")
        times = [_instant(at) for at, _ in one.values]
        instants.update(times)
        pod = _pod(pods, one.metric) if metric in (REQUESTS, INFO, OWNER, PHASE) else None
        if pod is None:
            raise DemandImportError(1, f"a series of {metric[:60] or 'no metric'!r}", _HINT)
        if metric == REQUESTS:
            _take_request(pod, one)
            pod.seen = _wider(pod.seen, times)
        elif metric == PHASE:
            phases = True
            if one.metric.get("phase") in _WANTED_PHASES:
                pod.live = _wider(pod.live, [at for at, (_, value) in zip(times, one.values, strict=True) if value == "1"])
        else:
            _take_controller(pod, metric, one.metric)
    if not any(pod.requests for pod in pods.values()):
        raise DemandImportError(1, f"no series of {REQUESTS}", _HINT)
    spans = {key: span for key, pod in pods.items() if (span := pod.live if phases else pod.seen) is not None}
    return _imported(name, pods, spans, sorted(instants))


def _imported(name: str, pods: Mapping[PodKey, _Pod], spans: Mapping[PodKey, tuple[int, int]], instants: list[int]) -> Imported:
    gaps = [after - before for before, after in itertools.pairwise(instants)]
    step = min(gaps, default=_DEFAULT_STEP_SECONDS)
    end = instants[-1] + step
    lifetimes = [
        Lifetime(_source(*key[:2], pods[key]), first, last + step if last + step < end else None)
        for key, (first, last) in sorted(spans.items())
        if (pods[key].controller or ("", ""))[0] not in _OF_NODES
    ]
    bare = sum(not pods[key].requests for key in spans)
    told = count_text(
        bare, "pod without requests: it takes a place of a pod", "pods without requests: each takes a place of a pod"
    )
    return Imported(trace=trace_of(name, lifetimes, end), left_out=(told,) if bare else ())


def _wider(span: tuple[int, int] | None, times: list[int]) -> tuple[int, int] | None:
    both = [*times, *(span or ())]
    return (min(both), max(both)) if both else None


def _source(namespace: str, name: str, pod: _Pod) -> DemandSource:
    kind, owner = pod.controller or ("", "")
    amounts: dict[str, int] = {"pods": 1}
    for (_, resource), amount in pod.requests.items():
        amounts[resource] = amounts.get(resource, 0) + amount
    controller = Owner(_API_GROUPS.get(kind, ""), kind, owner) if kind else None
    return DemandSource(
        shape=PodShape(namespace=namespace, labels=(("app", owner or name),), requests=Resources.of(amounts)),
        traits=PodTraits(namespace=namespace, controller=controller),
        pod_name=name if kind in ("", _BY_NAME) else "",
    )


def _pod(pods: dict[PodKey, _Pod], labels: Mapping[str, str]) -> _Pod:
    namespace, name = labels.get("namespace", ""), labels.get("pod", "")
    if not namespace or not name:
        raise DemandImportError(1, "a series without the labels namespace and pod", _HINT)
    known = pods.setdefault((namespace, name, labels.get("uid", "")), _Pod())
    if len(pods) > MOST_PODS:
        raise DemandImportError(1, f"more than {MOST_PODS} pods", "query a shorter time")
    return known


def _take_controller(pod: _Pod, metric: str, labels: Mapping[str, str]) -> None:
    prefix = "created_by" if metric == INFO else "owner"
    kind, name = labels.get(f"{prefix}_kind", ""), labels.get(f"{prefix}_name", "")
    if kind not in ("", "<none>") and labels.get("owner_is_controller", "true") == "true":
        pod.controller = (kind, name)


def _take_request(pod: _Pod, series: Series) -> None:
    """The most that a container requested."""
    labels = series.metric
    resource = labels.get("resource", "").replace("ephemeral_storage", "ephemeral-storage")
    resource = _EXTENDED.get(resource, resource)
    if resource not in ("cpu", "memory", "ephemeral-storage", *GPU_RESOURCES):
        raise DemandImportError(
            1, f"requests for {resource[:60]!r} are not understood", 'leave them out: {resource=~"cpu|memory"}'
        )
    scale = 1000 if resource == "cpu" else 1
    most = max((_amount(value, scale) for _, value in series.values), default=0)
    pod.requests[labels.get("container", ""), resource] = most


def _amount(text: str, scale: int) -> int:
    try:
        value = Decimal(text) if len(text) < 40 else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not 0 <= value * scale < _MOST:
        raise DemandImportError(1, f"{text[:40]!r} is not an amount", "query the metric as it is")
    return int((value * scale).to_integral_value(ROUND_CEILING))


def _instant(at: float) -> int:
    if not 0 < at < 1e11:
        raise DemandImportError(1, f"{at} is not an instant", _HINT)
    return int(at)
