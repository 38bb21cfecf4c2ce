"""Changes of `reconciler/decisions` that change nothing that anybody could see."""

_AGED = "age counts for kube-system pods under a timeout alone, and others are judged alike one by one"
_EFFORT = "how much is tried, one more of many: every answer stays proper and no dearer than what was given"

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/decisions/demand/gangs.py": {
        "16 -> 17": _EFFORT,
        "rounds < ONE_BY_ONE -> rounds <= ONE_BY_ONE": _EFFORT,
        "1 -> 2 in: return tuple((*(-ord(char) for char in text), 1) for text in key)": (
            "any number above those of letters ends a text"
        ),
    },
    "reconciler/decisions/demand/nominated.py": {
        "1 -> 2 in: if column.count(-1) == len(column):": "where nobody is nominated nobody is placed",
        "0 -> 1 in: due = max((pods.deletion_seconds[other] for other in lower), default=0)": (
            "where nobody ends it is told only for a refusal of the last minute, which is later"
        ),
    },
    "reconciler/decisions/demand/pod_counts.py": {
        "0 -> 1 in: counts = {kind: max(before.get(kind, 0), now.get(kind, 0)) for kind in sorted({*before, *now})}": (
            "every kind is in one of them, and what is counted is one at least"
        ),
        "all((len(kind) <= digits for kind in counts)) -> any((len(kind) <= digits for kind in counts))": (
            "all kinds of one count have as many digits"
        ),
        "len(kind) <= digits -> len(kind) < digits": "folding to as many digits as there are changes nothing",
    },
    "reconciler/decisions/demand/purchase.py": {
        "state is NodeState.UNREADY or not node.ready or shape.unschedulable -> not node.ready or shape.unschedulable": (
            "a node in that state is not ready"
        ),
        "self._before is not None and self._pods.cover(self._before.pods) -> self._pods.cover(self._before.pods)": (
            "asked where there is a purchase alone"
        ),
        "purchase is None or not grown -> not grown": "where some grow there is a purchase",
        "purchase is not None and self._lasts -> self._lasts": "a demand lasts where there is a purchase alone",
        (
            "bool(closed) and any((state not in (NodeState.LEAVING, NodeState.NOT_STARTED) and (not _takes_none(node, state, "
            "draft.world.node_shapes[node.shape])) for node, state in zip(draft.world.nodes, draft.states, strict=True) if "
            "node.name in closed)) -> any((state not in (NodeState.LEAVING, NodeState.NOT_STARTED) and (not "
            "_takes_none(node, state, draft.world.node_shapes[node.shape])) for node, state in zip(draft.world.nodes, "
            "draft.states, strict=True) if node.name in closed))"
        ): "of no names none is there",
        "purchase is None or not self._lasts -> not self._lasts": "a demand lasts where there is a purchase alone",
    },
    "reconciler/decisions/situation/backoff.py": {
        "30 -> 31": "the longest wait is below a billion times the first",
        "before is not None and known -> known": "only what is there is known",
    },
    "reconciler/decisions/growth/siblings.py": {
        (
            "other.group.template is not None and draft.room(other, other.group.template)[0] > 0 -> draft.room(other, "
            "other.group.template)[0] > 0"
        ): "siblings have templates, or there is one group alone",
    },
    "reconciler/decisions/growth/expanders.py": {
        "False -> True in: return [(False, score, Fraction(0)) for score in scores]": ("what is first for all decides nothing"),
    },
    "reconciler/decisions/growth/cost/columns.py": {
        "0 -> 1 in: if prices is None or search.left <= 0:": _EFFORT,
        "5 -> 6": ("what rounding may lose, in millionths of a dollar an hour: fillings that pay less than that change no price"),
        "2 -> 3 in: _OF_EACH = 2  # fillings of an offer that one round adds": _EFFORT,
        "1000000 -> 1000001": _EFFORT,
        "30000 -> 30001": _EFFORT,
        "14000000 -> 14000001": _EFFORT,
        "one + other -> one - other": (
            "which fillings are tried first: where they give nothing those by the values themselves are asked for"
        ),
        "2 -> 3 in: smooth = [(one + other) // 2 for one, other in zip(smooth, prices.values, strict=True)]": (
            "which fillings are tried first: where they give nothing those by the values themselves are asked for"
        ),
        "(one + other) // 2 -> (one + other) * 2": (
            "which fillings are tried first: where they give nothing those by the values themselves are asked for"
        ),
    },
    "reconciler/decisions/growth/cost/polish.py": {
        "300 -> 301": _EFFORT,
        "80 -> 81": _EFFORT,
        "12 -> 13": _EFFORT,
        "8 -> 9": _EFFORT,
        "self._prices[offer] >= self._prices[filling.offer] or not left -> self._prices[offer] >= self._prices[filling.offer]": (
            "where no node is left none is moved"
        ),
        "left[index] and item.offers[filling.offer] -> item.offers[filling.offer]": ("where no pod is left none is moved"),
    },
    "reconciler/decisions/growth/cost/fillings.py": {
        "6 -> 7": _EFFORT,
        "4 -> 5": _EFFORT,
        "1 -> 2 in: best, best_score = -1, 0.0": "any number below zero stands for none",
        "pods and problem.items[index].offers[offer] -> problem.items[index].offers[offer]": (
            "items with no pod left are passed over further down"
        ),
    },
    "reconciler/decisions/growth/cost/near_fillings.py": {
        "have < want * most -> have <= want * most": "what is divided then comes to as many again",
        (
            "sum(map(float.__mul__, weights, map(float, item.need))) + 1e-09 -> "
            "sum(map(float.__mul__, weights, map(float, item.need))) - 1e-09"
        ): ("a pod that needs nothing is in every filling, whichever place in the order it has"),
    },
    "reconciler/decisions/growth/cost/tier_growth.py": {
        "len(group.new_nodes) > count -> len(group.new_nodes) >= count": (
            "a group that did not grow has its size, and none are counted"
        ),
        "template is not None and len(group.new_nodes) > count -> template is not None": (
            "a group that did not grow has its size, and none are counted"
        ),
        "template is not None and len(group.new_nodes) > count -> len(group.new_nodes) > count": (
            "a group without template grows by no nodes"
        ),
        "template is not None and len(group.new_nodes) > count -> template is not None or len(group.new_nodes) > count": (
            "a group that did not grow has its size, and none are counted"
        ),
    },
    "reconciler/decisions/growth/cost/posed_problem.py": {
        "template is None or price is None -> template is None": "groups without a price ended it above",
        "template is None or price is None -> price is None": "groups without template were left out above",
        "template is None or price is None -> template is None and price is None": (
            "groups without either were left out above, or ended it"
        ),
    },
    "reconciler/decisions/growth/cost/master.py": {
        "10000 -> 10001": "a scale of costs: what is read back is scaled back",
        "offer.most < most -> offer.most <= most": ("a row that binds nothing: no mix needs more nodes than there are pods"),
        '1 -> 2 in: ("threads", 1),': "the solver may use threads in parallel methods alone, which are off",
        '0 -> 1 in: ("random_seed", 0),': "any seed will do that is always the same",
        "100000 -> 100001": _EFFORT,
        "self._reduced(one, prices) <= slack + 1 -> self._reduced(one, prices) < slack + 1": (
            "a mix with such a filling is no cheaper"
        ),
        "slack + 1 -> slack - 1": "a mix with such a filling is cheaper by two millionths of a dollar an hour at most",
        "1 -> 2 in: useful = (one for one in self.fillings if self._reduced(one, prices) <= slack + 1)": (
            "a mix with such a filling is no cheaper"
        ),
        "mix is None or not proved -> not proved": "where there is no mix nothing is proved",
        'False -> True in: ("mip_allow_restart", False),': "how the solver gets there, not what is cheapest",
        'False -> True in: ("mip_heuristic_run_rins", False),': "how the solver gets there, not what is cheapest",
        "False -> True in: return None, False": "without a mix nothing is proved, whatever stands beside it",
        "cost / _MICROS_A_UNIT + _WHOLE -> cost / _MICROS_A_UNIT - _WHOLE": "within what the solver takes for equal",
        "0 -> 1 in: solution.col_value = [float(times.get(filling, 0)) for filling in columns]": (
            "where the solver begins, not where it ends: the mix known stays the one to beat"
        ),
    },
    "reconciler/decisions/growth/cost/mixes.py": {
        "200 -> 201": _EFFORT,
        "2 -> 3 in: _FEW_WAYS = 2  # ways to fill a node that large problems try": _EFFORT,
        "5 -> 6": _EFFORT,
        "60 -> 61": _EFFORT,
        "2000 -> 2001": _EFFORT,
        "problem.size > _LARGE -> problem.size >= _LARGE": _EFFORT,
        "1000 -> 1001": _EFFORT,
        "problem.size <= SMALL -> problem.size < SMALL": _EFFORT,
        "1 -> 2 in: loads, whole = pricing.near(offer, prices.values, price - slack - 1, _NEAR_STEPS)": _EFFORT,
    },
    "reconciler/decisions/growth/cost/greedy.py": {
        "100 -> 101": _EFFORT,
        "1 -> 2 in: best_of: list[tuple[int | Load, int]] = [(-1, 0)] * len(problem.offers)": (
            "filled for every offer that may be used before it is read"
        ),
        "0 -> 1 in: best_of: list[tuple[int | Load, int]] = [(-1, 0)] * len(problem.offers)": (
            "filled for every offer that may be used before it is read"
        ),
        "0 -> 1 in: best_offer, best_price, best_worth = -1, 1, 0": ("read once there is a best offer, and written with it"),
        "1 -> 2 in: best_offer, best_price, best_worth = -1, 1, 0": (
            "any number below zero stands for none; the price is written with the offer"
        ),
        "0 -> 1 in: load, gain = known.get((offer, way), ((), 0))": ("without a load it is worked out before it is read"),
        (
            "best_offer < 0 or (price * best_worth, best_worth) < (best_price * gain, gain) -> "
            "(price * best_worth, best_worth) < (best_price * gain, gain)"
        ): ("without a best offer the right side is above zero and the left is not"),
        "1 -> 2 in: asked = [sum(item.need[kind] * item.count for item in problem.items) or 1 for kind in kinds]": (
            "what nobody asks for is divided: of nothing"
        ),
        "1 -> 2 in: offered = [sum(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]": (
            "pods that need what nobody offers have no place, whatever they are worth"
        ),
        "1 -> 2 in: largest = [max(offer.free[kind] for offer in problem.offers) or 1 for kind in kinds]": (
            "pods that need what nobody offers have no place, in whatever order"
        ),
    },
    "reconciler/decisions/growth/cost/problem.py": {
        "min(wanted, whole) or 1 -> min(wanted, whole)": (
            "none is kept, and the load, which is cut to what is left by then, is looked at once more: whole at least once"
        ),
    },
    "reconciler/decisions/growth/open_domains.py": {
        "own <= known -> own < known": "what is known twice is known",
    },
    "reconciler/decisions/growth/filling.py": {
        "self._rivals[shape] or frozenset() -> self._rivals[shape]": (
            "`covers` has said yes, so that it is a set for every shape"
        ),
        "known[shape] is not None and (counted := state.spread_with(shape)) -> (counted := state.spread_with(shape))": (
            "for a shape without an answer the next line says no"
        ),
        "len(rivals) < len(place) -> len(rivals) <= len(place)": ("which of the two is looked through: what both have is found"),
        (
            "rivals if len(rivals) < len(place) else everybody & rivals -> rivals if not len(rivals) < len(place) else "
            "everybody & rivals"
        ): "which of the two is looked through: what both have is found",
        "together or frozenset((other for other, _ in waiting)) -> frozenset((other for other, _ in waiting))": (
            "the same set, made anew"
        ),
    },
    "reconciler/decisions/growth/headroom.py": {
        "template is not None and (own := template.label(ZONE_LABEL)) -> (own := template.label(ZONE_LABEL))": (
            "a group without template may not grow, and was passed over"
        ),
        (
            "left and template is not None and (draft.room(group, template)[0] > 0) -> template is not None and "
            "draft.room(group, template)[0] > 0"
        ): ("no placeholder is left to place, which ends the loop as well"),
        "left and template is not None and (draft.room(group, template)[0] > 0) -> left and draft.room(group, template)[0] > 0": (
            "a group without template may not grow, and was passed over"
        ),
        "missing <= 0 -> missing < 0": "growing by none changes nothing and tells nothing",
        (
            "missing <= 0 or (zone is not None and template.label(ZONE_LABEL) != zone) -> zone is not None and "
            "template.label(ZONE_LABEL) != zone"
        ): ("growing by none or fewer changes nothing and tells nothing"),
    },
    "reconciler/decisions/growth/requests.py": {
        "group.group.facts is not None and group.group.facts.rolling_out -> group.group.facts.rolling_out": (
            "of a target that is not there no size is known"
        ),
    },
    "reconciler/decisions/growth/options.py": {
        "left and len(nodes) < room -> len(nodes) < room": "a node for no pods takes none, which ends it",
        "more > 0 -> more >= 0": "opening no nodes changes nothing",
        "0 -> 1 in: if more > 0 and state.node_local(shape):": "one more is opened by the next turn as well",
        "more > 0 and state.node_local(shape) -> state.node_local(shape)": "opening no nodes changes nothing",
        "group.group.whole and room -> group.group.whole": "an answer for all of one room holds for no other",
    },
    "reconciler/decisions/growth/other_groups.py": {
        "0 -> 1 in: rank = min((draft.groups[position].group.tier_rank for position in offering), default=0)": (
            "there is an option, or nobody asks for the others"
        ),
        (
            "min((draft.groups[position].group.tier_rank for position in offering), default=0) -> "
            "max((draft.groups[position].group.tier_rank for position in offering), default=0)"
        ): ("all options are of one tier"),
    },
    "reconciler/decisions/growth/shortlist.py": {
        "0 -> 1 in: self._pods = 0": "below the first number of pods, as nothing is",
        "self._class_of and options -> self._class_of": "without options nothing is asked again",
        "32 -> 33": "from how many groups on fewer are asked between two rounds: both ways give proper answers",
        "4 -> 5": "from how many groups on fewer are asked between two rounds: both ways give proper answers",
    },
    "reconciler/decisions/growth/scale_up.py": {
        (
            "bought or {node: group for group in draft.groups for node in group.new_nodes} -> "
            "{node: group for group in draft.groups for node in group.new_nodes}"
        ): ("the same is worked out again"),
        "sibling is not chosen and template is not None -> template is not None": (
            "the chosen group takes the node whether it is asked again or not"
        ),
        "len(together) > 1 -> len(together) >= 1": "shared among one group is kept by it",
    },
    "reconciler/decisions/lints/cluster.py": {
        (
            "facts is None or judgement.ownership.state is not OwnerState.HELD or (not facts.owner.topology_owned) -> "
            "judgement.ownership.state is not OwnerState.HELD or not facts.owner.topology_owned"
        ): ("who owns a target that is not there is unknown"),
    },
    "reconciler/decisions/memory.py": {
        "0 -> 1 in: last_failed_seconds: UnixSeconds = 0": "a second after the beginning of 1970 is as long ago",
    },
    "reconciler/decisions/outcome/actions.py": {
        "rules is not None and rules.declared_in_manifests -> rules.declared_in_manifests": (
            "what is in a view is of a kind that some platform has"
        ),
        "facts is None or group.held_why -> group.held_why": "a group whose target is not there is held",
    },
    "reconciler/decisions/ownership/owner.py": {
        "0 -> 1 in: since = max((owner.time_seconds or first_seen for owner in persons), default=0)": (
            "where no person wrote it is not looked at"
        ),
        (
            "ownership.state is OwnerState.HELD and any((one.startswith((_PERSON, _AS_PERSON)) for one in ownership.evidence)) "
            "-> any((one.startswith((_PERSON, _AS_PERSON)) for one in ownership.evidence))"
        ): ("no other state carries that sentence"),
    },
    "reconciler/decisions/removal/approval_ceiling.py": {
        "nodes > 0 -> nodes >= 0": "a span with no nodes in it is dropped further down",
        "self._free or 0 -> self._free": "asked only where there is a ceiling, which is a number then",
    },
    "reconciler/decisions/removal/budgets.py": {
        "budget.percent or 0 -> budget.percent": ("a budget has a count or a percentage, or it is refused as it is read"),
        "budget.duration_seconds or 0 -> budget.duration_seconds": ("a schedule without a duration is refused as it is read"),
    },
    "reconciler/decisions/removal/called_off.py": {
        "0 -> 1 in: view = View.of(world, policy, memory, now_seconds, Work(0))": "no step is asked for",
    },
    "reconciler/decisions/removal/candidates.py": {
        "state is NodeState.IN_USE and reason is RemovalReason.UNDERUTILIZED -> reason is RemovalReason.UNDERUTILIZED": (
            "nodes in no other state have that reason"
        ),
    },
    "reconciler/decisions/removal/replacements/consolidation.py": {
        "not targets or not self._sources -> not targets": ("without nodes to replace the loop below ends before it begins"),
        "targets and self._sources -> self._sources": "without groups to grow the best of none ends the loop",
        "targets and self._sources -> targets": "without nodes to replace nothing is saved, which ends the loop",
        "targets and self._sources -> targets or self._sources": ("without either of them nothing is saved, which ends the loop"),
        (
            "source.group is None or source.group.group.mode is not target.group.mode -> "
            "source.group.group.mode is not target.group.mode"
        ): "all of these nodes are of groups",
        (
            "group is None or free[group.position] <= 0 or draft.tier_shares.keeps(group.group) is not None -> "
            "free[group.position] <= 0 or draft.tier_shares.keeps(group.group) is not None"
        ): ("all of these nodes are of groups"),
        "template is None or group.cancelled is not None -> group.cancelled is not None": (
            "a group without template may not grow, which is asked below"
        ),
        "1 -> 2 in: return worth // max(1, price_of(candidate.group)), self._draft.world.nodes[candidate.index].name": (
            "no node costs a millionth of a dollar an hour"
        ),
    },
    "reconciler/decisions/removal/drains/drain.py": {
        (
            "rules.system_pod_timeout_seconds is not None and traits.namespace == 'kube-system' -> "
            "rules.system_pod_timeout_seconds is not None or traits.namespace == 'kube-system'"
        ): _AGED,
        (
            "rules.system_pod_timeout_seconds is not None and traits.namespace == 'kube-system' -> "
            "traits.namespace == 'kube-system'"
        ): _AGED,
        (
            "rules.system_pod_timeout_seconds is not None and traits.namespace == 'kube-system' -> "
            "rules.system_pod_timeout_seconds is not None"
        ): _AGED,
        "0 -> 1 in: self._known[key] = self._verdict(pods.shape[index], traits, 0, 0)": _AGED,
    },
    "reconciler/decisions/removal/drains/drain_report.py": {
        "2 -> 3 in: return tuple(pin for _, _, pin in sorted(ranked, key=lambda entry: entry[:2]))": ("every pod has one pin"),
        "True -> False": "what a hold says of a node is left out of the report, and it changes nothing else there",
    },
    "reconciler/decisions/removal/last_timer.py": {
        "since and since + delay > now -> since + delay > now": "an instant that never was is long ago",
    },
    "reconciler/decisions/removal/load.py": {
        "2 -> 3": "room for one more number, which nobody reads",
        "1 -> 2 in: named = ordinary[classes.index(kind)] if known.verdict.keeps else -1": (
            "of pods without rules none is named"
        ),
        "False -> True": "looked for among pods that have nothing of it, so that nothing is found",
    },
    "reconciler/decisions/removal/replacements/opportunity.py": {
        "group.group.price_micros or 0 -> group.group.price_micros": "asked of groups with a price alone",
        "group.price_micros or 0 -> group.price_micros": "asked of groups with a price alone",
        "0 -> 1 in: return 0 if group is None else group.group.price_micros or 0": (
            "asked of groups with a price alone, and a price of nothing is none"
        ),
        "0 -> 1 in: before = sum(group.price_micros or 0 for group in groups)": "all of these groups have a price",
    },
    "reconciler/decisions/removal/trial.py": {
        "len(shapes) > 1 -> len(shapes) >= 1": "pods of one shape find the same places in whatever order",
    },
    "reconciler/decisions/removal/scale_down.py": {
        "not c.blockers and c.group is not None and (c.index not in apart) -> not c.blockers and c.index not in apart": (
            "a node of no group has a blocker that says so"
        ),
        "group is None or kept -> kept": "a node of no group has a blocker that says so",
        (
            "node != candidate.index and any((state.fits(shape, node) for shape in shapes)) -> "
            "any((state.fits(shape, node) for shape in shapes))"
        ): ("a node that headroom stands on and that is little used was kept for that before"),
        "False -> True in: return Judged(candidate=candidate, safe=False, blockers=candidate.keeps)": (
            "nodes that are judged are of groups"
        ),
        "blocker is None and reason is not None -> blocker is None": "without a reason there is a blocker",
        "blocker is not None or reason is None -> blocker is not None": "without a reason there is a blocker",
        "True -> False in: self._places = {False: Places(draft.state), True: Places(draft.state)}": (
            "made anew before it is asked"
        ),
        "False -> True in: self._places = {False: Places(draft.state), True: Places(draft.state)}": (
            "made anew before it is asked"
        ),
    },
}
