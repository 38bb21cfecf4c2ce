"""Another autoscaler at work: a Cluster Autoscaler that renews its Lease, writes its status, or has replicas to do so.

A Deployment counts by what it runs (`cluster.workloads.autoscaler`), not by its name: a name alone would hold every group.

SOURCE: the Cluster Autoscaler's defaults. It has the Lease `cluster-autoscaler` and the ConfigMap `cluster-autoscaler-status` in
its own namespace (kube-system by default). The status has the annotation `cluster-autoscaler.kubernetes.io/last-updated`, and the
autoscaler rewrites it in every iteration of 10 s. Clocks of two machines are not compared precisely. What changes while we watch
is alive. When we first see an object, its own time counts, with a minute of tolerance.
"""

import re
import threading
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from reconciler.cluster.platform_reading import readings
from reconciler.cluster.workloads.autoscaler import HOME, NAME, has_replicas, runs_autoscaler
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.connection.side_by_side import side_by_side
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, parse_instant

STATUS = "cluster-autoscaler-status"
LOOK_SECONDS = 10.0
WRITE_SECONDS = 1.0
"""A write asks again before it goes out, unless somebody has asked within this second."""
DEPLOYMENTS_SECONDS = 60
"""Whole lists are asked less often than one Lease: an autoscaler that starts is noticed by its Lease first."""
LATELY_SECONDS = 60.0
_UPDATED = "cluster-autoscaler.kubernetes.io/last-updated"
_GO_TIME = re.compile(r"([0-9-]{10}) ([0-9:]{8})(?:\.[0-9]+)? ?(?:([+-][0-9]{2}):?([0-9]{2}))?(?: .*)?")
"""SOURCE: Go's `time.Time.String`: a date, a time of day, an offset without a colon, a name of the zone."""
_ABSENT = (403, 404)


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    renew_time: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _Container(msgspec.Struct):
    image: str = ""
    command: list[str] = []
    args: list[str] = []


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []


class _Template(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _DeploymentSpec(msgspec.Struct):
    replicas: int | None = None
    template: _Template = msgspec.field(default_factory=_Template)


class _Name(msgspec.Struct):
    name: str


class _Deployment(msgspec.Struct):
    metadata: _Name
    spec: _DeploymentSpec = msgspec.field(default_factory=_DeploymentSpec)


class _Deployments(msgspec.Struct):
    items: list[_Deployment] = []


class _Seen(msgspec.Struct, frozen=True):
    """An object when it last changed, until when that makes it alive, and the sentence about it."""

    version: str
    until: float
    sentence: str


class RivalWatch:
    """Looks at some namespaces of one or two clusters, at most every `look_seconds`, every ten seconds while another autoscaler
    works there, and before writes. `monotonic` is the clock of ages. `wall_seconds` is compared with the times on objects at
    first sight. Several loops may share it: each look is for all of them. `homes`: it also looks where autoscalers are usually.
    """

    def __init__(
        self,
        apis: Iterable[Api],
        namespaces: Iterable[str],
        *,
        monotonic: Callable[[], float],
        wall_seconds: Callable[[], float],
        look_seconds: float = LOOK_SECONDS,
        homes: bool = True,
    ) -> None:
        self._apis = tuple(apis)
        self._look_seconds = look_seconds
        self._lately_seconds = LATELY_SECONDS
        self._lock = threading.Lock()
        self._namespaces = tuple(dict.fromkeys((*((HOME,) if homes else ()), *namespaces)))
        # A platform runs its own autoscaler in its own namespace.
        of_platforms = (name for reading in readings() for name in reading.autoscaler_namespaces) if homes else ()
        self._homes = tuple(dict.fromkeys((*self._namespaces, *of_platforms)))
        self._monotonic = monotonic
        self._wall_seconds = wall_seconds
        self._looked: float | None = None
        self._sentences: tuple[str, ...] = ()
        self._seen: dict[tuple[int, str], _Seen] = {}
        self._running: dict[tuple[int, str], tuple[str, ...]] = {}
        self._listed: dict[tuple[int, str], float] = {}

    def evidence(self) -> tuple[str, ...]:
        """Sentences, without times in them, that another autoscaler is at work; empty if none is known. If the server cannot be
        asked now, the last answer stays."""
        return self._evidence(LOOK_SECONDS if self._sentences else self._look_seconds)

    def before_write(self) -> tuple[str, ...]:
        """The same, right before a write, to find an autoscaler that came back meanwhile. Lists of Deployments are not asked more
        often: an autoscaler that starts takes its Lease first."""
        return self._evidence(WRITE_SECONDS)

    def _evidence(self, oldest_seconds: float) -> tuple[str, ...]:
        with self._lock:
            now = self._monotonic()
            if self._looked is None or now - self._looked >= oldest_seconds:
                # A change may be as old as the look before.
                self._lately_seconds = LATELY_SECONDS + max(now - (self._looked or now) - LOOK_SECONDS, 0)
                self._looked = now
                looks = self._looks()
                found = side_by_side(lambda look: look(now), looks, len(looks))
                self._sentences = tuple(dict.fromkeys(sentence for sentences in found for sentence in sentences if sentence))
            return self._sentences

    def _looks(self) -> list[Callable[[float], tuple[str, ...]]]:
        """One for each request."""
        looks: list[Callable[[float], tuple[str, ...]]] = []
        for number, api in enumerate(self._apis):
            looks += [partial(self._deployments, number, api, namespace) for namespace in self._homes]
            for namespace in self._namespaces:
                lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{NAME}"
                status = f"/api/v1/namespaces/{namespace}/configmaps/{STATUS}"
                looks.append(partial(self._look, number, api, lease, partial(_lease_words, namespace)))
                looks.append(partial(self._look, number, api, status, partial(_status_words, namespace)))
        return looks

    def _deployments(self, number: int, api: Api, namespace: str, now: float) -> tuple[str, ...]:
        key = (number, namespace)
        if now - self._listed.get(key, float("-inf")) < max(DEPLOYMENTS_SECONDS, self._look_seconds):
            return self._running.get(key, ())
        try:
            deployments = decode(api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments"), _Deployments)
        except ApiError as error:
            if error.status in _ABSENT:
                self._listed[key] = now
                self._running.pop(key, None)
        except (UnreachableError, msgspec.DecodeError):
            pass
        else:
            self._listed[key] = now
            sentences = (
                has_replicas(namespace, item.metadata.name, item.spec.replicas)
                for item in deployments.items
                if any(runs_autoscaler(one.image, one.command, one.args) for one in item.spec.template.spec.containers)
            )
            self._running[key] = tuple(sentence for sentence in sentences if sentence)
        return self._running.get(key, ())

    def _look(self, number: int, api: Api, path: str, words: Callable[[_Object], str], now: float) -> tuple[str, ...]:
        """The sentence about one object; none if it does not exist or is not alive."""
        key = (number, path)
        known = self._seen.get(key)
        try:
            item = decode(api.get(path), _Object)
        except ApiError as error:
            if error.status in _ABSENT:
                self._seen.pop(key, None)
                return ()
        except (UnreachableError, msgspec.DecodeError):
            pass
        else:
            if known is None:
                left = LATELY_SECONDS - (self._wall_seconds() - _written_seconds(item))
                known = _Seen(item.metadata.resource_version, now + min(max(left, 0.0), LATELY_SECONDS), words(item))
            elif known.version != item.metadata.resource_version:
                known = _Seen(item.metadata.resource_version, now + self._lately_seconds, words(item))
            self._seen[key] = known
        return (known.sentence,) if known is not None and known.until > now else ()


def _status_words(namespace: str, _: _Object) -> str:
    return f"ConfigMap {namespace}/{STATUS} is being written"


def _lease_words(namespace: str, item: _Object) -> str:
    """Empty for a Lease that its holder has released."""
    return f"Lease {namespace}/{NAME} is renewed by {item.spec.holder_identity}" if item.spec.holder_identity else ""


def _written_seconds(item: _Object) -> float:
    return _seconds(item.spec.renew_time or (item.metadata.annotations or {}).get(_UPDATED, ""))


def _seconds(text: str) -> float:
    """Unix time of `2026-11-21T12:00:00.5Z` or of `2026-11-21 12:00:00.5 +0000 UTC`; 0 for other texts."""
    match = _GO_TIME.fullmatch(text)
    if match is not None:
        day, clock, hours, minutes = match.groups()
        text = f"{day}T{clock}{f'{hours}:{minutes}' if hours else 'Z'}"
    try:
        return float(parse_instant(text))
    except InstantError:
        return 0.0
