"""Which ProvisioningRequests are answered under a policy, what each of them still asks for, and why others are not.

SOURCE: the Cluster Autoscaler keeps the room of an answered request for ten minutes, or until its pods run. Pods name it in an
annotation.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.pods.pod import PodPhase, PodShape
from reconciler.cluster.pods.pod_table import phase_code
from reconciler.cluster.wire.pod import CONSUMES
from reconciler.cluster.workloads.pod_quota import MOST_PODS, MOST_PODS_OF_CLUSTER, shares
from reconciler.cluster.workloads.provisioning_request import CLASSES, REQUEST
from reconciler.cluster.world import PodsOfSet, RequestPods, World
from reconciler.decisions.buffers import answered_by
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.provisioning import (
    BookingConsumed,
    BookingExpired,
    RequestAnswered,
    RequestNotServed,
    RequestRefused,
)
from reconciler.plan.reason import Because
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.values.instant import instant_text

BOOKING_SECONDS = 600
"""SOURCE: `bookingExpiration` of the Cluster Autoscaler."""
_FAILED = phase_code(PodPhase.FAILED)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request with what has come of it. `left` are pods that do not exist yet, `came` those that do, and `runs` says that none
    is missing and all have a node. Its room is kept until `until_seconds` (None: it was not there so far)."""

    request: RequestPods
    left: tuple[PodsOfSet, ...]
    came: int = 0
    runs: bool = False
    until_seconds: int | None = None

    @property
    def grows(self) -> bool:
        """Whether its class lets nodes be added."""
        return CLASSES[self.request.class_name]

    @property
    def pods(self) -> int:
        """How many pods do not exist yet."""
        return sum(one.count for one in self.left)


def with_requests_asked(world: World, policy: NodeGroupPolicy) -> World:
    """The World in which ProvisioningRequests are missing if the policy reads them and nobody has captured them."""
    if not policy.requests_from.reads_requests or REQUEST in world.captured:
        return world
    return msgspec.structs.replace(world, not_captured=tuple(sorted({*world.not_captured, REQUEST})))


def not_answered(request: RequestPods, policy: NodeGroupPolicy) -> Because | None:
    """Why the request is not answered here; None if it is.

    A request whose status another program writes is that program's to answer, unless the policy takes over from it.
    """
    if not policy.requests_from.reads_requests:
        return RequestNotServed(name=request.class_name or "(none)")
    if other := answered_by(request.writers, policy):
        return RequestAnswered(by=other)
    if request.code is not None and (request.class_name in CLASSES or not request.class_name):
        return RequestRefused(why=request.problem, problem=request.code.value)
    if request.class_name not in CLASSES:
        return RequestNotServed(name=request.class_name or "(none)")
    return None


def booking_key(request: RequestPods) -> str:
    """What a booking is remembered by."""
    return request.uid or request.key


def requests_asked(world: World, policy: NodeGroupPolicy, memory: Memory) -> tuple[Asked, ...]:
    """Requests that are answered here and want something: those first whose room is kept, then the oldest."""
    if not policy.requests_from.reads_requests:
        return ()
    wanting = [one for one in world.provisioning_requests if not one.over and not_answered(one, policy) is None]
    came = _came(world) if wanting else {}
    asked = [_asked(world, one, memory, came.get((one.namespace, one.name), ())) for one in wanting]

    def turn(one: Asked) -> tuple[bool, int, str, str]:
        return one.until_seconds is None, one.request.created_seconds, one.request.namespace, one.request.name

    return tuple(sorted(asked, key=turn))


class Allowance:
    """How many pods requests may still ask room for: what the quotas of their namespaces leave, and bounds of our own."""

    def __init__(self, shapes: Sequence[PodShape], requests: Sequence[Asked]) -> None:
        self._shapes = shapes
        asked: dict[str, int] = {}
        for one in requests:
            asked[one.request.namespace] = asked.get(one.request.namespace, 0) + one.pods
        self._pods = shares(asked)
        self._taken: dict[tuple[str, str], dict[str, int]] = {}

    def take(self, asked: Asked) -> str:
        """Count the pods of a request that do not exist yet. If they are too many, what limits them; then nothing is counted."""
        namespace, taken = asked.request.namespace, self._taken
        if asked.pods > self._pods[namespace]:
            return f"the bound of {MOST_PODS} pods per namespace and {MOST_PODS_OF_CLUSTER} per cluster"
        wanted = [(self._shapes[one.shape].requests, one.count) for one in asked.left]
        needs: list[tuple[tuple[str, str], dict[str, int]]] = []
        for quota in asked.request.quotas:
            if quota.problem:
                return f"ResourceQuota {quota.name}, which cannot be read ({quota.problem}),"
            before = taken.get((namespace, quota.name), {})
            need = {name: before.get(name, 0) + sum(one.get(name) * pods for one, pods in wanted) for name, _ in quota.left}
            if any(need[name] > left and need[name] > before.get(name, 0) for name, left in quota.left):
                return f"ResourceQuota {quota.name}"
            needs.append(((namespace, quota.name), need))
        taken.update(needs)
        self._pods[namespace] -= asked.pods
        return ""


def ended(asked: Asked, now_seconds: int) -> Because | None:
    """Why the room of a request is not kept any longer; None while it is. A booking ends only if its status shows it."""
    if asked.request.provisioned_seconds is None or asked.until_seconds is None:
        return None
    if asked.runs:
        return BookingConsumed(pods=asked.request.count)
    if asked.until_seconds <= now_seconds:
        return BookingExpired(until=instant_text(asked.until_seconds), missing=asked.pods)
    return None


def valid_until_seconds(request: RequestPods) -> int:
    """When the request gives up waiting, in Unix seconds."""
    return request.created_seconds + request.valid_seconds


def _asked(world: World, request: RequestPods, memory: Memory, came: Sequence[tuple[int, bool]]) -> Asked:
    until = memory.bookings.get(booking_key(request))
    if until is None and request.provisioned_seconds is not None:
        until = request.provisioned_seconds + BOOKING_SECONDS
    counts = [one.count for one in request.sets]
    shapes = world.pod_shapes
    for shape, _ in came:
        there = [place for place, count in enumerate(counts) if count]
        alike = [place for place in there if shapes[request.sets[place].shape].requests == shapes[shape].requests]
        for place in (alike or there)[:1]:
            counts[place] -= 1
    left = tuple(PodsOfSet(shape=one.shape, count=count) for one, count in zip(request.sets, counts, strict=True) if count)
    return Asked(
        request=request,
        left=left,
        came=request.count - sum(counts),
        runs=not left and all(runs for _, runs in came),
        until_seconds=until,
    )


def _came(world: World) -> Mapping[tuple[str, str], list[tuple[int, bool]]]:
    """By namespace and name of a request the pods that consume it: their shape, and whether they have a node or are done. Another
    pod comes in the place of one that failed or is being deleted."""
    names = {
        number: name
        for number, traits in enumerate(world.pod_traits)
        if traits.annotations and (name := dict(traits.annotations).get(CONSUMES))
    }
    found: dict[tuple[str, str], list[tuple[int, bool]]] = defaultdict(list)
    pods = world.pods
    for row, number in enumerate(pods.traits if names else ()):
        if number in names and not pods.deletion_seconds[row] and pods.phase[row] != _FAILED and not pods.gated(row):
            where = pods.namespace[row], names[number]
            found[where].append((pods.shape[row], pods.node[row] >= 0 or pods.finished(row)))
    return found
