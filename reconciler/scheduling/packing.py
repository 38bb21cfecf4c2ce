"""Many kinds of pods onto new nodes of many templates at once: open a large one, fill it, then take the smallest that fits.

Pods are placed in the given order; with large pods first, this is first-fit decreasing. A node is opened as the largest template
of a class and filled with whatever fits under all constraints. In the end, it becomes the cheapest template of its class that
fits its pods. Templates of one class give the same answer for every constraint and differ only in size. Karpenter packs in a
similar way, with a set of instance types that narrows while a node fills. Here the choice is made once, at the end.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec

from reconciler.cluster.devices.resource_slice import ResourceSlice
from reconciler.cluster.nodes.node import ATTACH_LIMIT, NO_VOLUMES, NodeShape, NodeVolumes, Taint
from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.values.resources import Resources
from reconciler.scheduling.state import SchedulingState

TemplateClass = tuple[tuple[tuple[str, str], ...], tuple[Taint, ...], bool, NodeVolumes, tuple[ResourceSlice, ...]]
DEVICES = "resource.k8s.io/devices"
"""The key of `label_keys` where some pod may ask for devices and the templates differ in theirs."""


class PackTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What one new node could be. `daemons` are the shapes of its DaemonSet pods; `cost` orders templates (a price, or a
    size where there is none)."""

    shape: NodeShape
    daemons: tuple[int, ...] = ()
    cost: int


class Packing(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` are (template, node of the state). `bindings` (shape, node, pods) are already bound in the state. `left` are
    (shape, pods) that no template can take now."""

    nodes: tuple[tuple[int, int], ...]
    bindings: tuple[tuple[int, int, int], ...]
    left: tuple[tuple[int, int], ...]


def pack(
    state: SchedulingState,
    demands: Sequence[tuple[int, int]],
    templates: Sequence[PackTemplate],
    others: Iterable[PodShape] = (),
) -> Packing:
    """Place `demands` ((shape, pods), in order) on new nodes. `others` are shapes of pods that run already, whose
    anti-affinity may reach new nodes. The state keeps the new nodes and their pods."""
    shapes = [*(state.pod_shape(shape) for shape, _ in demands), *others]
    keys = label_keys(shapes, [template.shape for template in templates])
    classes: dict[TemplateClass, list[int]] = {}
    for index, template in enumerate(templates):
        classes.setdefault(template_class(template.shape, keys), []).append(index)
    ladders = [_Ladder(templates, members) for _, members in sorted(classes.items())]
    mark = state.mark()
    filling = _Filling(state, templates, ladders)
    left = tuple((shape, rest) for shape, count in demands if (rest := filling.fill(shape, count)))
    chosen = filling.smallest()
    state.undo(mark)
    return _settled(state, templates, chosen, filling.bindings, left)


def _settled(
    state: SchedulingState,
    templates: Sequence[PackTemplate],
    chosen: dict[int, int],
    bindings: Sequence[tuple[int, int, int]],
    left: tuple[tuple[int, int], ...],
) -> Packing:
    """The same pods on the same nodes, these now of the templates that were chosen for them."""
    at: dict[int, int] = {}
    for trial, index in chosen.items():
        template = templates[index]
        at[trial] = state.add_node(f"new-{len(at) + 1}", template.shape, template.daemons)
    for shape, trial, count in bindings:
        state.bind(shape, at[trial], count)
    return Packing(
        nodes=tuple((chosen[trial], node) for trial, node in at.items()),
        bindings=tuple((shape, at[trial], count) for shape, trial, count in bindings),
        left=left,
    )


class _Ladder:
    """The templates of one class from small to large by cpu, with the largest first tried when a node is opened."""

    def __init__(self, templates: Sequence[PackTemplate], members: list[int]) -> None:
        self._templates = templates
        self.by_cpu = sorted(
            members, key=lambda index: (templates[index].shape.allocatable.cpu_milli, templates[index].cost, index)
        )
        self._cpus = [templates[index].shape.allocatable.cpu_milli for index in self.by_cpu]
        self.largest = tuple(
            sorted(members, key=lambda index: (-_bulk(templates[index].shape.allocatable), templates[index].cost, index))
        )

    def cheapest_for(self, used: Resources, by_devices: frozenset[str], opened: int) -> int:
        """The cheapest template that holds `used` and lists nothing that devices met; `opened` when no other does."""
        best = opened
        for index in self.by_cpu[bisect_left(self._cpus, used.cpu_milli) :]:
            template = self._templates[index]
            offered = template.shape.allocatable
            if template.cost < self._templates[best].cost and _holds(offered, used) and not any(map(offered.get, by_devices)):
                best = index
        return best


class _Filling:
    """Opened nodes (numbers of the state), the ladder and template of each, and what was bound to them."""

    def __init__(self, state: SchedulingState, templates: Sequence[PackTemplate], ladders: list[_Ladder]) -> None:
        self._state = state
        self._templates = templates
        self._ladders = ladders
        self._opened: dict[int, tuple[_Ladder, int]] = {}
        self.bindings: list[tuple[int, int, int]] = []

    def fill(self, shape: int, count: int) -> int:
        """Place `count` pods of one shape; how many are left over."""
        left = count - self._place(shape, count)
        while left:
            placed = self._open(shape, left)
            if not placed:
                return left
            left -= placed
            if self._state.pod_shape(shape).spread:
                # A pod more in one domain frees a place in the others.
                left -= self._place(shape, left)
        return 0

    def _place(self, shape: int, count: int) -> int:
        placements = self._state.place(shape, count, list(self._opened))
        self.bindings.extend((shape, node, pods) for node, pods in placements)
        return sum(pods for _, pods in placements)

    def _open(self, shape: int, count: int) -> int:
        """A new node that takes at least one pod of the shape, from the ladders in turn. Each ladder offers its largest template
        that does; 0 if none does."""
        for ladder in self._ladders:
            for index in ladder.largest:
                template = self._templates[index]
                mark = self._state.mark()
                node = self._state.add_node(f"open-{len(self._opened)}", template.shape, template.daemons)
                placements = self._state.place(shape, count, [node])
                if placements:
                    self._opened[node] = (ladder, index)
                    self.bindings.extend((shape, node, pods) for _, pods in placements)
                    return sum(pods for _, pods in placements)
                self._state.undo(mark)
                if _holds(template.shape.allocatable, self._state.pod_shape(shape).requests):
                    # It has the room, so a constraint says no, and it says so to all templates of the class.
                    break
        return 0

    def smallest(self) -> dict[int, int]:
        """For every opened node the cheapest template of its class that holds what is on it."""
        state = self._state
        return {
            node: ladder.cheapest_for(state.used(node), state.met_by_devices(node), index)
            for node, (ladder, index) in self._opened.items()
        }


def template_class(shape: NodeShape, keys: frozenset[str]) -> TemplateClass:
    """What constraints of pods can see of a new node, its size left out: two templates of one class answer alike."""
    labels = tuple(pair for pair in shape.labels if pair[0] in keys)
    volumes, devices = shape.volumes if ATTACH_LIMIT in keys else NO_VOLUMES, shape.devices if DEVICES in keys else ()
    return labels, shape.taints, shape.unschedulable, volumes, devices


def label_keys(shapes: Iterable[PodShape], templates: Iterable[NodeShape]) -> frozenset[str]:
    """Labels by which some pod could distinguish the templates. If a pod has a volume, all labels of the templates count, because
    volumes may depend on any label. Examples are the zones of disks, the topologies of storage classes and the segments of
    storage capacity. Then `ATTACH_LIMIT` is a key as well, if the templates differ in how many volumes a driver attaches."""
    keys: set[str] = set()
    templates = tuple(templates)
    devices_differ = len({template.devices for template in templates}) > 1
    for shape in shapes:
        if shape.volumes:
            keys.update(key for template in templates for key, _ in template.labels)
            if len({template.volumes for template in templates}) > 1:
                keys.add(ATTACH_LIMIT)
        if devices_differ and (shape.claims or shape.requests.extended):
            keys.add(DEVICES)
        keys.update(key for key, _ in shape.node_selector)
        keys.update(item.key for term in shape.required_terms or () for item in term.expressions)
        keys.update(item.topology_key for item in shape.spread)
        keys.update(item.topology_key for item in (*shape.affinity, *shape.anti_affinity))
    return frozenset(keys)


def _bulk(amount: Resources) -> int:
    """Size of a template for the order in which templates are opened: cores and memory on one scale (4 GiB a core)."""
    return amount.cpu_milli * (4 << 30) // 1000 + amount.memory_bytes


def _holds(offered: Resources, used: Resources) -> bool:
    return (
        used.cpu_milli <= offered.cpu_milli
        and used.memory_bytes <= offered.memory_bytes
        and used.ephemeral_bytes <= offered.ephemeral_bytes
        and used.pods <= offered.pods
        and all(amount <= offered.get(name) for name, amount in used.extended)
    )
