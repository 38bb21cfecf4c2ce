"""Changes of `reconciler/scheduling` that change nothing that anybody could see."""

_LARGER = "a buffer has room to spare, of which nothing is read"
_ROWS = "rows of the same width stay what they are"
_NEGATIVE = "any number below zero stands for none"
_ALL_IN_TURN = "one pod first and then the others goes where all of them at once go"
_NO_NODE = "a node that is gone is in no domain, and nothing is asked of it besides"
_SLOWER = "the two ways give the same answer, one of them with fewer steps"

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/scheduling/amount.py": {
        "3 -> 4": "milli-cpus have three decimals, and zeros at the end are dropped",
    },
    "reconciler/scheduling/bindings.py": {
        '1 -> 2 in: _NOTHING_ON = array("i", (-1,))': _NEGATIVE,
        '1 -> 2 in: self.head = array("i", [-1]) * len(nodes)': _NEGATIVE,
        "0 -> 1 in: self.watching = 0": "it is compared with what it was, and starts anywhere",
        "min(count, stop) -> max(count, stop)": _LARGER,
        "short > 0 -> short >= 0": _LARGER,
        "256 -> 257": _LARGER,
        "2 -> 3 in: spare = bytes(4 * (short + max(256, len(self._node) // 2)))": _LARGER,
        "len(self._node) // 2 -> len(self._node) * 2": _LARGER,
        "max(256, len(self._node) // 2) -> min(256, len(self._node) // 2)": _LARGER,
    },
    "reconciler/scheduling/eligibility.py": {
        "len(judged.allowed) < len(self._nodes.shapes) -> len(judged.allowed) <= len(self._nodes.shapes)": _SLOWER,
    },
    "reconciler/scheduling/filters.py": {
        "1 -> 2 in: _NO_BOUND = 1 << 31": "it is more than there are pods",
        "31 -> 32 in: _NO_BOUND = 1 << 31": "it is more than there are pods",
        "1 -> 2 in: _NOT_ASKED = -1": _NEGATIVE,
        "0 -> 1 in: self._matrix_width = 0": _SLOWER,
        "self._shapes.shapes[shape].volumes and self._volumes.waits(shape) -> self._shapes.shapes[shape].volumes": _SLOWER,
        "self._shapes.shapes[shape].volumes and self._volumes.waits(shape) -> self._volumes.waits(shape)": _SLOWER,
        "left < amount * most -> left <= amount * most": "where both are equal the division gives what was there",
    },
    "reconciler/scheduling/fit.py": {
        "16 -> 17": "it is how many answers are kept: another one is worked out anew",
        "1 -> 2 in: key = (shape, pod if pod in self._promised else -1)": _NEGATIVE,
    },
    "reconciler/scheduling/lasting_state.py": {"self._nodes.columns.width > width -> self._nodes.columns.width >= width": _ROWS},
    "reconciler/scheduling/predicates/volume_binding.py": {
        "1 -> 2 in: found.extend(self._only(self._names.get(name, -1)) for name in claims.chosen)": _NEGATIVE,
        "False -> True in: by_node = False": _SLOWER,
        "any(((claim.namespace, claim.name) not in self._assumed for claim in self._claims(shape).waiting)) -> "
        "all(((claim.namespace, claim.name) not in self._assumed for claim in self._claims(shape).waiting))": "with one of its "
        "claims on a node the pods of a shape go to that node alone",
        "volume.phase == 'Available' and (claim.selector is None or selects(claim.selector, volume.labels)) and "
        "(set(claim.access_modes) <= set(volume.access_modes)) and _could_serve(volume, claim) -> "
        "volume.phase == 'Available' and (claim.selector is None or selects(claim.selector, volume.labels)) and "
        "(set(claim.access_modes) <= set(volume.access_modes))": _SLOWER,
    },
    "reconciler/scheduling/predicates/pod_topology_spread.py": {
        "1 -> 2 in: UNLIMITED = 1 << 31": "it is more than there are pods",
        "31 -> 32 in: UNLIMITED = 1 << 31": "it is more than there are pods",
        "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> "
        "not self.floor_is_forced or self.counter.alone_at_lowest(domain)": _SLOWER,
        "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> self.counter.alone_at_lowest(domain)": _SLOWER,
        "not self.floor_is_forced and self.counter.alone_at_lowest(domain) -> not self.floor_is_forced": _SLOWER,
    },
    "reconciler/scheduling/predicates/inter_pod_affinity.py": {
        "False -> True in: starts: bool = False": "without affinity terms nobody asks whether the shape meets them",
    },
    "reconciler/scheduling/predicates/volume_restrictions.py": {
        "claim is not None and _ONE_POD in claim.access_modes -> _ONE_POD in claim.access_modes": "who has a claim that is not "
        "there is turned away before",
        "use.kind == CLAIM_KIND and (not use.ephemeral) -> not use.ephemeral": "other volumes name no claim",
    },
    "reconciler/scheduling/presence.py": {
        "self.counts.get(node, 0) + count -> self.counts.get(node, 0) - count": "only whether it is zero is ever asked",
    },
    "reconciler/scheduling/state.py": {
        "count > 1 and self._filters.starts_group(shape) -> count > 1 or self._filters.starts_group(shape)": _SLOWER,
        "self._nodes.columns.width > width -> self._nodes.columns.width >= width": _ROWS,
        "8 -> 9 in: _FEW_NODES = 8": _SLOWER,
        "1 -> 2 in: self._local_at = -1": _NEGATIVE,
        "len(added) == 1 -> len(added) != 1": _SLOWER,
        "count < len(self._nodes) -> count <= len(self._nodes)": _SLOWER,
        "count > 0 -> count >= 0": "no node has room for none",
        "count <= 0 -> count < 0": "no pods are placed in any case where none are asked for",
    },
    "reconciler/scheduling/topology/counter.py": {
        "0 -> 1 in: self._low = min(self._levels, default=0)": "without an open domain there are fewer than minDomains, and the "
        "least is 0 by that",
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
    "reconciler/scheduling/topology/limits.py": {
        "0 -> 1 in: floor = 0": "it never moves, whatever it is",
        "False -> True": "a domain takes one pod at most whether its floor moves or not",
    },
    "reconciler/scheduling/topology/rationing.py": {
        "group.heap[0] < best.heap[0] -> group.heap[0] <= best.heap[0]": "no candidate is in two groups",
        "64 -> 65": _SLOWER,
        "len(limit.counter.domains.values) > _COARSE -> len(limit.counter.domains.values) >= _COARSE": _SLOWER,
    },
    "reconciler/scheduling/topology/rules.py": {
        "selector is not None and shape in self._selection.in_namespace(value.namespace, selector) -> "
        "shape in self._selection.in_namespace(value.namespace, selector)": "no selector selects nothing there either",
    },
}
