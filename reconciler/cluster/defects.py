"""Judging a World although judging one of its objects fails: that object is left out, and everything else is judged.

No text of an object may raise anything. If it does all the same, that is a defect of the product, and it must not stop decisions
about others. The search needs no hint about where the defect is. It leaves out objects until judging succeeds, those of whole
namespaces first, and then as few as possible. What is left out counts for the worst: no node is added for it or removed with it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.target import OwnerEvidence, TargetFacts
from reconciler.cluster.workloads.capacity_buffer import BUFFER
from reconciler.cluster.workloads.provisioning_request import REQUEST
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import BufferPods, BufferProblem, RequestPods, World, WorldProblem
from reconciler.values.defect import defect_text
from reconciler.values.label_selector import LabelSelector
from reconciler.values.plural import count_text

DEFECT = "Defect"
"""The code of the problem that names an object which could not be judged."""
CAUGHT: tuple[type[Exception], ...] = (Exception,)
"""What counts as a defect of one object."""
MOST_NAMESPACES, MOST_OBJECTS = 16, 4
"""In so many namespaces objects are left out, and so many objects of one namespace before all of them are."""
MOST_ATTEMPTS = 200
MOST_KNOWN = 256
"""So many objects are remembered; if there are more, none of them."""
Known = Mapping[str, tuple[str, ...]]
"""What was found before: the text of a defect -> digests of the objects that met it. Whoever remembers it need not search again:
without these objects, as long as they are as they were, judging probably succeeds."""
_KEPT_NODE = (("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"),)
_encoder = msgspec.json.Encoder(order="deterministic")
_T = TypeVar("_T")


class Suspect(msgspec.Struct, frozen=True):
    """One object, by the field of the World that has it and its place there. `namespace` is empty for what tenants do not
    write."""

    field: str
    index: int
    namespace: str = ""


Suspects = tuple[Suspect, ...]


def judged(world: World, judge: Callable[[World], _T], known: Known = {}) -> _T:  # noqa: B006 - nobody writes to it
    """`judge` of the World, or of the World without the objects whose judging fails. Raises what `judge` raises if nobody can
    tell which these are."""
    return judged_again(world, judge, known)[0]


def judged_again(world: World, judge: Callable[[World], _T], known: Known) -> tuple[_T, Known]:
    """The same, and what to remember for the next time."""
    try:
        return judge(world), {}
    except CAUGHT as error:
        return _Search(world, judge, error).result(known)


class _Search(Generic[_T]):
    """The search for the objects that `judge` fails on."""

    def __init__(self, world: World, judge: Callable[[World], _T], error: Exception) -> None:
        self._world = world
        self._judge = judge
        self._error = error
        self._last = error
        self._left = MOST_ATTEMPTS
        self._why: dict[Suspect, str] = {}

    def result(self, known: Known) -> tuple[_T, Known]:
        """What is judged of the rest, and the objects that are left out. Those of `known` are tried first."""
        same = self._remembered(known)
        if same:
            try:
                return self._judge(self._without(same)), self._noted(same)
            except CAUGHT:
                self._why = {}
        found = self._searched()
        # Once more, for its result: the last attempt left out other objects.
        few = self._narrowed(found)
        try:
            return self._judge(self._without(few)), self._noted(few)
        except CAUGHT:
            every = tuple(one for some in found for one in some)
            return self._judge(self._without(every)), self._noted(every)

    def _remembered(self, known: Known) -> Suspects:
        why = {digest: text for text, digests in known.items() for digest in digests}
        if not why:
            return ()
        self._why = {one: why[digest] for one in _suspects(self._world) if (digest := _digest(self._world, one)) in why}
        return tuple(self._why)

    def _noted(self, withheld: Suspects) -> Known:
        if len(withheld) > MOST_KNOWN:
            return {}
        known: dict[str, list[str]] = {}
        for one in withheld:
            known.setdefault(self._why.get(one, defect_text(self._error)), []).append(_digest(self._world, one))
        return {text: tuple(sorted(digests)) for text, digests in sorted(known.items())}

    def _searched(self) -> list[Suspects]:
        of_tenants: dict[str, list[Suspect]] = {}
        others: list[Suspects] = []
        for suspect in _suspects(self._world):
            if suspect.namespace:
                of_tenants.setdefault(suspect.namespace, []).append(suspect)
            else:
                others.append((suspect,))
        tenants = [tuple(of_tenants[namespace]) for namespace in sorted(of_tenants)]
        found = self._culprits((), tenants, MOST_NAMESPACES)
        if found is None or len(found) > 1:
            # One group or node on which the pods of all tenants fail is to blame, and not they.
            one = self._culprits((), others, 1 if found else MOST_OBJECTS)
            found = one if one is not None else found
        if found is None:
            raise self._error
        return found

    def _narrowed(self, found: Sequence[Suspects]) -> Suspects:
        """Of each namespace only the objects that judging fails on, if they are few."""
        narrow: Suspects = ()
        for number, objects in enumerate(found):
            base = (*narrow, *(one for others in found[number + 1 :] for one in others))
            few = self._culprits(base, [(one,) for one in objects], MOST_OBJECTS) if len(objects) > 1 else None
            narrow = (*narrow, *(one for some in few for one in some)) if few is not None else (*narrow, *objects)
        return narrow

    def _culprits(self, base: Suspects, among: Sequence[Suspects], most: int) -> list[Suspects] | None:
        """The fewest of these, in their order, without which judging succeeds; None if they are more than `most`, or others."""
        found: list[Suspects] = []
        while not self._succeeds(base, found):
            why = defect_text(self._last)
            rest = [one for one in among if one not in found]
            if len(found) == most or not rest or not self._succeeds(base, [*found, *rest]):
                return None
            low, high = 0, len(rest)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._succeeds(base, [*found, *rest[:middle]]) else (middle, high)
            found.append(rest[high - 1])
            self._why |= dict.fromkeys(rest[high - 1], why)
        return found

    def _succeeds(self, base: Suspects, more: Sequence[Suspects]) -> bool:
        if self._left <= 0:
            raise self._error
        self._left -= 1
        rest = self._without((*base, *(one for some in more for one in some)))
        try:
            self._judge(rest)
        except CAUGHT as error:
            self._last = error
            return False
        return True

    def _without(self, withheld: Suspects) -> World:
        if not withheld:
            return self._world
        world, why = self._world, defect_text(self._error)
        reasons = {one: self._why.get(one, why) for one in withheld}
        problems = [
            WorldProblem(code=DEFECT, object=_title(world, one), message=f"it is not judged: {text}")
            for one, text in reasons.items()
        ]
        changed: dict[str, object] = {"problems": tuple(sorted({*world.problems, *problems}))}
        for field, form in _FORMS.items():
            chosen = {one.index: text for one, text in reasons.items() if one.field == field}
            if chosen:
                values = enumerate(getattr(world, field))
                changed[field] = tuple(form(value, chosen[at]) if at in chosen else value for at, value in values)
        nodes = [one.index for one in withheld if one.field == "nodes"]
        return msgspec.structs.replace(_without_nodes(world, nodes), **changed)


def _suspects(world: World) -> list[Suspect]:
    fields = [(field, getattr(world, field)) for field in _FORMS]
    found = [
        Suspect(field, index, getattr(value, "namespace", "")) for field, values in fields for index, value in enumerate(values)
    ]
    return [*found, *(Suspect("nodes", index) for index in range(len(world.nodes)))]


def _digest(world: World, suspect: Suspect) -> str:
    """Of the content of an object, wherever others have moved it."""
    value: msgspec.Struct = getattr(world, suspect.field)[suspect.index]
    shape: NodeShape | None = None
    if isinstance(value, Node):
        value, shape = msgspec.structs.replace(value, shape=0), world.node_shapes[value.shape]
    elif isinstance(value, BufferPods):
        value = msgspec.structs.replace(value, shape=0)
    elif isinstance(value, RequestPods):
        value = msgspec.structs.replace(value, sets=())
    return hashlib.sha256(_encoder.encode((suspect.field, value, shape))).hexdigest()[:16]


def _title(world: World, suspect: Suspect) -> str:
    if suspect.field in ("pod_shapes", "pod_traits"):
        column = world.pods.shape if suspect.field == "pod_shapes" else world.pods.traits
        rows = [row for row, number in enumerate(column) if number == suspect.index]
        if not rows:
            return f"Pod template in namespace {suspect.namespace}"
        more = f" and {count_text(len(rows) - 1, 'other')} like it" if len(rows) > 1 else ""
        return f"Pod {world.pods.key(rows[0])}{more}"
    value = getattr(world, suspect.field)[suspect.index]
    if isinstance(value, TargetFacts):
        return str(value.ref)
    if isinstance(value, Node):
        return f"Node {value.name}"
    return f"{_KINDS[suspect.field]} {suspect.namespace}/{value.name}"


def _shape(shape: PodShape, why: str) -> PodShape:
    return PodShape(
        namespace=shape.namespace,
        labels=shape.labels,
        requests=shape.requests,
        host_ports=shape.host_ports,
        priority=shape.priority,
        scheduler_name=shape.scheduler_name,
        defect=why,
    )


def _traits(traits: PodTraits, _: str) -> PodTraits:
    return PodTraits(
        namespace=traits.namespace,
        controller=traits.controller,
        safe_to_evict="false",
        mirror=traits.mirror,
        daemonset=traits.daemonset,
    )


def _budget(budget: DisruptionBudget, _: str) -> DisruptionBudget:
    return DisruptionBudget(
        namespace=budget.namespace, name=budget.name, selector=LabelSelector(), disruptions_allowed=0, observed=False
    )


def _buffer(buffer: BufferPods, why: str) -> BufferPods:
    return msgspec.structs.replace(buffer, count=0, code=BufferProblem.UNREADABLE, problem=why)


def _request(request: RequestPods, why: str) -> RequestPods:
    return msgspec.structs.replace(request, sets=(), code=BufferProblem.UNREADABLE, problem=why)


def _target(facts: TargetFacts, why: str) -> TargetFacts:
    return TargetFacts(
        ref=facts.ref,
        uid=facts.uid,
        resource_version=facts.resource_version,
        generation=facts.generation,
        replicas=facts.replicas,
        labels=facts.labels,
        cluster_name=facts.cluster_name,
        clusters=facts.clusters,
        api_group=facts.api_group,
        owner=OwnerEvidence(managed_fields_present=False, topology_read=False, unreadable=(why,)),
        unseen=why,
        problems=(why,),
        keeps_nodes=why,
    )


_FORMS: dict[str, Callable[..., object]] = {
    "pod_shapes": _shape,
    "pod_traits": _traits,
    "budgets": _budget,
    "buffers": _buffer,
    "provisioning_requests": _request,
    "targets": _target,
}
_KINDS = {"budgets": "PodDisruptionBudget", "buffers": BUFFER, "provisioning_requests": REQUEST}


def _without_nodes(world: World, chosen: Sequence[int]) -> World:
    """Nodes that take no pods and are not removed, and have the labels and capacity that they had."""
    shapes, nodes = list(world.node_shapes), list(world.nodes)
    for index in chosen:
        before = nodes[index]
        old = shapes[before.shape]
        nodes[index] = Node(
            name=before.name,
            uid=before.uid,
            shape=len(shapes),
            provider_id=before.provider_id,
            hostname=before.hostname,
            created_seconds=before.created_seconds,
            ready=before.ready,
            ready_seconds=before.ready_seconds,
            deleting=before.deleting,
            annotations=_KEPT_NODE,
        )
        shapes.append(
            NodeShape(labels=old.labels, unschedulable=True, capacity=old.capacity, without_hostname=old.without_hostname)
        )
    return msgspec.structs.replace(world, node_shapes=tuple(shapes), nodes=tuple(nodes)) if chosen else world
