"""The topology rules of each pod shape, with their counters, made when a shape is first asked about."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.nodes.node import HOSTNAME_LABEL
from reconciler.cluster.pods.pod import AffinityTerm, PodShape, SpreadConstraint
from reconciler.scheduling.bindings import Bindings
from reconciler.scheduling.eligibility import Eligibility
from reconciler.scheduling.new_nodes import NO_HOST, HostSpread
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.predicates.inter_pod_affinity import AffinityRules
from reconciler.scheduling.predicates.pod_topology_spread import SpreadRule
from reconciler.scheduling.shapes import Demand, ShapeTable
from reconciler.scheduling.topology.counter import DomainCounter, Ghosts, LevelCounter
from reconciler.scheduling.topology.domains import NO_DOMAIN, DomainMap
from reconciler.scheduling.topology.selection import ShapeSelection

# A topology key, all keys that a node must have, the index of the demand that it must meet, whether taints belong to it.
_MapKey = tuple[str, tuple[str, ...], int, bool]
_EVERY_NODE = -1


class TopologyRules(msgspec.Struct, frozen=True):
    """What concerns one shape. `own_keys` are counters of `affinity.away` and `affinity.kept_away` that pods of the
    shape themselves raise: every domain takes one of them at most."""

    spread: tuple[SpreadRule, ...] = ()
    affinity: AffinityRules = AffinityRules()
    exclusive: tuple[DomainCounter, ...] = ()
    maps: tuple[DomainMap, ...] = ()

    @property
    def empty(self) -> bool:
        """Does no rule concern the shape?"""
        affinity = self.affinity
        return not (self.spread or affinity.near or affinity.away or affinity.kept_away)

    def allows(self, node: int) -> bool:
        """Do all rules let one more pod on the node?"""
        return not any(rule.objection(node) for rule in self.spread) and self.affinity.allows(node)


class Topology:
    """Makes rules, domain maps and counters, each once."""

    def __init__(
        self,
        nodes: NodeTable,
        shapes: ShapeTable,
        bindings: Bindings,
        eligibility: Eligibility,
        selection: ShapeSelection,
        ghosts: Ghosts,
    ) -> None:
        """`ghosts` are the terminating pods by (shape, node): spread does not count them."""
        self._nodes = nodes
        self._shapes = shapes
        self._bindings = bindings
        self._eligibility = eligibility
        self._ghosts = ghosts
        self._selection = selection
        self._seen = 0
        self._maps: dict[_MapKey, DomainMap] = {}
        self._counters: dict[tuple[_MapKey, frozenset[int]], DomainCounter] = {}
        self._levels: dict[tuple[_MapKey, frozenset[int]], LevelCounter] = {}
        self._rules: dict[int, TopologyRules] = {}
        self._repelled: dict[int, dict[str, set[int]]] = {}
        # Shape -> topology keys of the counters that count it: to look through all counters for each shape grows with the square.
        self._counted: dict[int, set[str]] = {}

    def of(self, shape: int) -> TopologyRules:
        """The rules of one shape, ready to be asked about every node of the table."""
        if self._seen < len(self._shapes.shapes):
            self._learn()
        found = self._rules.get(shape)
        if found is None:
            found = self._rules[shape] = self._make(shape)
        for domains in found.maps:
            domains.sync()
        return found

    def host_rivals(self, shape: int) -> frozenset[int] | None:
        """Shapes whose pods share no host with those of this one (itself among them: one pod a host), when that and a spread over
        hosts that counts its own pods is all that concerns it; None when there are other rules."""
        if self._seen < len(self._shapes.shapes):
            self._learn()
        value, repelled = self._shapes.shapes[shape], self._repelled.get(shape, {})
        if value.affinity or any(key != HOSTNAME_LABEL for key in repelled):
            return None
        if value.spread and (len(value.spread) > 1 or value.spread[0].topology_key != HOSTNAME_LABEL):
            return None
        if value.spread and not self.of(shape).spread[0].adds:
            return None
        if any(term.topology_key != HOSTNAME_LABEL for term in value.anti_affinity):
            return None
        own = [self._selection.by_own_term(term) for term in value.anti_affinity]
        return frozenset(repelled.get(HOSTNAME_LABEL, ())).union(*own)

    def spread_with(self, shape: int) -> frozenset[int]:
        """Shapes that the one spread constraint of this shape counts; none without one."""
        if not self._shapes.shapes[shape].spread:
            return frozenset()
        return self.of(shape).spread[0].counter.shapes

    def host_spread(self, shape: int, node: int) -> HostSpread | None:
        """The one spread constraint of this shape, which is over hosts, beside a node that is new and empty; None where such a
        node does not count."""
        (rule,) = self.of(shape).spread
        counter = rule.counter
        domain = counter.domains.of[node]
        if domain == NO_DOMAIN or not counter.domains.counts[node]:
            return None
        lowest, beside = counter.lowest_beside(domain), counter.open_domains - 1
        return HostSpread(rule.max_skew, NO_HOST if lowest is None else lowest, max(0, rule.min_domains - beside))

    def keys_about(self, shape: int) -> frozenset[str]:
        """Topology keys of all rules that concern the shape: its own, those that keep it away, and those of other shapes asked
        about so far that count it."""
        self.of(shape)
        value = self._shapes.shapes[shape]
        own = {rule.topology_key for rule in value.spread}
        own.update(term.topology_key for term in (*value.affinity, *value.anti_affinity))
        return frozenset(own | self._counted.get(shape, set()) | set(self._repelled.get(shape, ())))

    def counts_otherwise(self, node: int) -> bool:
        """Does the node, with the taints that it has now, count in other domains than before?"""
        return any(domains.counts_otherwise(node) for domains in self._maps.values())

    def recount(self, node: int) -> None:
        """Take in other taints of a node to which nothing is bound."""
        for domains in self._maps.values():
            domains.recount(node)

    def forget(self, node: int) -> None:
        """A node to which nothing is bound is gone."""
        for domains in self._maps.values():
            domains.forget(node)

    def drop_to(self, count: int) -> None:
        """Forget nodes from index `count` on."""
        for domains in self._maps.values():
            domains.drop_to(count)

    def _learn(self) -> None:
        """Find out which shapes keep which others away; a new shape can change that for every other."""
        self._rules.clear()
        self._repelled.clear()
        holders: dict[AffinityTerm, list[int]] = {}
        for index, shape in enumerate(self._shapes.shapes):
            for term in shape.anti_affinity:
                holders.setdefault(term, []).append(index)
        for term, holding in holders.items():
            for selected in self._selection.by_term_of_others(term):
                self._repelled.setdefault(selected, {}).setdefault(term.topology_key, set()).update(holding)
        self._seen = len(self._shapes)

    def _make(self, shape: int) -> TopologyRules:
        value = self._shapes.shapes[shape]
        repellers = self._repelled.get(shape, {})
        if not (value.spread or value.affinity or value.anti_affinity or repellers):
            return TopologyRules()
        away = tuple(self._counter(term.topology_key, self._selection.by_own_term(term)) for term in value.anti_affinity)
        kept_away = tuple(self._counter(key, frozenset(holders)) for key, holders in sorted(repellers.items()))
        near, starts = self._near(shape, value)
        own = [shape in self._selection.by_own_term(term) for term in value.anti_affinity]
        own += [shape in holders for _, holders in sorted(repellers.items())]
        exclusive = tuple(dict.fromkeys(counter for counter, raises in zip((*away, *kept_away), own, strict=True) if raises))
        spread = tuple(self._spread(shape, value, constraint) for constraint in value.spread)
        counters = (*near, *away, *kept_away, *(rule.counter for rule in spread))
        return TopologyRules(
            spread,
            AffinityRules(near, starts, tuple(dict.fromkeys(away)), tuple(dict.fromkeys(kept_away))),
            exclusive,
            tuple(dict.fromkeys(counter.domains for counter in counters)),
        )

    def _near(self, shape: int, value: PodShape) -> tuple[tuple[DomainCounter, ...], bool]:
        if not value.affinity:
            return (), False
        matching = frozenset.intersection(*(self._selection.by_own_term(term) for term in value.affinity))
        keys = sorted({term.topology_key for term in value.affinity})
        return tuple(self._counter(key, matching) for key in keys), shape in matching

    def _spread(self, shape: int, value: PodShape, constraint: SpreadConstraint) -> SpreadRule:
        keys = tuple(sorted({other.topology_key for other in value.spread}))
        honors_taints = constraint.node_taints_policy == "Honor"
        honors_affinity = constraint.node_affinity_policy == "Honor"
        demand = self._shapes.demands.index(
            Demand(
                tolerations=value.tolerations if honors_taints else (),
                selector=value.node_selector if honors_affinity else (),
                terms=value.required_terms if honors_affinity else None,
            )
        )
        selector = constraint.selector
        own = selector is not None and shape in self._selection.in_namespace(value.namespace, selector)
        counts_nothing = selector is None or not selector.requirements
        matching = frozenset[int]() if counts_nothing else self._selection.in_namespace(value.namespace, selector)
        return SpreadRule(
            self._level_counter((constraint.topology_key, keys, demand, honors_taints), matching),
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            matches_itself=own,
            adds=shape in matching,
        )

    def _counter(self, key: str, matching: frozenset[int]) -> DomainCounter:
        place = ((key, (), _EVERY_NODE, False), matching)
        found = self._counters.get(place)
        if found is None:
            found = self._counters[place] = DomainCounter(self._bindings, self._map(place[0]), matching)
            self._note(key, matching)
        return found

    def _level_counter(self, key: _MapKey, matching: frozenset[int]) -> LevelCounter:
        found = self._levels.get((key, matching))
        if found is None:
            found = self._levels[key, matching] = LevelCounter(self._bindings, self._map(key), matching, self._ghosts)
            self._note(key[0], matching)
        return found

    def _note(self, key: str, matching: frozenset[int]) -> None:
        for shape in matching:
            self._counted.setdefault(shape, set()).add(key)

    def _map(self, key: _MapKey) -> DomainMap:
        found = self._maps.get(key)
        if found is None:
            found = self._maps[key] = DomainMap(self._nodes, key[0], self._counts_node(key))
        return found

    def _counts_node(self, key: _MapKey) -> Callable[[int], bool] | None:
        """Do pods on a node count? Every key must be there, and the demand be met."""
        _, keys, demand, honors_taints = key
        others = tuple(other for other in keys if other != key[0])
        if demand == _EVERY_NODE:
            return None
        others_present = self._eligibility.has_keys
        meets = self._eligibility.meets
        return lambda node: others_present(others, node) and meets(demand, node, taints=honors_taints)
