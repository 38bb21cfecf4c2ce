"""A working copy of "which pods are on which nodes", for what-ifs: bind, place, ask, undo."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.columns import CPU_COLUMN, ENDLESS, MEMORY_COLUMN, ResourceColumns, largest_amount
from reconciler.scheduling.filled_nodes import Filled, HostSpread
from reconciler.scheduling.filters import NOT_MODELLED, Filters
from reconciler.scheduling.index_sets.marked_bytes import union
from reconciler.scheduling.new_nodes import Entries, fill_new
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.device_placement import DevicePlacement
from reconciler.scheduling.predicates.dynamic_resources import missing_kinds, served_names, served_requests
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.domain_limits import DomainLimit
from reconciler.scheduling.topology.rationing import ration
from reconciler.scheduling.verdict import Rejection

_FEW_NODES = 8


class SchedulingState:
    """Nodes (existing ones first, in World order, then added ones) with what is bound to them.

    Deterministic: same calls, same answers. Never reads a clock. Costs of asking are by shape, not by pod.
    """

    def __init__(self, world: World, *, pods: Iterable[int] | None = None, devices: bool = False) -> None:
        """Bind the pods of `world` given by index. None means all unfinished pods on a node of the view, terminating ones
        included, as kube-scheduler counts them. Pods with resolved claims get devices of the node as they are bound (see
        `with_resolved_claims`). With `devices`, verdicts include all of DynamicResources instead, for devices as the world has
        them, and pods that need some are placed nowhere."""
        release = world.release
        largest = largest_amount([shape.requests for shape in world.pod_shapes], lambda: Counter(world.pods.shape).items())
        self._served = frozenset[str]() if missing_kinds(world) else served_names(world, release)
        asked = served_requests(self._served, world.pod_shapes)
        self._nodes = NodeTable(world.node_shapes, world.nodes, ResourceColumns(largest), asked)
        self._shapes = ShapeTable(
            world.pod_shapes,
            self._nodes.columns,
            declared_features=release.declared_features,
            compares_taints=release.compares_taints,
        )
        self._bindings = Bindings(self._nodes, self._shapes)
        bound = self._bindings.bind_world(world.pods, pods)
        self._filters = Filters(world, release, self._nodes, self._shapes, self._bindings, bound, devices=devices)
        self._closed: list[int] = []
        self._leaving: list[int] = []
        self._marks: list[tuple[int, int, int, int]] = []
        self._local: dict[int, bool] = {}
        self._by_domains: dict[int, bool] = {}
        self._local_at = -1

    @property
    def shape_count(self) -> int:
        """Number of pod shapes; valid indices are below it."""
        return len(self._shapes)

    @property
    def node_count(self) -> int:
        """Number of nodes, closed ones included; valid indices are below it."""
        return len(self._nodes)

    def name(self, node: int) -> str:
        """Name of a node."""
        return self._nodes.names[node]

    def shape_of(self, node: int) -> NodeShape:
        """Shape of a node."""
        return self._nodes.shapes[self._nodes.shape[node]]

    def pod_shape(self, shape: int) -> PodShape:
        """A pod shape by index: those of the World first, then added ones."""
        return self._shapes.shapes[shape]

    def taken(self) -> Sequence[tuple[int, int]]:
        """(pod shape, steps) of all that was spent on questions since the last time."""
        return self._shapes.effort.take()

    def read(self, shape: int, traits: PodTraits) -> None:
        """All that is written in pods of a shape is read for something else than a place, and counts."""
        self._shapes.effort.read(shape, traits)

    def add_shape(self, shape: PodShape) -> int:
        """Register a pod shape that is not in the World (headroom); equal shapes get one index. Not undone by `undo`."""
        known = self._shapes.index(shape)
        if known is not None:
            return known
        index = self._shapes.append(shape)
        asked = served_requests(self._served, (shape,)) - self._nodes.served
        if asked:
            width = self._nodes.columns.width
            if self._nodes.serve(asked):
                self._widen(width)
        self._filters.follow()
        return index

    def add_node(self, name: str, shape: NodeShape, pods: Sequence[int] = ()) -> int:
        """A node that is not there yet (upcoming, or a new one of a group) with its daemonset pods, by pod shape, bound
        without asking. Returns its index. Undone by `undo`."""
        return self.add_nodes((name,), shape, pods)[0]

    def add_nodes(self, names: Sequence[str], shape: NodeShape, pods: Sequence[int] = ()) -> range:
        """As `add_node`, several of one shape; their indices."""
        width = self._nodes.columns.width
        first = self._nodes.add(names, shape)
        if self._nodes.columns.width > width:
            self._widen(width)
        added = range(first, first + len(names))
        self._bindings.add_nodes(len(names))
        if pods:
            if len(added) == 1:
                for pod in pods:
                    self._bindings.push(pod, first, 1)
            else:
                here, every = len(pods), array("i", pods) * len(added)
                nodes = array("i", [node for node in added for _ in range(here)])
                self._bindings.push_list(nodes, every, array("i", (1,)) * len(every))
        return added

    def close(self, node: int) -> None:
        """The node takes no more pods (it is leaving); what is bound to it stays bound until unbound. Undone by `undo`."""
        if not self._nodes.closed[node]:
            self._nodes.closed[node] = 1
            self._closed.append(node)

    def leave(self, node: int) -> None:
        """The node is leaving: it is closed, and spread constraints stop counting it. Constraints that honor taints ignore it as
        soon as it is marked, the others once it is gone. Pods that wait for this are bound then."""
        self.close(node)
        if node not in self._nodes.leaving:
            self._nodes.leaving.add(node)
            self._leaving.append(node)
            self._filters.topology.recount_bound(node)

    def leaving(self, node: int) -> bool:
        """Is the node marked as leaving, so that spread constraints do not count it?"""
        return node in self._nodes.leaving

    def closed(self, node: int) -> bool:
        """Does the node take no more pods?"""
        return bool(self._nodes.closed[node])

    def open_among(self, nodes: Iterable[int]) -> list[int]:
        """Those of the nodes that are not `closed`, in the same order."""
        closed = self._nodes.closed
        return [node for node in nodes if not closed[node]]

    def modelled(self, shape: int) -> str:
        """Empty when verdicts for this shape are exact; else what is not modelled, as a phrase (`DynamicResources`)."""
        return self._filters.modelled(shape)

    def node_local(self, shape: int) -> bool:
        """Whether the placement of pods of this shape concerns only their own node. Then no shape seen so far has a spread or
        affinity that concerns them, and they have no host name, host port or volume."""
        self._forget_what_was_local()
        local = self._local.get(shape)
        if local is None:
            value = self._shapes.shapes[shape]
            # A shape with volumes is watched from the start.
            bound_to = value.host_ports or value.host_name_bound or self._filters.hangs_on_devices(shape)
            others = self._bindings.watchers.of(shape) or self._filters.topology.counts(shape)
            local = not (bound_to or self._filters.has_rules(shape) or others)
            # Where a rule came to watch shapes meanwhile, the next question forgets it.
            self._local[shape] = local
        return local

    def _forget_what_was_local(self) -> None:
        if self._local_at != self._bindings.watchers.watching:
            # A shape that is watched from now on was local so far.
            self._local.clear()
            self._by_domains.clear()
            self._local_at = self._bindings.watchers.watching

    def node_local_until(self, shapes: Sequence[int], first: int) -> int:
        """The entry behind the last of those from `first` on that are `node_local` one after the other."""
        known = self._local if self._local_at == self._bindings.watchers.watching else {}
        if all(map(known.get, shapes[first:])):
            return len(shapes)
        for entry in range(first, len(shapes)):
            if not known.get(shapes[entry]):
                if not self.node_local(shapes[entry]):
                    return entry
                known = self._local
        return len(shapes)

    def host_rivals(self, shape: int) -> frozenset[int] | None:
        """Shapes whose pods share no host with pods of this shape; this shape is among them if there is one pod per host. None if
        the shape has a volume or a host name. None also if any other rule about pods concerns it, except its own spread."""
        return self._filters.host_rivals(shape)

    def domain_keys(self, shape: int) -> frozenset[str] | None:
        """Labels whose values may matter for a pod of this shape, apart from the resources of its node. While each of these
        domains keeps the same number of pods of every shape, nothing changes for the pod. None if the host, a volume or a port
        also matters."""
        return self._filters.domain_keys(shape)

    def shuts_out(self, shape: int, node: int) -> bool:
        """Do rules keep one more pod of the shape off the node for the domains that it is in? Then they keep it off any node in
        the same domains. False if a rule concerns the host."""
        return bool(self.shut_by(shape, node))

    def shut_by(self, shape: int, node: int) -> tuple[str, ...]:
        """The plugins that `shuts_out` is about, sorted; empty where it says no."""
        plugins = self._filters.refusing_rules(shape, node)
        if not plugins:
            return ()
        self._forget_what_was_local()
        by_domains = self._by_domains.get(shape)
        if by_domains is None:
            by_domains = self._by_domains[shape] = self.domain_keys(shape) is not None
        return plugins if by_domains else ()

    def enters(self, shape: int, node: int) -> bool:
        """Do taints, cordon, features and labels of the node let the pod in?"""
        return self._filters.enters(shape, node)

    def lacks_company(self, shape: int) -> bool:
        """Does the required affinity of the shape mean pods of which none is bound anywhere? Then no node takes a pod of it."""
        return self._filters.lacks_company(shape)

    def own_host(self, node: int) -> bool:
        """Is the node a host of its own, known by its name?"""
        return self._nodes.hostname(node) == self._nodes.names[node]

    def fill_new(self, node: int, asked: Entries, most: int) -> tuple[Filled, int]:
        """How pods of several shapes would fill at most `most` nodes like this one, one shape after the other and first fit. Also
        the number of nodes examined. Nothing is bound."""
        return fill_new(self._nodes, self._shapes, node, asked, most)

    def spread_with(self, shape: int) -> frozenset[int]:
        """Shapes whose pods the spread constraints of this one count; none without one."""
        return self._filters.topology.spread_with(shape)

    def host_spread(self, shape: int, node: int) -> HostSpread | None:
        """The spread over hosts as nodes like this one, which is new and empty, would meet it (`NO_SPREAD`: there is none). None
        where they do not count."""
        return self._filters.topology.host_spread(shape, node)

    def domain_room(self, shape: int, node: int) -> int:
        """How many more pods of the shape its spread lets into the domains of a node, apart from the host, while no other pod
        moves."""
        return self._filters.topology.domain_room(shape, node)

    def fits(self, shape: int, node: int) -> bool:
        """Would one more pod of this shape run on this node? False on closed nodes and for shapes not modelled."""
        return self._filters.room(shape, node, 1) > 0

    def gated(self, shape: int) -> bool:
        """Do claims keep pods of the shape out of the scheduler's queue? Only known with `devices`."""
        return self._filters.gated(shape)

    def count_promises(self, crowded: Callable[[int], bool]) -> None:
        """The next questions are about a pod that `crowded` nodes do not take because of the pods that are promised to them. No
        filter fails on these nodes, since another one says no before."""
        self._filters.count_promises(crowded)

    def verdict(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """Every filter plugin that rejects the pod on the node, sorted by plugin; empty: fits. `closed` does not count."""
        return self._filters.verdict(shape, node)

    def rejecting_plugins(self, shape: int, most: int | None = None) -> list[tuple[str, ...]]:
        """By node, the plugins that `verdict` would name: for all nodes (or the first `most`) at once, without the numbers."""
        return self._filters.plugins(shape, most)

    def refusals(self, shape: int, nodes: Sequence[int]) -> Counter[tuple[str, ...]]:
        """For how many of these nodes `verdict` would name exactly these plugins. Closed nodes do not count."""
        return self._filters.refusals(shape, nodes)

    def verdict_with(self, shape: int, node: int, promised: Sequence[int]) -> tuple[Rejection, ...]:
        """The verdict if pods of these shapes were on the node too, as kube-scheduler counts nominated pods. Plugins that were
        skipped before are skipped again."""
        alone = self.verdict(shape, node)
        if any(rejection.plugin == NOT_MODELLED for rejection in alone):
            return alone
        skipped = self._filters.skipped(shape)
        crowded = self._filters.crowded_by(shape, node, promised)
        mark = self.mark()
        for other in promised:
            self.bind(other, node)
        rejections = [rejection for rejection in self.verdict(shape, node) if rejection.plugin not in skipped]
        self.undo(mark)
        self._marks.pop()
        if crowded is not None and all(rejection.plugin != crowded.plugin for rejection in rejections):
            rejections.append(crowded)
        return tuple(sorted(rejections))

    def place(self, shape: int, count: int, nodes: Sequence[int] | None = None) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods of one shape, first fit over `nodes` in the given order (None: all, by index).

        Returns (node, pods bound) for nodes that got some; their sum is what was placed. Equals pod-by-pod first fit. An
        `array("i")` without repetitions is used as it is.
        """
        if self.modelled(shape):
            return ()
        if nodes is not None and len(nodes) <= _FEW_NODES:
            return self._place_on_few(shape, count, nodes)
        count = min(count, self._filters.most_at_all(shape))
        # An array of C ints is taken as it is: whoever asks a thousand times over the same order makes it once.
        ready = nodes if isinstance(nodes, array) and nodes.typecode == "i" else None
        order = ready if ready is not None or nodes is None else array("i", dict.fromkeys(nodes))
        first: tuple[tuple[int, int], ...] = ()
        if count > 1 and self._filters.starts_group(shape):
            first = self._place_with_ration(shape, 1, order)
            if not first:
                return ()
            count -= 1
        return _added(first, self._place_with_ration(shape, count, order))

    def fit_each(
        self,
        shapes: "array[int]",
        counts: "array[int]",
        first: int,
        end: int,
        before: "array[int]",
        order: "array[int]",
        cursor: "array[int]",
        reached: "array[int]",
    ) -> tuple[int, int]:
        """As `place` for several node-local shapes, entries `first` to `end`, each over `before` and then over `order` from
        `cursor[shape]` on. Stops at the first shape that lacks a place.

        Returns the entry of that shape (`end`: none) and how many nodes were looked at. `reached[entry]` becomes how many
        nodes at the front of `order` have no room for the shape left.
        """
        allowed, rows = self._filters.allowed_matrix(shapes)
        return self._bindings.fit_each(shapes, counts, first, end, allowed, rows, before, order, cursor, reached)

    @property
    def stack_size(self) -> int:
        """How many entries `bound_since` passes over when it is given this number."""
        return self._bindings.size

    def bound_since(self, size: int) -> tuple["array[int]", "array[int]", "array[int]"]:
        """Nodes, shapes and counts of all that was bound since `stack_size` was `size`, in order."""
        return self._bindings.since(size)

    def bind_list(self, nodes: "array[int]", shapes: "array[int]", counts: "array[int]") -> None:
        """`bind` for several; counts below zero take off."""
        self._bindings.push_list(nodes, shapes, counts)

    def bind(self, shape: int, node: int, count: int = 1) -> None:
        """Bind without asking."""
        self._bindings.push(shape, node, count)

    def unbind(self, shape: int, node: int, count: int = 1) -> None:
        """Take pods of a shape off a node."""
        self._bindings.push(shape, node, -count)

    def bound(self, node: int) -> tuple[tuple[int, int], ...]:
        """(shape, count) on a node, by shape index; counts above zero."""
        return tuple(sorted(self._bindings.on(node).items()))

    def used(self, node: int) -> Resources:
        """Sum of the requests bound to a node, without those that its devices meet."""
        room = self._nodes.room[self._nodes.shape[node]]
        free = self._nodes.free_row(node)
        taken = [0 if had >= ENDLESS else had - left for had, left in zip(room, free, strict=True)]
        return self._nodes.columns.resources(array("q", taken))

    def met_by_devices(self, node: int) -> frozenset[str]:
        """Extended resources that pods on the node have from its devices, since it does not list them."""
        if not self._nodes.served:
            return frozenset()
        requests = (
            (name, amount) for shape in self._bindings.on(node) for name, amount in self.pod_shape(shape).requests.extended
        )
        return frozenset(name for name, _ in self._nodes.from_devices(node, requests))

    def is_served(self, name: str) -> bool:
        """Does a device class serve an extended resource, so that devices meet it on nodes that do not list it?"""
        return name in self._nodes.served

    def asks_for_devices(self, shape: int) -> bool:
        """Do pods of the shape get devices as they are bound: for their claims, or for extended resources of a class?"""
        return self._filters.handing(shape) is not None

    def used_cpu_and_memory(self, node: int) -> tuple[int, int]:
        """Of `used` the millicores and the bytes, for those who ask about all nodes."""
        room, free = self._nodes.room[self._nodes.shape[node]], self._nodes.free
        cpu, memory = (node * self._nodes.columns.width + column for column in (CPU_COLUMN, MEMORY_COLUMN))
        return room[CPU_COLUMN] - free[cpu], room[MEMORY_COLUMN] - free[memory]

    def free(self, node: int) -> "array[int]":
        """What is left on a node, by column of resources; below zero where more is bound than it has."""
        return self._nodes.free_row(node)

    def mark(self) -> int:
        """A point to return to. Marks nest."""
        self._marks.append((self._bindings.size, len(self._closed), len(self._nodes), len(self._leaving)))
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Back to `mark`: costs as much as what happened since, not as the size of the world."""
        size, closed, count, left = self._marks[mark]
        del self._marks[mark + 1 :]
        self._bindings.pop_to(size)
        if left < len(self._leaving):
            for node in self._leaving[left:]:
                self._nodes.leaving.discard(node)
                self._filters.topology.recount_bound(node)
            del self._leaving[left:]
        for node in self._closed[closed:]:
            self._nodes.closed[node] = 0
        del self._closed[closed:]
        if count < len(self._nodes):
            self._nodes.drop_to(count)
            self._bindings.drop_to(count)
            self._filters.drop_to(count)

    def _widen(self, old: int) -> None:
        """A node has a resource that none had so far: rows of pods that request it change, and what is left where they run."""
        changed = self._shapes.widen(old)
        for shape, node, count in self._bindings.of(changed):
            self._nodes.take(node, changed[shape], count)

    def _place_on_few(self, shape: int, count: int, nodes: Iterable[int]) -> tuple[tuple[int, int], ...]:
        placed: dict[int, int] = {}
        while count > 0:
            for node in nodes:
                pods = self._filters.room(shape, node, count)
                if pods:
                    self._bindings.push(shape, node, pods)
                    placed[node] = placed.get(node, 0) + pods
                    count -= pods
                    # A floor may have moved, or devices are left: the first node may take one more.
                    if self._filters.has_rules(shape) or self._filters.handing(shape) is not None:
                        break
            else:
                break
        return tuple(placed.items())

    def _place_with_ration(self, shape: int, count: int, order: "array[int] | None") -> tuple[tuple[int, int], ...]:
        if count <= 0:
            return ()
        filters = self._filters
        allowed, blocked, most_each = filters.allowed(shape), filters.blocked(shape), filters.most_each(shape)
        limits = filters.limits(shape)
        if (handing := filters.handing(shape)) is not None:
            return self._place_with_devices(shape, count, order, (allowed, blocked, most_each), limits, handing)
        if not limits:
            return self._bindings.first_fit(shape, count, allowed, blocked, order, most_each)
        nodes, rooms = self._bindings.with_room(shape, allowed, blocked, order, most_each)
        placed = ration(nodes, rooms, limits, count, lambda node, pods: self._bindings.push(shape, node, pods))
        return tuple(placed.items())

    def _place_with_devices(
        self,
        shape: int,
        count: int,
        order: "array[int] | None",
        bounds: tuple[bytearray, bytearray, int],
        limits: Sequence[DomainLimit],
        handing: DevicePlacement,
    ) -> tuple[tuple[int, int], ...]:
        """First fit where a node takes no more pods than it has devices for."""
        blocked = union(bounds[1], handing.full(shape))
        nodes, rooms = self._bindings.with_room(shape, bounds[0], blocked, order, bounds[2])
        placed: dict[int, int] = {}

        def push(node: int, pods: int) -> None:
            self._bindings.push(shape, node, pods)
            placed[node] = placed.get(node, 0) + pods

        if not limits:
            for node, room in zip(nodes, rooms, strict=True):
                left = min(room, count)
                while left > 0 and (pods := handing.most(shape, node, left)):
                    push(node, pods)
                    left -= pods
                    count -= pods
                if count <= 0:
                    break
            return tuple(placed.items())
        while count > 0:
            # Where nodes share devices, or pods a claim, one pod changes what the others find.
            alone = any(handing.one_by_one(shape, node) for node in nodes)
            wanted = 1 if alone else count
            rooms_now = [(node, handing.most(shape, node, min(room, wanted))) for node, room in zip(nodes, rooms, strict=True)]
            usable, few = (array("i", column) for column in zip(*((0, 0), *(one for one in rooms_now if one[1])), strict=True))
            now = sum(ration(usable[1:], few[1:], limits, wanted, push).values())
            count -= now
            if not now or not alone:
                break
            nodes, rooms = self._bindings.with_room(shape, bounds[0], bounds[1], order, bounds[2])
        return tuple(placed.items())


def _added(first: tuple[tuple[int, int], ...], rest: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    if not first:
        return rest
    sums = dict(first)
    for node, pods in rest:
        sums[node] = sums.get(node, 0) + pods
    return tuple(sums.items())
