"""All filter plugins over one state: what each says of a node, and which nodes none of them excludes."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.values.release import Release
from reconciler.cluster.world import World
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.host_ports import HostPorts
from reconciler.scheduling.index_sets.index_set import IndexSet
from reconciler.scheduling.index_sets.marked_bytes import marked, union
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.device_placement import DevicePlacement, Trouble
from reconciler.scheduling.predicates.dynamic_resources import PLUGIN as DYNAMIC_RESOURCES
from reconciler.scheduling.predicates.dynamic_resources import DeviceResources, DynamicResources, Judgement
from reconciler.scheduling.predicates.eligibility import Eligibility
from reconciler.scheduling.predicates.pod_topology_spread import spread_rejection
from reconciler.scheduling.predicates.resources_fit import resources_rejection
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.counter import Ghosts
from reconciler.scheduling.topology.domain_limits import DomainLimit, OnlyOne
from reconciler.scheduling.topology.selection import ShapeSelection
from reconciler.scheduling.topology_rules import Topology, TopologyRules
from reconciler.scheduling.verdict import Rejection
from reconciler.scheduling.volume_filter import VolumeFilters

NOT_MODELLED = "NotModelled"
_NO_BOUND = 1 << 31
_NOT_ASKED = -1


class Filters:
    """Everything but resources is answered here by shape; resources are the kernels' part."""

    def __init__(
        self,
        world: World,
        release: Release,
        nodes: NodeTable,
        shapes: ShapeTable,
        bindings: Bindings,
        bound: Iterable[int],
        *,
        devices: bool = False,
    ) -> None:
        """`bound` are the pods of the world that were bound, by index. With `devices`, verdicts include DynamicResources for
        devices as the world has them; otherwise devices are handed out to pods as they are placed."""
        self._nodes = nodes
        self._shapes = shapes
        self._bindings = bindings
        self._eligibility = Eligibility(nodes, shapes.demands, shapes.effort)
        self._ask = shapes.effort.ask
        self._ports = HostPorts(bindings, shapes)
        ghosts: dict[tuple[int, int], int] = {}
        pods = world.pods
        if any(pods.deletion_seconds):
            for pod in bound:
                if pods.deletion_seconds[pod]:
                    place = (pods.shape[pod], pods.node[pod])
                    ghosts[place] = ghosts.get(place, 0) + 1
        self._volumes = VolumeFilters(world, nodes, shapes, bindings, self._eligibility)
        selection = ShapeSelection(shapes, dict(world.namespaces), negation_selects_all=release.negation_selects_all)
        haunted = Ghosts(ghosts, IndexSet.of([shape for shape, _ in ghosts]))
        self.topology = Topology(nodes, shapes, bindings, self._eligibility, selection, haunted)
        self._devices = DeviceResources(world, release, nodes, shapes)
        self._judge = DynamicResources(world, release, nodes, shapes) if devices else None
        self._handing: DevicePlacement | None = None
        self._hand_out: Callable[[], DevicePlacement] | None = None
        if not devices:
            self._hand_out = partial(DevicePlacement, world, release, nodes, shapes, bindings)
            self._start_handing(0)
        self._unclear: dict[int, str] = {}
        self._failed = (-1, -1), Judgement()
        self._crowded: Callable[[int], bool] = lambda _: False
        self._matrix = bytearray()
        self._matrix_width = 0
        self._matrix_rows: dict[int, int] = {}
        self._row_of_shape = array("i")

    def modelled(self, shape: int) -> str:
        """Empty, or what verdicts of this shape leave out."""
        self._ask(shape)
        value = self._shapes.shapes[shape]
        if value.unclear:
            return value.unclear
        if value.claims or self.handing(shape) is not None:
            return self._devices_unclear(shape)
        if self._judge is not None:
            return DYNAMIC_RESOURCES if self._devices.touch(shape) else ""
        return DYNAMIC_RESOURCES if self._devices.unknown_everywhere(shape) else ""

    def _devices_unclear(self, shape: int) -> str:
        """Why pods of a shape that asks for devices are placed nowhere; empty: they are."""
        unclear = self._unclear.get(shape)
        if unclear is None:
            handing, demand = self._handing, self._demand(shape)
            why = handing.unclear(shape, partial(self._eligibility.allows, demand)) if handing is not None else ""
            unclear = f"{DYNAMIC_RESOURCES} ({why})" if why else "" if handing is not None else DYNAMIC_RESOURCES
            self._unclear[shape] = unclear
        return unclear

    def not_modelled_on(self, shape: int, node: int) -> str:
        """Empty, or what keeps a verdict of this shape on this node from being known."""
        value = self._shapes.shapes[shape]
        if value.unclear:
            return value.unclear
        if value.claims or self.handing(shape) is not None:
            return "resource claims (DynamicResources)" if self._handing is None else self._devices_unclear(shape)
        name = self._devices.unknown_on(shape, node) if self._devices.touch(shape) else ""
        return f"a device class may serve {name} here (DynamicResources)" if name else ""

    def hangs_on_devices(self, shape: int) -> bool:
        """Is the verdict about a node not one about plain amounts, since claims play a part or nothing is known?"""
        return self._shapes.shapes[shape].unmodelled or self._devices.touch(shape)

    def verdict(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """Every plugin that rejects the pod on the node, sorted by plugin."""
        self._ask(shape)
        judge, value = self._judge, self._shapes.shapes[shape]
        if judge is None or not self.hangs_on_devices(shape) or value.unclear:
            missing = self.not_modelled_on(shape, node)
            if missing:
                return (Rejection(NOT_MODELLED, missing),)
            return self._rejections(shape, node) if self.handing(shape) is None else self._with_devices(shape, node)
        judged = judge.judge(shape, node)
        if judged.unmodelled:
            return (Rejection(NOT_MODELLED, judged.unmodelled),)
        message = judged.message
        if not message:
            failure = self._failure(judge, shape)
            if failure.unmodelled:
                return (Rejection(NOT_MODELLED, failure.unmodelled),)
            message = failure.message
        devices = (Rejection(DYNAMIC_RESOURCES, message),) if message else ()
        return tuple(sorted((*devices, *self._rejections(shape, node))))

    def _with_devices(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """`_rejections`, and what is left of the devices of the node."""
        others = self._rejections(shape, node)
        said = self._handing.judge(shape, node) if self._handing is not None else ""
        if isinstance(said, Trouble) and not said.aborts:
            return (Rejection(NOT_MODELLED, said.message),)
        message = said.message if isinstance(said, Trouble) else said
        return tuple(sorted((Rejection(DYNAMIC_RESOURCES, message), *others))) if message else others

    def gated(self, shape: int) -> bool:
        """Do claims keep pods of the shape out of the scheduler's queue? Only known with `devices`."""
        return self._judge is not None and self._judge.gates(shape)

    def count_promises(self, crowded: Callable[[int], bool]) -> None:
        """The next questions are about a pod that `crowded` nodes do not take because of the pods that are promised to them."""
        self._crowded = crowded
        self._failed = (-1, -1), Judgement()

    def _failure(self, judge: DynamicResources, shape: int) -> Judgement:
        """Where DynamicResources fails on a node that all others would take, so that kube-scheduler gives up, or may do so.

        Source: `findNodesThatPassFilters` of kube-scheduler: the first error of a filter ends the attempt, for all nodes.
        """
        asked = shape, self._bindings.size
        if self._failed[0] != asked:
            found = Judgement()
            for node in range(len(self._nodes)):
                judged = judge.judge(shape, node)
                if not (judged.aborts or judged.unmodelled) or self._rejections(shape, node):
                    continue
                if self._crowded(node):
                    continue
                where = f"on {self._nodes.names[node]}, {judged.message or judged.unmodelled}"
                if judged.aborts:
                    found = Judgement(message=f"{where}: kube-scheduler gives up the whole attempt")
                    break
                if not found.unmodelled:
                    found = Judgement(unmodelled=f"{where}: kube-scheduler may give up the whole attempt")
            self._failed = asked, found
        return self._failed[1]

    def _rejections(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """Every plugin but DynamicResources."""
        rejections: list[Rejection | None] = list(self._eligibility.rejections(self._demand(shape), node))
        if self._shapes.shapes[shape].host_ports:
            rejections.append(self._ports.rejection(shape, node))
        if self._shapes.shapes[shape].volumes:
            rejections.extend(self._volumes.rejections(shape, node))
        rules = self.topology.of(shape)
        if not rules.empty:
            rejections.append(spread_rejection(rules.spread, node))
            rejections.append(rules.affinity.rejection(node))
        nodes = self._nodes
        columns, amounts = self._shapes.need(shape)
        room = nodes.room[nodes.shape[node]]
        unknown = nodes.columns.unknown(self._shapes.shapes[shape].requests)
        rejections.append(resources_rejection(nodes.columns.names, columns, amounts, nodes.free_row(node), room, unknown))
        return tuple(sorted(rejection for rejection in rejections if rejection is not None))

    def plugins(self, shape: int, most: int | None = None) -> list[tuple[str, ...]]:
        """The names in `verdict`, by node: of all nodes, or of the first `most`."""
        self._ask(shape)
        value, nodes = self._shapes.shapes[shape], len(self._nodes) if most is None else most
        handing = self.handing(shape)
        if handing is not None and not (value.host_ports or value.volumes) and not self.modelled(shape):
            plain = self._plain_plugins(shape, nodes)
            lacks = ((DYNAMIC_RESOURCES,) if not handing.most(shape, node, 1) else () for node in range(nodes))
            return [tuple(sorted((*names, *more))) if more else names for names, more in zip(plain, lacks, strict=True)]
        if value.host_ports or value.volumes or value.unmodelled or self._devices.touch(shape):
            return [tuple(rejection.plugin for rejection in self.verdict(shape, node)) for node in range(nodes)]
        return self._plain_plugins(shape, nodes)

    def refusals(self, shape: int, nodes: Sequence[int]) -> Counter[tuple[str, ...]]:
        """`plugins` of those of the nodes that are not closed and refuse, counted: each node once."""
        closed, node_count = self._nodes.closed, len(nodes)
        if nodes == range(node_count) and self._only_resources_refuse(shape):
            self._ask(shape)
            # Both have a byte of 0 or 1 for each node.
            short = int.from_bytes(self._bindings.short(shape)[:node_count], "little")
            refusing = (short & ~int.from_bytes(closed[:node_count], "little")).bit_count()
            return Counter({("NodeResourcesFit",): refusing} if refusing else {})
        plugins = self.plugins(shape, max(nodes, default=-1) + 1)
        return Counter([plugins[node] for node in nodes if plugins[node] and not closed[node]])

    def _only_resources_refuse(self, shape: int) -> bool:
        """Whether nothing but its resources keeps a pod of the shape from any node."""
        value, demand = self._shapes.shapes[shape], self._demand(shape)
        if value.claims or value.host_ports or value.volumes or value.unmodelled or self._devices.touch(shape):
            return False
        if not self.topology.of(shape).empty or self._eligibility.excluded(demand) is not None:
            return False
        return 0 not in self._eligibility.allowed(demand)

    def _plain_plugins(self, shape: int, nodes: int) -> list[tuple[str, ...]]:
        """`plugins` of what is known by columns."""
        short = memoryview(self._bindings.short(shape))[:nodes]
        plugins = self._eligibility.plugins(self._demand(shape), short, "NodeResourcesFit")
        rules = self.topology.of(shape)
        if rules.empty:
            return plugins
        spread, affinity = bytearray(len(self._nodes)), bytearray(len(self._nodes))
        for rule in rules.spread:
            spread = rule.refused(spread)
        # By columns: thousands of shapes with rules of their own are asked about thousands of nodes.
        flags = zip(plugins, spread[:nodes], rules.affinity.refused(affinity)[:nodes], strict=True)
        known: dict[tuple[tuple[str, ...], int, int], tuple[str, ...]] = {}
        return [known.get(entry) or known.setdefault(entry, _with_rules(*entry)) for entry in flags]

    def room(self, shape: int, node: int, most: int) -> int:
        """How many more pods of the shape the node takes at once, `most` at most, as far as no limit moves meanwhile."""
        self._ask(shape)
        value, nodes = self._shapes.shapes[shape], self._nodes
        handing = self.handing(shape)
        if (
            nodes.closed[node]
            or ((value.unmodelled or handing is not None or self._judge is not None) and self.modelled(shape))
            or not self._eligibility.allows(self._shapes.demand[shape], node)
        ):
            return 0
        free, base = nodes.free, node * nodes.columns.width
        columns, amounts = self._shapes.need(shape)
        for column, amount in zip(columns, amounts, strict=True):
            left = free[base + column]
            # A division only where it could matter: this is asked tens of thousands of times a plan.
            if left < amount * most:
                most = left // amount
        if most <= 0:
            return 0
        if value.host_ports:
            if not self._ports.fits(shape, node):
                return 0
            most = 1
        if value.volumes:
            if any(self._volumes.rejections(shape, node)):
                return 0
            if self._volumes.one_a_node(shape) or self._volumes.only_one(shape):
                most = 1
        rules = self.topology.of(shape)
        if not (rules.empty or rules.allows(node)):
            return 0
        if not rules.empty:
            most = 1
        return most if handing is None else handing.most(shape, node, most)

    def handing(self, shape: int) -> DevicePlacement | None:
        """What hands out devices to pods of the shape; None: they ask for none."""
        handing = self._handing
        return handing if handing is not None and shape in handing.watched else None

    def host_rivals(self, shape: int) -> frozenset[int] | None:
        """Shapes that share no host with this one; None when more than that and what one node offers concerns it."""
        self._ask(shape)
        value = self._shapes.shapes[shape]
        if value.volumes or value.host_name_bound or self.hangs_on_devices(shape):
            return None
        rivals = self.topology.host_rivals(shape)
        return None if rivals is None else rivals.union(self._ports.rivals(shape))

    def domain_keys(self, shape: int) -> frozenset[str] | None:
        """Topology keys of the rules that concern the shape; None where the host or what else is on the node does."""
        self._ask(shape)
        value = self._shapes.shapes[shape]
        if value.host_ports or value.volumes or value.host_name_bound or self.hangs_on_devices(shape):
            return None
        keys = self.topology.keys_about(shape)
        return None if HOSTNAME_LABEL in keys else keys

    def lacks_company(self, shape: int) -> bool:
        """Does the required affinity of the shape mean pods of which none is bound anywhere?"""
        affinity = self.topology.of(shape).affinity
        return bool(affinity.near) and not affinity.starts and affinity.first_of_group

    def refusing_rules(self, shape: int, node: int) -> tuple[str, ...]:
        """Which of inter-pod affinity and spread keep one more pod off the node."""
        rules = self.topology.of(shape)
        if rules.empty or rules.allows(node):
            return ()
        return _with_rules((), not all(rule.allows(node) for rule in rules.spread), not rules.affinity.allows(node))

    def enters(self, shape: int, node: int) -> bool:
        """Do taints, cordon, features and labels of the node let the pod in?"""
        self._ask(shape)
        return self._eligibility.allows(self._demand(shape), node)

    def allowed(self, shape: int) -> bytearray:
        """By node shape: 1 where taints, cordon and labels let the pod in."""
        self._ask(shape)
        return self._eligibility.allowed(self._demand(shape))

    def allowed_matrix(self, shapes: Iterable[int]) -> tuple[bytearray, "array[int]"]:
        """`allowed` of at least these shapes, a row of bytes a demand, and the row of each shape (`_NOT_ASKED`: none yet)."""
        rows, width = self._row_of_shape, len(self._nodes.shapes)
        if width != self._matrix_width:
            self._matrix, self._matrix_width, self._matrix_rows = bytearray(), width, {}
            rows = self._row_of_shape = array("i", [_NOT_ASKED]) * len(self._shapes)
        else:
            rows.extend([_NOT_ASKED] * (len(self._shapes) - len(rows)))
        for shape in shapes:
            if rows[shape] == _NOT_ASKED:
                demand = self._demand(shape)
                row = self._matrix_rows.setdefault(demand, len(self._matrix_rows))
                if row * width == len(self._matrix):
                    self._ask(shape)
                    self._matrix += self._eligibility.allowed(demand)[:width]
                rows[shape] = row
        return self._matrix, rows

    def blocked(self, shape: int) -> bytearray:
        """By node: 1 where the node is closed, or a plugin says no now and will say no until other pods move."""
        blocked = self._nodes.closed
        excluded = self._eligibility.excluded(self._demand(shape))
        if excluded is not None:
            blocked = union(blocked, excluded)
        if self._shapes.shapes[shape].host_ports:
            blocked = marked(blocked, self._ports.excluded(shape))
        if self._shapes.shapes[shape].volumes:
            blocked = self._volumes.blocked(shape, blocked)
        rules = self.topology.of(shape)
        return blocked if rules.empty else _topology_blocked(blocked, rules)

    def most_each(self, shape: int) -> int:
        """How many pods of the shape one node can have in one placement, whatever room there is."""
        value, rules = self._shapes.shapes[shape], self.topology.of(shape)
        alone = bool(value.host_ports) or any(counter.domains.singular for counter in rules.exclusive)
        return 1 if alone or self._volumes.one_a_node(shape) else _NO_BOUND

    def most_at_all(self, shape: int) -> int:
        """How many pods of the shape can be placed anywhere before other pods move."""
        if not self._shapes.shapes[shape].volumes:
            return _NO_BOUND
        if self._volumes.hopeless(shape):
            return 0
        return 1 if self._volumes.only_one(shape) else _NO_BOUND

    def limits(self, shape: int) -> tuple[DomainLimit, ...]:
        """Limits by domain that change while pods of the shape are placed, those aside that `most_each` says."""
        rules = self.topology.of(shape)
        only_one = tuple(OnlyOne(counter) for counter in rules.exclusive if not counter.domains.singular)
        return (*(rule for rule in rules.spread if rule.adds), *only_one)

    def starts_group(self, shape: int) -> bool:
        """Does the first pod decide where the others can go: to be near it, or to share its volume?"""
        affinity = self.topology.of(shape).affinity
        handing = self.handing(shape)
        if handing is not None and handing.starts(shape):
            return True
        return self._volumes.waits(shape) or (affinity.starts and affinity.first_of_group)

    def has_rules(self, shape: int) -> bool:
        """Does spread or inter-pod affinity concern the shape?"""
        return not self.topology.of(shape).empty

    def skipped(self, shape: int) -> frozenset[str]:
        """Plugins that would ignore pods that are promised to a node.

        Source: two PreFilters return Skip, so that their Filter does not run. InterPodAffinity does so if the pod has no term and
        no term of other pods selects it. VolumeRestrictions does so if the pod has no in-tree disk and no ReadWriteOncePod claim
        that is in use. VolumeBinding ignores other pods.
        """
        skipped = {"VolumeBinding"}
        value = self._shapes.shapes[shape]
        kept_away = self.topology.of(shape).affinity.kept_away
        if not value.affinity and not value.anti_affinity and not any(counter.total for counter in kept_away):
            skipped.add("InterPodAffinity")
        if self._volumes.without_restrictions(shape):
            skipped.add("VolumeRestrictions")
        return frozenset(skipped)

    def crowded_by(self, shape: int, node: int, promised: Iterable[int]) -> Rejection | None:
        """What PodTopologySpread adds when pods of these shapes are promised to the node.

        Source: `updateWithPod`: an empty selector matches promised pods, though it counts none of those that are bound.
        """
        value = self._shapes.shapes[shape]
        pods = sum(self._shapes.shapes[other].namespace == value.namespace for other in promised)
        rules = self.topology.of(shape).spread
        for rule, constraint in zip(rules, value.spread, strict=True):
            if constraint.selector is not None and not constraint.selector.requirements and rule.is_crowded(node, pods):
                return Rejection("PodTopologySpread", f"{pods} pods are promised to the node, and maxSkew is {rule.max_skew}")
        return None

    def follow(self) -> None:
        """Shapes were appended to the table."""
        self._volumes.follow()
        if self._handing is not None:
            self._handing.follow()
        else:
            self._start_handing(self._seen)

    def _start_handing(self, first: int) -> None:
        """Hand out devices as soon as a shape, from index `first` on, asks for some: most clusters have none."""
        self._seen = len(self._shapes)
        if self._hand_out is None:
            return
        shapes, served = self._shapes.shapes, self._nodes.served
        if any(shapes[at].claims or (served and self._devices.touch(at)) for at in range(first, self._seen)):
            self._handing = self._hand_out()

    def drop_to(self, count: int) -> None:
        """Nodes from index `count` on are gone."""
        self._eligibility.drop_to(count)
        self.topology.drop_to(count)
        self._volumes.drop_to(count)
        if self._handing is not None:
            self._handing.drop_to(count)

    def _demand(self, shape: int) -> int:
        return self._shapes.demand[shape]


def _with_rules(names: tuple[str, ...], spread: int, affinity: int) -> tuple[str, ...]:
    """The names and those of the topology plugins that say no."""
    return tuple(sorted((*names, *("PodTopologySpread",) * spread, *("InterPodAffinity",) * affinity)))


def _topology_blocked(blocked: bytearray, rules: TopologyRules) -> bytearray:
    blocked = bytearray(blocked)
    for rule in rules.spread:
        # One that counts the pods themselves moves while they are placed.
        blocked = union(blocked, rule.counter.domains.missing) if rule.adds else rule.refused(blocked)
    return rules.affinity.refused(blocked)
