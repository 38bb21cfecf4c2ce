"""Changes of `reconciler/scheduling` that change nothing that anybody could see."""

_LARGER = "a buffer has room to spare, of which nothing is read"
_ROWS = "rows of the same width stay what they are"
_NEGATIVE = "any number below zero stands for none"
_CLOSED = "any byte but zero says that a node is closed"
_IN_NEAR = "only who has affinity terms is told to meet them"
_ALL_IN_TURN = "one pod first and then the others goes where all of them at once go"
_NO_NODE = "a node that is gone is in no domain, and nothing is asked of it besides"
_SLOWER = "the two ways give the same answer, one of them with fewer steps"

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/scheduling/columns.py": {
        "3 -> 4": "milli-cpus have three decimals, and zeros at the end are dropped",
        "max(fixed) > largest -> max(fixed) >= largest": _SLOWER,
    },
    "reconciler/scheduling/bindings.py": {
        '1 -> 2 in: _NOTHING_ON = array("i", (-1,))': _NEGATIVE,
        '1 -> 2 in: self.head = array("i", [-1]) * len(nodes)': _NEGATIVE,
        "1 -> 2 in: wanted[shape] = 1": "any byte but zero says that a shape is looked for",
        "1 -> 2 in: self._reserve(1)": _LARGER,
        "min(count, stop) -> max(count, stop)": _LARGER,
        "short > 0 -> short >= 0": _LARGER,
        "256 -> 257": _LARGER,
        "2 -> 3 in: spare = bytes(4 * (short + max(256, len(self._node) // 2)))": _LARGER,
        "len(self._node) // 2 -> len(self._node) * 2": _LARGER,
        "max(256, len(self._node) // 2) -> min(256, len(self._node) // 2)": _LARGER,
    },
    "reconciler/scheduling/presence.py": {
        "self.counts.get(node, 0) + count -> self.counts.get(node, 0) - count": ("only whether it is zero is ever asked"),
    },
    "reconciler/scheduling/watchers.py": {
        "0 -> 1 in: self.watching = 0": "it is compared with what it was, and starts anywhere",
        "1 -> 2 in: self.watching += 1": "it is compared with what it was, and only grows",
        "32 -> 33": _SLOWER,
        "len(shapes) > FEW_SHAPES -> len(shapes) >= FEW_SHAPES": _SLOWER,
    },
    "reconciler/scheduling/predicates/eligibility.py": {
        "judged.names_host or (not judged.keys and judged.demand.terms is None) -> judged.names_host": _SLOWER,
        "self._judged.get(demand) or self._of(demand) -> self._of(demand)": _SLOWER,
        "excluded is None or not excluded[node] -> not excluded[node]": (
            "nodes are excluded by name here: it is asked for type checkers alone"
        ),
        (
            "shape.taints and untolerated(shape.taints, judged.demand.tolerations) -> "
            "untolerated(shape.taints, judged.demand.tolerations)"
        ): _SLOWER,
        "len(judged.allowed) < len(self._nodes.shapes) -> len(judged.allowed) <= len(self._nodes.shapes)": _SLOWER,
    },
    "reconciler/scheduling/filters.py": {
        "1 -> 2 in: _NO_BOUND = 1 << 31": "it is more than there are pods",
        "31 -> 32 in: _NO_BOUND = 1 << 31": "it is more than there are pods",
        "1 -> 2 in: _NOT_ASKED = -1": _NEGATIVE,
        "0 -> 1 in: self._matrix_width = 0": _SLOWER,
        "len(self._shapes) - len(rows) -> len(self._shapes) + len(rows)": _LARGER,
        "affinity.starts and affinity.first_of_group -> affinity.starts or affinity.first_of_group": _ALL_IN_TURN,
        "affinity.starts and affinity.first_of_group -> affinity.starts": _ALL_IN_TURN,
        "affinity.starts and affinity.first_of_group -> affinity.first_of_group": _ALL_IN_TURN,
        "left < amount * most -> left <= amount * most": "where both are equal the division gives what was there",
    },
    "reconciler/scheduling/fit.py": {
        (
            "node < 0 or pods.node[pod] >= 0 or pod in pods.unknown_node or pods.finished(pod) -> "
            "pods.node[pod] >= 0 or pod in pods.unknown_node or pods.finished(pod)"
        ): ("nobody asks about node -1"),
        "16 -> 17": "it is how many answers are kept: another one is worked out anew",
        "1 -> 2 in: key = (shape, pod if pod in self._promised else -1)": _NEGATIVE,
    },
    "reconciler/scheduling/state.py": {
        "1 -> 2 in: self._nodes.closed[node] = 1": _CLOSED,
        "self._nodes.columns.width > width -> self._nodes.columns.width >= width": _ROWS,
        "count > 1 and self._filters.starts_group(shape) -> count > 1 or self._filters.starts_group(shape)": _SLOWER,
        "8 -> 9 in: _FEW_NODES = 8": _SLOWER,
        "nodes is not None and len(nodes) <= _FEW_NODES -> nodes is not None": _SLOWER,
        "len(nodes) <= _FEW_NODES -> len(nodes) < _FEW_NODES": _SLOWER,
        "ready is not None or nodes is None -> nodes is None": _SLOWER,
        "count > 1 and self._filters.starts_group(shape) -> self._filters.starts_group(shape)": _SLOWER,
        "count > 1 and self._filters.starts_group(shape) -> count > 1": _ALL_IN_TURN,
        "count > 1 -> count >= 1": _SLOWER,
        "1 -> 2 in: return self._filters.room(shape, node, 1) > 0": ("where two find room one does, and the other way round"),
        "1 -> 2 in: del self._marks[mark + 1 :]": "nobody returns to a mark that is left over",
        "1 -> 2 in: self._local_at = -1": _NEGATIVE,
        "count < len(self._nodes) -> count <= len(self._nodes)": _SLOWER,
        "count > 0 -> count >= 0": "no node has room for none",
        "count <= 0 -> count < 0": "no pods are placed in any case where none are asked for",
    },
    "reconciler/scheduling/predicates/volume_binding.py": {
        "1 -> 2 in: masks.extend(self._only(self._names.get(name, -1)) for name in claims.chosen)": _NEGATIVE,
        "False -> True in: by_node = False": _SLOWER,
        (
            "any(((claim.namespace, claim.name) not in self._assumed for claim in self._claims(shape).waiting)) -> "
            "all(((claim.namespace, claim.name) not in self._assumed for claim in self._claims(shape).waiting))"
        ): ("with one of its claims on a node the pods of a shape go to that node alone"),
        (
            "volume.phase == 'Available' and (claim.selector is None or selects(claim.selector, volume.labels)) and "
            "(set(claim.access_modes) <= set(volume.access_modes)) and _could_serve(volume, claim) -> "
            "volume.phase == 'Available' and (claim.selector is None or selects(claim.selector, volume.labels)) and "
            "(set(claim.access_modes) <= set(volume.access_modes))"
        ): _SLOWER,
    },
    "reconciler/scheduling/new_nodes.py": {
        "1 -> 2 in: NO_HOST = 1 << 40": "it is more pods than a host has",
        "40 -> 41 in: NO_HOST = 1 << 40": "it is more pods than a host has",
    },
    "reconciler/scheduling/nodes.py": {
        "1 -> 2 in: self._last: tuple[NodeShape | None, int] = (None, -1)": _NEGATIVE,
        "len(hosts) < len(self.shapes) -> len(hosts) <= len(self.shapes)": _SLOWER,
        "len(self._by_value) < len(self.shapes) -> len(self._by_value) <= len(self.shapes)": _SLOWER,
    },
    "reconciler/scheduling/predicates/pod_topology_spread.py": {
        "1 -> 2 in: UNLIMITED = 1 << 31": "it is more than there are pods",
        "31 -> 32 in: UNLIMITED = 1 << 31": "it is more than there are pods",
        (
            "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> "
            "not self.floor_is_forced or self.counter.alone_at_lowest(domain)"
        ): _SLOWER,
        "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> self.counter.alone_at_lowest(domain)": _SLOWER,
        "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> not self.floor_is_forced": _SLOWER,
    },
    "reconciler/scheduling/predicates/inter_pod_affinity.py": {
        "False -> True in: starts: bool = False": "without affinity terms nobody asks whether the shape meets them",
    },
    "reconciler/scheduling/predicates/volume_restrictions.py": {
        "claim is not None and _ONE_POD in claim.access_modes -> _ONE_POD in claim.access_modes": (
            "who has a claim that is not there is turned away before"
        ),
        "use.kind == CLAIM_KIND and (not use.ephemeral) -> not use.ephemeral": "other volumes name no claim",
    },
    "reconciler/scheduling/topology/counter.py": {
        "0 -> 1 in: self._low = min(self._levels, default=0)": (
            "without an open domain there are fewer than minDomains, and the least is 0 by that"
        ),
        "self.counts[domain] == self._low and self._levels.get(self._low) == 1 -> self._levels.get(self._low) == 1": _SLOWER,
    },
    "reconciler/scheduling/topology/domains.py": {
        "0 -> 1 in: self.missing.append(0)": _NO_NODE,
        "0 -> 1 in: self.counts.append(0)": _NO_NODE,
        "0 -> 1 in: self.missing[node] = 0": _NO_NODE,
        "1 -> 2 in: NO_DOMAIN = -1": "it is a number that no domain has",
        "2 -> 3 in: _UNKNOWN = -2": "it is a number that no domain has",
        "0 -> 1 in: self._shared = 0": _SLOWER,
    },
    "reconciler/scheduling/topology/domain_limits.py": {
        "0 -> 1 in: floor = 0": "it never moves, whatever it is",
    },
    "reconciler/scheduling/topology/rationing.py": {
        "False -> True": "a domain takes one pod at most whether its floor moves or not",
        "group.first < best.first -> group.first <= best.first": "no candidate is in two groups",
        "256 -> 257": _SLOWER,
        "most_groups * width <= _MOST_GROUPS -> most_groups * width < _MOST_GROUPS": _SLOWER,
        "most_groups * width -> most_groups // width": _SLOWER,
        "1 -> 2 in: width = len(limit.counter.domains.values) + 1": _SLOWER,
        '2 -> 3 in: starts = array("i", bytes(4 * (group_count + 2)))': "one group more, and it is empty",
    },
    "reconciler/scheduling/topology_rules.py": {
        "2 -> 3 in: _EVERY_NODE, _NO_NODE = -1, -2": _NEGATIVE,
        "False -> True in: place = ((key, (), _EVERY_NODE, False), matching)": ("it is part of a name that is made here alone"),
        "False -> True in: return (), False": _IN_NEAR,
        "self._seen < len(self._shapes) -> self._seen <= len(self._shapes)": _SLOWER,
    },
}
