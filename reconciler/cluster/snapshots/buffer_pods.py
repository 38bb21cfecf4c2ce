"""What CapacityBuffers ask room for: the shape of their pods, and how many the namespace may still have."""

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
from msgspec import Raw

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.pods.pod_shaping import ShapeDraft, draft_shape
from reconciler.cluster.values.kept_objects import Kept, Key
from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart, finding
from reconciler.cluster.values.resources import PODS
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire.meta import EMPTY
from reconciler.cluster.wire.pod import PodTemplate
from reconciler.cluster.workloads.capacity_buffer import ACTIVE, SCALABLE, CapacityBuffer
from reconciler.cluster.workloads.pod_quota import (
    MOST_PODS,
    MOST_PODS_OF_CLUSTER,
    ResourceQuota,
    counts_pods,
    pods_within,
    shares,
)
from reconciler.cluster.world import BufferPods, BufferProblem

POD_TEMPLATE, QUOTA = "PodTemplate", "ResourceQuota"
OWN_BOUND = f"{MOST_PODS} pods per namespace and {MOST_PODS_OF_CLUSTER} per cluster"
"""What limits a buffer besides quotas."""
_template = RawPart(PodTemplate, "template")


class StatedTemplate(msgspec.Struct, frozen=True):
    """The template of pods as some object states it, not yet decoded, with the replicas that the object asks for."""

    template: bytes
    replicas: int = 0
    generation: int = 0


class BufferDraft(msgspec.Struct, frozen=True):
    """A buffer whose pods have no number of a shape yet. Without a `draft` there is a problem. `replicas` are those of its
    scalable object; `class_name` is the priority class of its pods."""

    buffer: CapacityBuffer
    draft: ShapeDraft | None = None
    replicas: int = 0
    generation: int = 0
    class_name: str = ""
    code: BufferProblem | None = None
    problem: str = ""


Admission = Callable[[str, PodTemplate], PodTemplate]
"""The template of a namespace with what the API server writes into its pods. Raises `UnreadableError`."""


def buffer_drafts(
    buffers: Iterable[CapacityBuffer],
    templates: Mapping[tuple[str, str], Kept[StatedTemplate]],
    controllers: Collection[tuple[str, str, str, str]],
    captured: Collection[str],
    admission: Admission,
) -> tuple[BufferDraft, ...]:
    """The buffers in the order of their names. `templates` are by API group and kind; `controllers` are (API group, kind,
    namespace, name) of all controllers."""
    return tuple(_draft(one, templates, controllers, captured, admission) for one in buffers)


def _draft(
    buffer: CapacityBuffer,
    templates: Mapping[tuple[str, str], Kept[StatedTemplate]],
    controllers: Collection[tuple[str, str, str, str]],
    captured: Collection[str],
    admission: Admission,
) -> BufferDraft:
    def refuse(code: BufferProblem, problem: str) -> BufferDraft:
        return BufferDraft(buffer, code=code, problem=problem)

    if buffer.problem:
        return refuse(BufferProblem.UNREADABLE, buffer.problem)
    if buffer.strategy != ACTIVE:
        return refuse(BufferProblem.UNKNOWN_STRATEGY, f"the strategy {buffer.strategy} is not known here, only {ACTIVE} is")
    if bool(buffer.template) == (buffer.scalable is not None):
        return refuse(BufferProblem.UNREADABLE, "one of podTemplateRef and scalableRef must be set, and not both")
    group, kind, name = buffer.scalable or ("", POD_TEMPLATE, buffer.template)
    where = SCALABLE.get((group, kind)) if buffer.scalable is not None else ("", POD_TEMPLATE)
    if where is None:
        shown = f"{kind} of {group}" if group else kind
        return refuse(BufferProblem.KIND_NOT_SUPPORTED, f"the pod template of a {shown} is not known")
    if where[1] not in captured:
        return refuse(BufferProblem.NOT_CAPTURED, f"{where[1]} objects were not captured")
    if QUOTA not in captured:
        return refuse(BufferProblem.NOT_CAPTURED, f"{QUOTA} objects were not captured, so the quota of the namespace is unknown")
    kept = templates.get(where)
    stated = kept.get((buffer.namespace, name)) if kept is not None else None
    if stated is None and (*where, buffer.namespace, name) in controllers:
        return refuse(BufferProblem.KIND_NOT_SUPPORTED, f"{kind} {name} belongs to another controller: refer to that one")
    if stated is None:
        return refuse(BufferProblem.NOT_FOUND, f"there is no {kind} {name} in namespace {buffer.namespace}")
    try:
        template, draft = stated_pods(buffer.namespace, f"{kind} {name}", stated, admission)
    except UnreadableError as error:
        return refuse(BufferProblem.UNREADABLE, str(error))
    return BufferDraft(buffer, draft, stated.replicas, stated.generation, template.spec.priority_class_name or "")


def stated_pods(namespace: str, title: str, stated: StatedTemplate, admission: Admission) -> tuple[PodTemplate, ShapeDraft]:
    """The template of an object of a namespace, and what its pods are like. Raises `UnreadableError` with the `title`."""
    try:
        template = _template.read(Raw(stated.template))
        if template is None:
            raise UnreadableError("it has no pod template")
        return template, _shape(namespace, admission(namespace, template))
    except UnreadableError as error:
        raise UnreadableError(f"{title}: {error}") from None
    except DECODING_ERRORS as error:
        raise UnreadableError(f"{title}: {finding(error)}") from None


def _shape(namespace: str, template: PodTemplate) -> ShapeDraft:
    labels = template.metadata.labels if template.metadata else EMPTY
    draft = draft_shape(namespace, "", labels, template.spec, None, template=True)
    # The claim of an ephemeral volume is made with its pod.
    volumes = tuple(one for one in draft.shape.volumes if not one.ephemeral)
    return msgspec.structs.replace(draft, shape=msgspec.structs.replace(draft.shape, volumes=volumes))


def buffer_pods(
    drafts: Iterable[BufferDraft], numbers: Mapping[Key, int], shapes: tuple[PodShape, ...], quotas: Iterable[ResourceQuota]
) -> tuple[BufferPods, ...]:
    """What is asked for, by namespace and name. `numbers` are those of the shapes of buffers with a draft.

    SOURCE: the Cluster Autoscaler serves quotas by the age of the buffers, then by name. Here, the number of pods counts
    as well, since the namespace could not have these pods.
    """
    by_namespace: dict[str, list[ResourceQuota]] = {}
    for quota in quotas:
        by_namespace.setdefault(quota.namespace, []).append(quota)
    taken: dict[tuple[str, str], dict[str, int]] = {}
    made = []
    for one in sorted(drafts, key=lambda entry: (entry.buffer.created_seconds, entry.buffer.namespace, entry.buffer.name)):
        buffer = one.buffer
        shape = numbers.get((buffer.namespace, buffer.name), -1)
        asked, code, problem = (0, one.code, one.problem) if shape < 0 else _count(one, shapes[shape])
        count, limited_by = asked, tuple[str, ...]()
        if code is None and asked:
            requests, here = shapes[shape].requests, by_namespace.get(buffer.namespace, ())
            mine = [quota for quota in here if counts_pods(quota, requests, one.class_name)]
            unknown = next((quota for quota in mine if quota.problem), None)
            if unknown is not None:
                code, problem = BufferProblem.QUOTA_UNKNOWN, f"{QUOTA} {unknown.name}: {unknown.problem}"
            else:
                count, limited_by = _within(mine, shapes[shape], asked, taken)
        made.append(
            BufferPods(
                namespace=buffer.namespace,
                name=buffer.name,
                uid=buffer.uid,
                generation=buffer.generation,
                created_seconds=buffer.created_seconds,
                strategy=buffer.strategy,
                template=buffer.template,
                template_generation=one.generation,
                shape=shape if code is None else -1,
                asked=0 if code is not None else asked,
                count=0 if code is not None else count,
                limited_by=limited_by,
                writers=buffer.writers,
                code=code,
                problem=problem,
            )
        )
    return tuple(sorted(_bounded(made), key=lambda entry: (entry.namespace, entry.name)))


def _bounded(buffers: Iterable[BufferPods]) -> Iterable[BufferPods]:
    """The buffers, the oldest first, each with no more pods than the bounds of its namespace and of the cluster leave."""
    ordered = list(buffers)
    asked: dict[str, int] = {}
    for one in ordered:
        asked[one.namespace] = asked.get(one.namespace, 0) + one.count
    left = shares(asked)
    for one in ordered:
        allowed = min(one.count, left[one.namespace])
        left[one.namespace] -= allowed
        limits = (*one.limited_by, OWN_BOUND) if allowed < one.count else one.limited_by
        yield msgspec.structs.replace(one, count=allowed, limited_by=limits)


def _count(one: BufferDraft, shape: PodShape) -> tuple[int, BufferProblem | None, str]:
    """How many pods a buffer asks for, or why that cannot be told."""
    buffer = one.buffer
    wanted = [max(0, buffer.replicas)] if buffer.replicas is not None else []
    if buffer.percentage is not None and buffer.scalable is not None:
        wanted.append(max(0, -(-buffer.percentage * one.replicas // 100)))
    allowed = pods_within(tuple(one for one in buffer.limits if one[0] != PODS), shape.requests)
    if buffer.limits and allowed is None:
        return 0, BufferProblem.LIMITS_UNMATCHED, "its pods request nothing of what spec.limits names"
    if not wanted and allowed is None:
        return 0, BufferProblem.UNREADABLE, "one of replicas, percentage (of a scalableRef) and limits must be set"
    most = max(wanted) if wanted else allowed or 0
    count = most if allowed is None else min(most, allowed)
    if count > MOST_PODS:
        return 0, BufferProblem.TOO_MANY, f"it asks for {count} pods, and the most is {MOST_PODS}"
    return count, None, ""


def _within(
    quotas: Iterable[ResourceQuota], shape: PodShape, asked: int, taken: dict[tuple[str, str], dict[str, int]]
) -> tuple[int, tuple[str, ...]]:
    """How many of the pods the quotas leave room for, and the names of those that allow fewer. Adds to `taken`, which has what
    older buffers took of each quota."""
    count, limiting = asked, []
    counted = list(quotas)
    for quota in counted:
        before = taken.get((quota.namespace, quota.name), {})
        rest = tuple((name, max(0, left - before.get(name, 0))) for name, left in quota.left)
        allowed = pods_within(rest, shape.requests)
        if allowed is not None and allowed < asked:
            limiting.append(quota.name)
            count = min(count, allowed)
    for quota in counted:
        sums = taken.setdefault((quota.namespace, quota.name), {})
        for name, _ in quota.left:
            sums[name] = sums.get(name, 0) + count * shape.requests.get(name)
    return count, tuple(limiting)
