"""What ProvisioningRequests ask room for: the shapes of their pods."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.pods.pod_shaping import ShapeDraft
from reconciler.cluster.snapshots.buffer_pods import POD_TEMPLATE, Admission, StatedTemplate, stated_pods
from reconciler.cluster.values.kept_objects import Kept
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.workloads.pod_quota import ResourceQuota, counts_pods
from reconciler.cluster.workloads.provisioning_request import ProvisioningRequest
from reconciler.cluster.world import BufferProblem, PodsOfSet, RequestPods


class RequestDraft(msgspec.Struct, frozen=True):
    """A request whose pods have no numbers of shapes yet; `drafts` are those of its sets, and `class_names` the priority
    classes of their pods. Without drafts there is a problem, or nobody here answers its class."""

    request: ProvisioningRequest
    drafts: tuple[ShapeDraft, ...] = ()
    class_names: tuple[str, ...] = ()
    code: BufferProblem | None = None
    problem: str = ""


def request_drafts(
    requests: Iterable[ProvisioningRequest],
    templates: Mapping[tuple[str, str], Kept[StatedTemplate]],
    captured: Collection[str],
    admission: Admission,
) -> tuple[RequestDraft, ...]:
    """The requests in the order of their names. `templates` are by API group and kind."""
    there = templates.get(("", POD_TEMPLATE)) or Kept[StatedTemplate]()
    return tuple(_draft(one, there, captured, admission) for one in requests)


def _draft(
    request: ProvisioningRequest, templates: Kept[StatedTemplate], captured: Collection[str], admission: Admission
) -> RequestDraft:
    if request.problem:
        return RequestDraft(request, code=BufferProblem.UNREADABLE, problem=request.problem)
    if request.pod_sets and POD_TEMPLATE not in captured:
        problem = f"{POD_TEMPLATE} objects were not captured"
        return RequestDraft(request, code=BufferProblem.NOT_CAPTURED, problem=problem)
    drafts, class_names = [], []
    for name, _ in request.pod_sets:
        stated = templates.get((request.namespace, name))
        if stated is None:
            problem = f"there is no {POD_TEMPLATE} {name} in namespace {request.namespace}"
            return RequestDraft(request, code=BufferProblem.NOT_FOUND, problem=problem)
        try:
            template, draft = stated_pods(request.namespace, f"{POD_TEMPLATE} {name}", stated, admission)
            drafts.append(draft)
            class_names.append(template.spec.priority_class_name or "")
        except UnreadableError as error:
            return RequestDraft(request, code=BufferProblem.UNREADABLE, problem=str(error))
    return RequestDraft(request, tuple(drafts), tuple(class_names))


def request_pods(
    drafts: Sequence[RequestDraft], numbers: Iterable[int], pod_shapes: Sequence[PodShape], quotas: Iterable[ResourceQuota]
) -> tuple[RequestPods, ...]:
    """What is asked for, by namespace and name. `numbers` are those of the shapes of all drafts, in their order."""
    left = iter(numbers)
    of_namespace: dict[str, list[ResourceQuota]] = {}
    for quota in quotas:
        of_namespace.setdefault(quota.namespace, []).append(quota)
    made = []
    for one in drafts:
        request = one.request
        shapes = [next(left) for _ in one.drafts]
        counts = [count for _, count in request.pod_sets] if shapes else []
        here = of_namespace.get(request.namespace, ())
        asked = [(pod_shapes[shape].requests, name) for shape, name in zip(shapes, one.class_names, strict=True)]
        made.append(
            RequestPods(
                namespace=request.namespace,
                name=request.name,
                uid=request.uid,
                generation=request.generation,
                created_seconds=request.created_seconds,
                class_name=request.class_name,
                sets=tuple(PodsOfSet(shape=shape, count=count) for shape, count in zip(shapes, counts, strict=True)),
                valid_seconds=request.valid_seconds,
                retries=request.retries,
                over=request.over,
                provisioned_seconds=request.provisioned_seconds,
                writers=request.writers,
                quotas=tuple(quota for quota in here if any(counts_pods(quota, *pods) for pods in asked)),
                code=one.code,
                problem=one.problem,
            )
        )
    return tuple(made)
