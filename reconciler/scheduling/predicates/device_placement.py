"""Devices while pods are placed: what each pod of a shape would get, and what is left of every node after that.

The search is the one of DynamicResources. An answer is remembered by what is asked, which devices a node has, and which of them
are taken. So nodes of one machine type share it.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec

from reconciler.cluster.devices.resource_claim import Allocation, ResourceClaim
from reconciler.cluster.devices.resource_slice import Where
from reconciler.cluster.values.release import Release
from reconciler.cluster.world import World
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.devices.allocation import MOST_STEPS, AllocationError, Given, NodeAllocator, Wanted
from reconciler.scheduling.devices.catalog import Catalog
from reconciler.scheduling.devices.pools import DeviceId, Pools, reaches
from reconciler.scheduling.devices.selector_values import NotEvaluatedError, SelectorError
from reconciler.scheduling.devices.taken import Taken
from reconciler.scheduling.node_affinity import label_reader
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.device_demand import Asked, ClaimKey, Demand, Demands, Shared
from reconciler.scheduling.predicates.device_site import DeviceSite, SiteState, pool_content, state_of, taken_of, with_coming
from reconciler.scheduling.predicates.dynamic_resources import missing_kinds, reached
from reconciler.scheduling.shapes import ShapeTable

_Step = tuple[tuple[Given, ...], tuple[int, ...], SiteState]
"""What one more pod gets on a node, at which places, and the state after that."""
_A_LOOK = 16
"""So many steps it takes to look at what is left of a node."""
_SHORT_SEARCH_STEPS, _LONG_STEPS = 10_000, 3 * MOST_STEPS
"""Searches above the first may take this much together, for the pods of one namespace. Then each one may be short: claims that
nobody can search through must not slow the plan for all."""
_NO_DEVICES: tuple[Given, ...] = ()


class Trouble(msgspec.Struct, frozen=True):
    """What the search failed on: nobody knows the answer, or kube-scheduler gives up the whole attempt."""

    message: str
    aborts: bool


class DevicePlacement:
    """Watches pods of shapes that ask for devices, and hands devices out to them as they are bound. They have claims, or request
    extended resources that a class serves."""

    def __init__(self, world: World, release: Release, nodes: NodeTable, shapes: ShapeTable, bindings: Bindings) -> None:
        self._world = world
        self._nodes = nodes
        self._shapes = shapes
        self._bindings = bindings
        self._rules = release.devices
        missing = missing_kinds(world)
        self._unknown = missing if missing or release.device_classes else "Kubernetes before 1.36"
        self._catalog = Catalog(world.device_classes)
        self._pools: Pools | None = None
        self._taken = Taken(world.resource_claims)
        self._long_steps: dict[str, int] = {}
        """What long searches have taken so far, by namespace."""
        self._demands = Demands(world, nodes, shapes, self._catalog)
        self._shared = self._demands.shared
        self._bound_users: dict[ClaimKey, int] = {}
        self._sites: dict[int, DeviceSite] = {}
        self._layouts: dict[object, int] = {}
        self._sample: dict[int, DeviceSite] = {}
        self._known: dict[tuple[int, int, SiteState, int], _Step | Trouble | None] = {}
        self._handed: dict[tuple[int, int], list[tuple[Given, ...] | None]] = {}
        self._off: dict[tuple[int, int], int] = {}
        """Pods of the World that were taken off their node. Their devices stay taken: nobody waits for a node that is left."""
        self._full: dict[int, bytearray] = {}
        """By number of what is asked; below zero by shape, where that hangs on the node."""
        self._unknown_on: dict[int, int] = {}
        """Pods by node that were bound without anybody knowing what devices they have."""
        self._troubles: dict[tuple[object, int], str] = {}
        self._groups: list[tuple[DeviceSite, list[int]]] | None = None
        self._seen = 0
        self.watched: set[int] = set()
        """Shapes that ask for devices."""
        self.follow()

    # What is asked.

    def unclear(self, shape: int, enters: Callable[[int], bool]) -> str:
        """Why pods of the shape are placed nowhere, as a phrase; empty: they are. `enters` says whether labels and taints let a
        pod of the shape onto a node.

        Source: an error of a filter on any node ends kube-scheduler's whole attempt (`findNodesThatPassFilters`). No node is
        added for pods whose attempts may all end so. For a pod of a DaemonSet it looks at one node only, which the pod names.
        """
        if self._unknown:
            return self._unknown
        demand = self._demands.of(shape)
        if demand.unclear:
            return demand.unclear
        if self._taken.unmodelled and (demand.claims or self._is_delegated(demand, enters)):
            return self._taken.unmodelled
        return "" if shape in self._of_daemons else self._trouble(shape, demand, enters)

    @cached_property
    def _of_daemons(self) -> frozenset[int]:
        """What DaemonSets put on a node, as long as no other pod is like that."""
        shapes = {shape for one in self._world.daemon_pods for shape in (one.shape, *one.others)}
        return frozenset(shapes.difference(self._world.pods.shape)) if shapes else frozenset()

    def _is_delegated(self, demand: Demand, enters: Callable[[int], bool]) -> bool:
        """Would any node of the World ask its devices for an extended resource?"""
        nodes = range(len(self._world.nodes))
        return any(self._nodes.from_devices(node, demand.extended) and enters(node) for node in nodes)

    def most(self, shape: int, node: int, most: int) -> int:
        """How many pods of the shape, `most` at most, get devices on the node. 1 stands for one or more where other nodes reach
        the same devices."""
        demand = self._demands.of(shape)
        if demand.unclear or most <= 0 or (demand.claims and self._unknown_on.get(node)):
            return 0
        site = self._sites.get(node) or self._site(node)
        if demand.shared and any(not self._reaches(self._shared[key], site, node) for key in demand.shared):
            return 0
        asked = demand.asked or self._demands.asked(shape, demand, node)
        if not asked.wanted:
            return most
        if self._unknown_on.get(node):
            return 0
        full = self._full_for(-1 - shape if demand.extended else asked.number)
        if full[node]:
            return 0
        self._shapes.effort.add(_A_LOOK)
        if site.layout < 0 or (demand.shared and any(map(self._demands.is_open, demand.shared))):
            found = self._found(asked, site)
            full[node] = not isinstance(found, tuple)
            return int(isinstance(found, tuple))
        count, state = 0, site.state
        while count < most:
            step = self._step(asked, site, state)
            if not isinstance(step, tuple):
                break
            count, state = count + 1, step[2]
        full[node] = not count
        return count

    def full(self, shape: int) -> bytearray:
        """By node: 1 where a pod of the shape is known to get no devices until some are given back."""
        demand = self._demands.of(shape)
        return self._full_for(-1 - shape if demand.extended else (demand.asked or self._demands.asked(shape, demand, -1)).number)

    def _full_for(self, number: int) -> bytearray:
        full = self._full.get(number)
        if full is None:
            full = self._full[number] = bytearray()
        short = len(self._nodes) - len(full)
        if short > 0:
            full.extend(bytes(short))
        return full

    def one_by_one(self, shape: int, node: int) -> bool:
        """Do pods of the shape change what others of it find on other nodes?"""
        return not self._site(node).alone or self.starts(shape)

    def starts(self, shape: int) -> bool:
        """Does the first pod decide where the others can go, since they share a claim that has no devices yet?"""
        return any(not self._shared[key].has_devices for key in self._demands.of(shape).shared)

    def shares(self, shape: int) -> bool:
        """Do pods of the shape have a claim that others may have too?"""
        return bool(self._demands.of(shape).shared)

    def judge(self, shape: int, node: int) -> str | Trouble:
        """Why one more pod of the shape gets no devices on the node; empty: it does."""
        demand = self._demands.of(shape)
        asked = self._demands.asked(shape, demand, node)
        if self._unknown_on.get(node) and (demand.claims or asked.wanted):
            return Trouble("devices of pods on the node", aborts=False)
        site = self._site(node)
        away = next((key[1] for key in demand.shared if not self._reaches(self._shared[key], site, node)), "")
        if away:
            return f"claim {away} has devices that other nodes reach"
        found = self._found(asked, site) if asked.wanted else _NO_DEVICES
        if isinstance(found, Trouble):
            return found
        return self._shortage(asked.wanted, site) if found is None else ""

    # What is handed out.

    def follow(self) -> None:
        """Shapes were appended to the table: those that ask for devices are watched."""
        start, self._seen = self._seen, len(self._shapes)
        shapes = self._shapes.shapes
        new = [shape for shape in range(start, len(shapes)) if shapes[shape].claims or self._demands.served(shapes[shape])]
        self.watched.update(new)
        for shape in new:
            self._bindings.watchers.watch(shape, self)
        if new and not self._unknown:
            self._hand_to_bound(new)

    def change(self, shape: int, node: int, count: int) -> None:
        """See `Watcher`."""
        if self._unknown:
            return
        for _ in range(count):
            self._give(shape, node)
        for _ in range(-count):
            self._take_back(shape, node)

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        for node in [node for node in self._sites if node >= count]:
            del self._sites[node]
        for full in self._full.values():
            del full[count:]

    def _hand_to_bound(self, new: Iterable[int]) -> None:
        """Pods that run without a claim that has devices there: a simulated cluster moves pods, and writes no claims."""
        chosen = frozenset(new)
        for shape, _, count in self._bindings.of(new):
            for key in self._demands.of(shape).shared:
                self._bound_users[key] = self._bound_users.get(key, 0) + count
                self._shared[key].users = max(self._shared[key].users, self._bound_users[key])
        owned = [claim for claim in self._demands.claims.values() if claim.allocation is not None and claim.owner_uid]
        uids = {claim.owner_uid: claim for claim in owned if not claim.of_extended_resources}
        special = {claim.owner_uid: claim for claim in owned if claim.of_extended_resources}
        pods, counted = self._world.pods, dict[tuple[int, int], int]()
        for shape, node, count in self._bindings.of(new):
            counted[shape, node] = counted.get((shape, node), 0) + count
        with_devices = dict[tuple[int, int], int]()
        for row, shape in enumerate(pods.shape if counted else ()):
            node = pods.node[row]
            if shape not in chosen or node < 0:
                continue
            demand, uid = self._demands.of(shape), pods.uid[row]
            own = any(isinstance(one, Wanted) for one in demand.claims)
            if own and not self._is_at(uids.get(uid), node):
                continue
            if not self._nodes.from_devices(node, demand.extended) or self._is_at(special.get(uid), node):
                with_devices[shape, node] = with_devices.get((shape, node), 0) + 1
        for (shape, node), count in sorted(counted.items()):
            for _ in range(count - with_devices.get((shape, node), 0)):
                self._give(shape, node)

    def _is_at(self, claim: ResourceClaim | None, node: int) -> bool:
        """Does a claim have devices that the node reaches?"""
        if claim is None or claim.allocation is None:
            return False
        nodes = self._nodes
        labels = label_reader(nodes.shapes[nodes.shape[node]].labels, nodes.hostname(node))
        return reached(claim.allocation.terms, labels, nodes.names[node])

    def _give(self, shape: int, node: int) -> None:
        demand, place = self._demands.of(shape), (shape, node)
        for key in demand.shared:
            self._shared[key].users += 1
        if self._off.get(place):
            self._off[place] -= 1
            for key in demand.shared:
                self._restore(self._shared[key])
            return
        site = self._site(node)
        asked = self._demands.asked(shape, demand, node)
        found = self._found(asked, site) if asked.wanted and not demand.unclear else _NO_DEVICES
        given = None if isinstance(found, Trouble) or found is None or demand.unclear else found
        own = None
        if given is None:
            # Bound without asking, by somebody who knows better: what it has nobody knows.
            self._unknown_on[node] = self._unknown_on.get(node, 0) + 1
        else:
            open_keys = [
                None if isinstance(one, Wanted) else one
                for one in demand.claims
                if isinstance(one, Wanted) or self._demands.is_open(one)
            ]
            # Last is what extended resources ask for.
            open_keys.append(None)
            own = tuple(one for one in given if open_keys[one.claim] is None)
            for index, open_key in enumerate(open_keys):
                if open_key is not None:
                    mine = tuple(one for one in given if one.claim == index)
                    shared = self._shared[open_key]
                    shared.given, shared.given_at, shared.where = mine, node, self._where(mine, site)
            self._apply(given, node, site)
        self._handed.setdefault(place, []).append(own)

    def _take_back(self, shape: int, node: int) -> None:
        place, demand = (shape, node), self._demands.of(shape)
        handed = self._handed.get(place)
        if handed:
            own = handed.pop()
            if own is None:
                self._unknown_on[node] -= 1
            else:
                self._withdraw(own, node)
        else:
            self._off[place] = self._off.get(place, 0) + 1
        for key in demand.shared:
            shared = self._shared[key]
            shared.users -= 1
            if shared.users > 0:
                continue
            # Source: the claim controller deallocates a claim once nobody has reserved it.
            if shared.given is not None:
                self._withdraw(shared.given, shared.given_at)
                shared.given, shared.where = None, ()
            elif shared.allocation is not None and not shared.released:
                shared.released = True
                self._mark(shared.allocation, taken=False)

    def _restore(self, shared: Shared) -> None:
        if shared.released and shared.given is None and shared.allocation is not None:
            shared.released = False
            self._mark(shared.allocation, taken=True)

    def _mark(self, allocation: Allocation, *, taken: bool) -> None:
        """Devices that the cluster says are allocated become free, or taken again."""
        for one in allocation.devices:
            if one.admin:
                continue
            device = one.driver, one.pool, one.device
            parts = tuple(one.consumed or ())
            if one.shared:
                self._taken.take_part(device, parts) if taken else self._taken.free_part(device, parts)
            elif taken:
                self._taken.whole.add(device)
            else:
                self._taken.whole.discard(device)
        self._forget({(one.driver, one.pool, one.device) for one in allocation.devices}, freed=not taken)

    def _apply(self, given: tuple[Given, ...], node: int, site: DeviceSite) -> None:
        for one in given:
            if one.admin:
                continue
            if one.parts is None:
                self._taken.whole.add(one.device)
            else:
                self._taken.take_part(one.device, one.parts)
        if site.alone and site.layout >= 0 and all(one.parts is None for one in given):
            whole, part, parts = site.state
            for one in given:
                whole |= 0 if one.admin else 1 << site.places[one.device]
            site.state = whole, part, parts
        else:
            self._changed(given, node, freed=False)

    def _withdraw(self, given: tuple[Given, ...], node: int) -> None:
        for one in given:
            if one.admin:
                continue
            if one.parts is None:
                self._taken.whole.discard(one.device)
            else:
                self._taken.free_part(one.device, one.parts)
        self._changed(given, node, freed=True)

    def _changed(self, given: tuple[Given, ...], node: int, *, freed: bool) -> None:
        if not given:
            return
        site = self._sites.get(node)
        if site is None or not site.alone:
            self._forget({one.device for one in given}, freed=freed)
            return
        site.state = state_of(site, self._taken)
        if freed:
            for full in self._full.values():
                if node < len(full):
                    full[node] = 0

    def _forget(self, devices: set[DeviceId], *, freed: bool) -> None:
        """Devices that any node may reach changed."""
        for site in self._sites.values():
            if not devices.isdisjoint(site.places):
                site.state = state_of(site, self._taken)
        if freed:
            for full in self._full.values():
                full[:] = bytes(len(full))

    # What a node has.

    def _site(self, node: int) -> DeviceSite:
        known = self._sites.get(node)
        if known is None:
            nodes = self._nodes
            name, shape = nodes.names[node], nodes.shapes[nodes.shape[node]]
            labels = label_reader(shape.labels, nodes.hostname(node))
            if self._pools is None:
                self._pools = Pools(self._world.resource_slices, self._rules)
            pools = self._pools.of(name, labels)
            if shape.devices:
                pools = with_coming(pools, shape.devices, name, self._rules)
            known = self._sites[node] = DeviceSite(name, labels, pools)
            self._lay_out(known)
        return known

    def _lay_out(self, site: DeviceSite) -> None:
        for pool in site.pools:
            for item in pool.slices:
                for device in item.devices:
                    site.places.setdefault(pool.device_id(device), len(site.ids))
                    site.ids.append(pool.device_id(device))
        site.alone = all(item.where.node_name for pool in site.pools for item in pool.slices)
        if not any(pool.elsewhere or any(item.per_device for item in pool.slices) for pool in site.pools):
            content = tuple(pool_content(pool) for pool in site.pools)
            site.layout = self._layouts.setdefault(content, len(self._layouts))
            self._sample.setdefault(site.layout, site)
        site.state = state_of(site, self._taken)

    # The search.

    def _found(self, asked: Asked, site: DeviceSite) -> tuple[Given, ...] | Trouble | None:
        """The devices that one more pod would get."""
        if site.layout < 0:
            return self._search(asked.wanted, site)
        step = self._step(asked, site, site.state)
        if not isinstance(step, tuple):
            return step
        return tuple(
            Given(claim=one.claim, request=one.request, device=site.ids[place], admin=one.admin, parts=one.parts)
            for one, place in zip(step[0], step[1], strict=True)
        )

    def _step(self, asked: Asked, site: DeviceSite, state: SiteState) -> "_Step | Trouble | None":
        """What is given where devices are taken as `state` says; `site` is plain."""
        key = asked.number, site.layout, state, self._most_steps
        if key not in self._known:
            sample = self._sample[site.layout]
            taken = taken_of(sample, state)
            found = self._search(asked.wanted, sample, taken)
            if isinstance(found, tuple):
                for one in found:
                    if not one.admin:
                        taken.whole.add(one.device) if one.parts is None else taken.take_part(one.device, one.parts)
                self._known[key] = found, tuple(sample.places[one.device] for one in found), state_of(sample, taken)
            else:
                self._known[key] = found
        return self._known[key]

    def _search(
        self, wanted: tuple[Wanted, ...], site: DeviceSite, taken: Taken | None = None
    ) -> tuple[Given, ...] | Trouble | None:
        allocator = self._allocator(wanted, site, taken or self._taken)
        try:
            return allocator.search()
        except NotEvaluatedError as error:
            return Trouble(f"resource claims: {error}", aborts=False)
        except (SelectorError, AllocationError) as error:
            return Trouble(str(error), aborts=True)
        finally:
            self._shapes.effort.add(allocator.steps)
            if allocator.steps > _SHORT_SEARCH_STEPS:
                namespace = self._namespace
                self._long_steps[namespace] = self._long_steps.get(namespace, 0) + allocator.steps

    @property
    def _namespace(self) -> str:
        """Whose pods ask now; empty: nobody's."""
        asking = self._shapes.effort.asking
        return self._shapes.shapes[asking].namespace if asking >= 0 else ""

    @property
    def _most_steps(self) -> int:
        """How long the next search may take."""
        return MOST_STEPS if self._long_steps.get(self._namespace, 0) < _LONG_STEPS else _SHORT_SEARCH_STEPS

    def _allocator(self, wanted: tuple[Wanted, ...], site: DeviceSite, taken: Taken) -> NodeAllocator:
        return NodeAllocator(self._catalog, site.pools, taken, site.name, site.labels, wanted, self._rules, self._most_steps)

    def _shortage(self, wanted: tuple[Wanted, ...], site: DeviceSite) -> str:
        allocator = self._allocator(wanted, site, self._taken)
        try:
            allocator.search()
            return allocator.shortage()
        except (NotEvaluatedError, SelectorError, AllocationError):
            # The search ended before it looked at these devices.
            return "its claims cannot be met with the devices here"

    def _trouble(self, shape: int, demand: Demand, enters: Callable[[int], bool]) -> str:
        asked = self._demands.of_claims(demand)
        if not asked.wanted and not demand.extended:
            return ""
        key = (asked.number, demand.extended), self._shapes.demand[shape]
        if key not in self._troubles:
            self._troubles[key] = self._first_trouble(shape, demand, enters)
        return self._troubles[key]

    def _first_trouble(self, shape: int, demand: Demand, enters: Callable[[int], bool]) -> str:
        for site, nodes in self._alike():
            by_asked: dict[int, tuple[Asked, list[int]]] = {}
            for node in nodes if demand.extended else nodes[:1]:
                asked = self._demands.asked(shape, demand, node)
                by_asked.setdefault(asked.number, (asked, []))[1].append(node)
            for asked, those in by_asked.values():
                if not asked.wanted or not isinstance(self._found(asked, site), Trouble):
                    continue
                where = next((node for node in (those if demand.extended else nodes) if enters(node)), -1)
                # Asked of that node itself, whose pools have other names.
                found = self._search(asked.wanted, self._site(where)) if where >= 0 else None
                if isinstance(found, Trouble):
                    gives_up = "gives up" if found.aborts else "may give up"
                    return f"on {self._nodes.names[where]}, {found.message}: kube-scheduler {gives_up} the whole attempt"
        return ""

    def _alike(self) -> list[tuple[DeviceSite, list[int]]]:
        """The nodes of the World by site. Nodes that give the same answers now are one entry."""
        if self._groups is None:
            groups: dict[object, tuple[DeviceSite, list[int]]] = {}
            for node in range(len(self._world.nodes)):
                site = self._site(node)
                key = (site.layout, site.state) if site.layout >= 0 else node
                groups.setdefault(key, (site, []))[1].append(node)
            self._groups = list(groups.values())
        return self._groups

    def _reaches(self, shared: Shared, site: DeviceSite, node: int) -> bool:
        """Can a pod on the node use the devices of the claim, if it has some?"""
        if shared.given is not None:
            return shared.given_at == node or all(reaches(where, site.name, site.labels) for where in shared.where)
        if shared.allocation is not None and not shared.released:
            return reached(shared.allocation.terms, site.labels, site.name)
        return True

    def _where(self, given: tuple[Given, ...], site: DeviceSite) -> tuple[Where, ...]:
        found = {one.device for one in given}
        return tuple(
            device.where if item.per_device else item.where
            for pool in site.pools
            for item in pool.slices
            for device in item.devices
            if pool.device_id(device) in found
        )
