"""The topology rules of each pod shape, with their counters, made when a shape is first asked about."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.pods.pod import PodShape, SpreadConstraint, SpreadFrom
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.filled_nodes import HostSpread
from reconciler.scheduling.index_sets.index_set import EMPTY, IndexSet
from reconciler.scheduling.new_nodes import NO_HOST, NO_SPREAD
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.eligibility import Eligibility
from reconciler.scheduling.predicates.inter_pod_affinity import AffinityRules
from reconciler.scheduling.predicates.pod_topology_spread import UNLIMITED, SpreadRule
from reconciler.scheduling.shapes import Demand, ShapeTable
from reconciler.scheduling.topology.counter import DomainCounter, Ghosts, LevelCounter
from reconciler.scheduling.topology.domains import NO_DOMAIN, DomainMap
from reconciler.scheduling.topology.node_keys import NodeKeys
from reconciler.scheduling.topology.repulsion import A_TERM, Repulsion, united
from reconciler.scheduling.topology.selection import ShapeSelection
from reconciler.scheduling.watchers import FEW_SHAPES

# A topology key, all keys that a node must have, the index of the demand that it must meet, whether taints belong to it.
_MapKey = tuple[str, tuple[str, ...], int, bool]
_EVERY_NODE, _NO_NODE = -1, -2
_NO_KEY = ""

_A_COUNTER, _A_NODE = 100, 10
"""Steps to make a counter, and to find the domain of a node."""

_MOST_BYTES, _MOST_WIDE = 96 << 20, 256
"""Rules with their counters are rebuilt when they take this much room, or when this many of them count many shapes."""


class TopologyRules(msgspec.Struct, frozen=True):
    """What concerns one shape. `exclusive` are counters of `affinity.away` and `affinity.kept_away` that pods of the shape
    themselves raise: every domain takes one of them at most. `size` is how many counters a question about one node looks at."""

    spread: tuple[SpreadRule, ...] = ()
    affinity: AffinityRules = AffinityRules()
    exclusive: tuple[DomainCounter, ...] = ()
    maps: tuple[DomainMap, ...] = ()
    size: int = 0

    @property
    def empty(self) -> bool:
        """Does no rule concern the shape?"""
        return not self.size

    def allows(self, node: int) -> bool:
        """Do all rules let one more pod on the node?"""
        for rule in self.spread:
            if not rule.allows(node):
                return False
        return self.affinity.allows(node)


class Topology:
    """Makes rules, domain maps and counters, each once as long as there is room for all."""

    def __init__(
        self,
        nodes: NodeTable,
        shapes: ShapeTable,
        bindings: Bindings,
        eligibility: Eligibility,
        selection: ShapeSelection,
        ghosts: Ghosts,
    ) -> None:
        """`ghosts` are the terminating pods: spread does not count them."""
        self._nodes = nodes
        self._shapes = shapes
        self._effort = shapes.effort
        self._bindings = bindings
        self._eligibility = eligibility
        self._ghosts = ghosts
        self._selection = selection
        self._keys = NodeKeys(nodes)
        self._seen = 0
        self._maps: dict[_MapKey, DomainMap] = {}
        self._counters: dict[tuple[_MapKey, IndexSet], DomainCounter] = {}
        self._levels: dict[tuple[_MapKey, IndexSet], LevelCounter] = {}
        self._rules: dict[int, TopologyRules] = {}
        self._bytes = 0
        self._repulsion = Repulsion()
        # Topology key -> shapes that a counter counts: to look through all counters for each shape grows with the square.
        self._counted: dict[str, IndexSet] = {}

    def of(self, shape: int) -> TopologyRules:
        """The rules of one shape, ready to be asked about every node of the table. They hold until other rules are asked for."""
        self._refresh()
        rules = self._rules.get(shape)
        if rules is None:
            if self._bytes > _MOST_BYTES or self._bindings.watchers.wide > _MOST_WIDE:
                self._forget()
            rules = self._rules[shape] = self._make(shape)
        steps, node_count = rules.size, len(self._nodes.names)
        for domains in rules.maps:
            if len(domains.of) < node_count:
                steps += _A_NODE * domains.sync()
        self._effort.add(steps)
        return rules

    def host_rivals(self, shape: int) -> frozenset[int] | None:
        """Shapes whose pods share no host with those of this one (if itself is among them: one pod per host). None if other rules
        concern it, except its spread; a spread over hosts must count its own pods."""
        self._refresh()
        value = self._shapes.shapes[shape]
        if value.affinity or any(term.topology_key != HOSTNAME_LABEL for term in value.anti_affinity):
            return None
        if self._repulsion.keys(shape) - {HOSTNAME_LABEL}:
            return None
        hosts = self._host_rules(shape) if value.spread else ()
        if len(hosts) > 1 or not all(rule.adds for rule in hosts):
            return None
        own = united(value.anti_affinity, self._keys, self._selection.by_own_term)
        return frozenset(IndexSet.union_of((*self._repulsion.of(shape).values(), *own.values())))

    def spread_with(self, shape: int) -> frozenset[int]:
        """Shapes that the spread constraints of this shape count; none without one."""
        if not self._shapes.shapes[shape].spread:
            return frozenset()
        return frozenset(IndexSet.union_of(rule.counter.shapes for rule in self.of(shape).spread))

    def host_spread(self, shape: int, node: int) -> HostSpread | None:
        """The one spread constraint of this shape over hosts, with a new and empty node added (`NO_SPREAD`: it has none). None if
        such a node does not count."""
        rule = next(iter(self._host_rules(shape)), None)
        if rule is None:
            return NO_SPREAD
        counter = rule.counter
        domain = counter.domains.of[node]
        if domain == NO_DOMAIN or not counter.domains.counts[node]:
            return None
        lowest, beside = counter.lowest_beside(domain), counter.open_domains - 1
        return HostSpread(rule.max_skew, NO_HOST if lowest is None else lowest, max(0, rule.min_domains - beside))

    def domain_room(self, shape: int, node: int) -> int:
        """How many more pods of the shape its spread lets into the domains of a node, one after the other, while no other pod
        moves. A spread over hosts does not count."""
        rooms = (rule.room(node) for rule in self.of(shape).spread if rule.key != HOSTNAME_LABEL)
        return min(rooms, default=UNLIMITED)

    def _host_rules(self, shape: int) -> tuple[SpreadRule, ...]:
        return tuple(rule for rule in self.of(shape).spread if rule.key == HOSTNAME_LABEL)

    def keys_about(self, shape: int) -> frozenset[str]:
        """Topology keys of all rules that concern the shape. These are its own, those that keep it away, and those of other
        shapes seen so far that count it."""
        self.of(shape)
        value = self._shapes.shapes[shape]
        own = {rule.topology_key for rule in value.spread}
        own.update(term.topology_key for term in (*value.affinity, *value.anti_affinity))
        own.update(key for key, shapes in self._counted.items() if shape in shapes)
        return self._repulsion.keys(shape) | own

    def counts(self, shape: int) -> bool:
        """Does a rule of any shape asked about so far count pods of this one?"""
        return any(shape in shapes for shapes in self._counted.values())

    def counts_otherwise(self, node: int) -> bool:
        """Does the node, with the taints that it has now, count in other domains than before?"""
        return any(domains.counts_otherwise(node) for domains in self._maps.values())

    def recount(self, node: int) -> None:
        """Take in other taints of a node to which nothing is bound."""
        for domains in self._maps.values():
            domains.recount(node)

    def recount_bound(self, node: int) -> None:
        """As `recount`, of a node with pods on it, which begins or ceases to leave."""
        for domains in self._maps.values():
            domains.recount_bound(node)

    def forget(self, node: int) -> None:
        """A node to which nothing is bound is gone."""
        for domains in self._maps.values():
            domains.forget(node)

    def drop_to(self, count: int) -> None:
        """Forget nodes from index `count` on."""
        for domains in self._maps.values():
            domains.drop_to(count)

    def _refresh(self) -> None:
        """Find out which shapes keep which others away; a new shape can change that for every other, a new label as well."""
        if self._keys.refresh() or self._seen < len(self._shapes):
            self._rules.clear()
            asking = self._effort.asking
            self._repulsion.learn(self._shapes, self._selection, self._keys)
            self._effort.asking = asking
            self._seen = len(self._shapes)

    def _forget(self) -> None:
        self._rules.clear()
        self._counters.clear()
        self._levels.clear()
        self._maps.clear()
        self._bindings.watchers.forget()
        self._bytes = 0

    def _make(self, shape: int) -> TopologyRules:
        value, selection = self._shapes.shapes[shape], self._selection
        repellers = self._repulsion.of(shape)
        self._effort.add(sum(map(len, repellers.values())))
        if not (value.spread or value.affinity or value.anti_affinity or repellers):
            return TopologyRules()
        self._effort.add(A_TERM * (len(value.spread) + len(value.affinity) + len(value.anti_affinity)))
        apart = united(value.anti_affinity, self._keys, selection.by_own_term)
        away = tuple(self._counter(key, matching) for key, matching in apart.items())
        kept_away = tuple(self._counter(key, holders) for key, holders in repellers.items())
        near, starts = self._near(shape, value)
        exclusive = tuple(dict.fromkeys(counter for counter in (*away, *kept_away) if shape in counter.shapes))
        spread = self._spread(shape, value)
        counters = (*near, *away, *kept_away, *(rule.counter for rule in spread))
        away, kept_away = tuple(dict.fromkeys(away)), tuple(dict.fromkeys(kept_away))
        return TopologyRules(
            spread,
            AffinityRules(near, starts, away, kept_away),
            exclusive,
            tuple(dict.fromkeys(counter.domains for counter in counters)),
            len(spread) + len(near) + len(away) + len(kept_away),
        )

    def _near(self, shape: int, value: PodShape) -> tuple[tuple[DomainCounter, ...], bool]:
        if not value.affinity:
            return (), False
        first, *others = (self._selection.by_own_term(term) for term in value.affinity)
        matching = first
        for selected in others:
            matching = matching & selected
        keys = sorted({term.topology_key for term in value.affinity})
        # No node gets past the first key that none has: to count by the others as well would be up to who writes the pod.
        missing = [key for key in keys if key not in self._keys][1:]
        return tuple(self._counter(key, matching) for key in keys if key not in missing), shape in matching

    def _spread(self, shape: int, value: PodShape) -> tuple[SpreadRule, ...]:
        keys = tuple(sorted({other.topology_key for other in value.spread}))
        somewhere = all(key in self._keys for key in keys)
        return tuple(self._spread_rule(shape, value, constraint, keys if somewhere else None) for constraint in value.spread)

    def _spread_rule(self, shape: int, value: PodShape, constraint: SpreadConstraint, keys: tuple[str, ...] | None) -> SpreadRule:
        """`keys` are those that nodes must have whose pods count; None: no node has them all."""
        selector, key = constraint.selector, constraint.topology_key
        selected = self._selection.in_namespace(value.namespace, selector)
        counts_nothing = selector is None or not selector.requirements or keys is None
        matching = EMPTY if counts_nothing else selected
        place: _MapKey = (key if key in self._keys else _NO_KEY, (), _NO_NODE, False)
        if keys is not None:
            honors_taints = constraint.node_taints_policy == "Honor"
            honors_affinity = constraint.node_affinity_policy == "Honor"
            demand = Demand(
                tolerations=self._shapes.tolerations(shape) if honors_taints else (),
                selector=value.node_selector if honors_affinity else (),
                terms=value.required_terms if honors_affinity else None,
            )
            place = (key, keys, self._shapes.demands.index(demand), honors_taints)
        return SpreadRule(
            self._level_counter(place, matching),
            key=key,
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            matches_itself=shape in selected,
            adds=shape in matching,
            by_default=value.spread_from is SpreadFrom.SCHEDULER,
        )

    def _counter(self, key: str, matching: IndexSet) -> DomainCounter:
        place = ((key, (), _EVERY_NODE, False), matching)
        counter = self._counters.get(place)
        if counter is None:
            counter = self._counters[place] = DomainCounter(self._bindings, self._map(place[0]), matching)
            self._note(key, counter)
        return counter

    def _level_counter(self, key: _MapKey, matching: IndexSet) -> LevelCounter:
        counter = self._levels.get((key, matching))
        if counter is None:
            counter = self._levels[key, matching] = LevelCounter(self._bindings, self._map(key), matching, self._ghosts)
            self._note(key[0], counter)
        return counter

    def _note(self, key: str, made: DomainCounter) -> None:
        """Account for a counter that was made."""
        shapes, domains = made.shapes, len(made.domains.values)
        self._counted[key] = IndexSet.union_of((self._counted.get(key, EMPTY), shapes))
        few = min(len(shapes), FEW_SHAPES + 1)
        self._bytes += 800 + 8 * domains + shapes.bits.bit_length() // 8 + 100 * few
        self._effort.add(_A_COUNTER + few + domains // 16 + self._bindings.size // 64)

    def _map(self, key: _MapKey) -> DomainMap:
        domain_map = self._maps.get(key)
        if domain_map is None:
            domain_map = self._maps[key] = DomainMap(self._nodes, key[0], self._counts_node(key))
            self._bytes += 1_000 + 100 * len(self._nodes)
            self._effort.add(_A_NODE * len(self._nodes) * (1 if key[2] == _EVERY_NODE else 4))
        return domain_map

    def _counts_node(self, key: _MapKey) -> Callable[[int], bool] | None:
        """Do pods on a node count? Every key must be there, and the demand be met."""
        _, keys, demand, honors_taints = key
        others = tuple(other for other in keys if other != key[0])
        if demand == _EVERY_NODE:
            return None
        if demand == _NO_NODE:
            return lambda _: False
        others_present = self._eligibility.has_keys
        meets = self._eligibility.meets
        leaving = self._nodes.leaving
        return lambda node: node not in leaving and others_present(others, node) and meets(demand, node, taints=honors_taints)
