"""Choosing one of several groups that could serve the same pods."""

from collections.abc import Callable, Iterable
from fractions import Fraction

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import worth
from reconciler.policy.documents import Expander
from reconciler.scheduling.filled_nodes import NOTHING_FILLED, Filled
from reconciler.values.money import price_text
from reconciler.values.plural import count_text


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What one group would do for the pods that are left: `nodes` new ones, serving `pods` whose requests sum up to
    `requested`. `bindings` are (shape, which of the new nodes, pods), in the order in which they were tried."""

    position: int
    group: str
    shape: NodeShape
    nodes: int
    pods: int
    requested: Resources
    price_micros: int | None
    bindings: Filled = NOTHING_FILLED


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen option, the expander that decided (empty: only one option existed), and the scores that it compared (`big
    0.75`)."""

    option: Option
    expander: str
    compared: tuple[str, ...]


def expanders_in_force(chosen: tuple[Expander, ...], prices: Iterable[int | None]) -> tuple[Expander, ...]:
    """Those of the policy; where it names none LeastCost when every group of the tier has a price, else LeastWaste."""
    if chosen:
        return chosen
    known = list(prices)
    return (Expander.LEAST_COST,) if known and None not in known else (Expander.LEAST_WASTE,)


def choose(options: list[Option], expanders: tuple[Expander, ...], near_tie_percent: int) -> Choice:
    """Apply the expanders in turn until one option is left. Ties go to fewer machines for what they serve, then to the first
    name: most sizes of a cloud cost the same for their capacity. `options` is not empty.

    LeastCost needs a price for every option. If one is missing, this choice falls back to LeastWaste and says so.
    """
    left = sorted(options, key=lambda option: option.group)
    decided, compared = "", tuple[str, ...]()
    for expander in expanders:
        if len(left) == 1:
            break
        used = expander
        label = expander.value
        if expander is Expander.LEAST_COST and any(option.price_micros is None for option in left):
            used, label = Expander.LEAST_WASTE, "LeastWaste (a price is unknown, so not LeastCost)"
        scores = [_RULES[used].score(option) for option in left]
        keys = _keys(used, left, scores, near_tie_percent)
        best = min(keys)
        if any(key != best for key in keys):
            near = sum(1 for key in keys if not key[0]) > 1 and used is Expander.LEAST_WASTE
            rule = f"{label}, of those within {near_tie_percent}% the fewest machines," if near and near_tie_percent else label
            decided = rule
            compared = tuple(
                f"{option.group} {_RULES[used].score_text(option, score)}"
                for option, score, _ in sorted(zip(left, scores, keys, strict=True), key=lambda told: (told[2], told[0].group))
            )
        left = [option for option, key in zip(left, keys, strict=True) if key == best]
    if len(left) > 1:
        machines = [_machines_for_value(option) for option in left]
        least = min(machines)
        few = [option for option, count in zip(left, machines, strict=True) if count == least]
        rest = "the fewest machines" if len(few) < len(left) else ""
        rest = ", then ".join(filter(None, (rest, "name" if len(few) > 1 else "")))
        decided = f"{decided.removesuffix(',')}, then {rest}" if decided else f"{rest}, all else being equal"
        left = few
    return Choice(option=left[0], expander=decided, compared=compared)


def ranked(options: list[Option], expanders: tuple[Expander, ...], near_tie_percent: int) -> list[Option]:
    """The options from best to worst by the expanders in turn, then as `choose` ends ties; LeastCost as LeastWaste where a
    price is missing."""
    priced = all(option.price_micros is not None for option in options)
    used = [Expander.LEAST_WASTE if one is Expander.LEAST_COST and not priced else one for one in expanders]
    columns = [_keys(one, options, [_RULES[one].score(option) for option in options], near_tie_percent) for one in used]

    def key(place: int) -> tuple[object, ...]:
        option = options[place]
        return *(column[place] for column in columns), _machines_for_value(option), option.group

    order = sorted(range(len(options)), key=key)
    return [options[place] for place in order]


def _keys(
    expander: Expander, options: list[Option], scores: list[Fraction], near_tie_percent: int
) -> list[tuple[bool, Fraction, Fraction]]:
    """Smaller is better: first whether it is outside a near tie with the best, then the score. Near ties in waste go to fewer
    machines for what they serve, because each machine has to be booted, patched and watched."""
    if expander is not Expander.LEAST_WASTE or not near_tie_percent:
        return [(False, score, Fraction(0)) for score in scores]
    most = min(scores) + near_tie(near_tie_percent)
    return [
        (True, score, Fraction(0)) if score > most else (False, _machines_for_value(option), score)
        for option, score in zip(options, scores, strict=True)
    ]


def bought_capacity(shape: NodeShape) -> Resources:
    """What is paid for: the capacity of the machine, or where nothing states it what pods can use."""
    offered = shape.capacity
    return offered if offered.cpu_milli or offered.memory_bytes else shape.allocatable


def waste(option: Option) -> Fraction:
    """What of the worth of the option's nodes no pod of this demand would use."""
    bought, requested = bought_capacity(option.shape), option.requested
    if not (bought.cpu_milli and bought.memory_bytes):
        # A machine that says nothing of a resource is measured by the others.
        requested = msgspec.structs.replace(
            requested,
            cpu_milli=requested.cpu_milli if bought.cpu_milli else 0,
            memory_bytes=requested.memory_bytes if bought.memory_bytes else 0,
        )
    return wasted(worth(bought) * option.nodes, worth(requested))


def wasted(bought: int, requested: int) -> Fraction:
    """Share of the worth of the added capacity that is not requested. What every machine reserves and its DaemonSets use counts
    as waste too.

    The Cluster Autoscaler's least-waste counts the share of cpu and the share of memory alike. But a core costs as much as 7 GiB,
    and a GPU as much as 30 cores.
    """
    return Fraction(bought - requested, bought) if bought > 0 else Fraction(0)


def near_tie(percent: int) -> Fraction:
    """So much more may be wasted for fewer machines."""
    return Fraction(percent, 100)


def _worth(option: Option) -> int:
    """What its pods request, as one amount."""
    return worth(option.requested)


def _cost_for_value(option: Option) -> Fraction:
    """Price of the new nodes for what their pods request, so that options serving different pods compare."""
    worth = _worth(option)
    cost = (option.price_micros or 0) * option.nodes
    return Fraction(cost * 1000 * (1 << 30), worth) if worth else Fraction(cost)


def _machines_for_value(option: Option) -> Fraction:
    worth = _worth(option)
    return Fraction(option.nodes, worth) if worth else Fraction(option.nodes)


def _cost_text(option: Option, _: Fraction) -> str:
    """What all new nodes cost, and how many pods they serve: options may serve different ones."""
    return f"for {price_text((option.price_micros or 0) * option.nodes)}/h ({count_text(option.pods, 'pod')})"


class _Rule(msgspec.Struct, frozen=True):
    """One expander. The option with the smallest `score` wins. `score_text` describes an option and its score."""

    score: Callable[[Option], Fraction]
    score_text: Callable[[Option, Fraction], str]


_RULES = {
    Expander.LEAST_COST: _Rule(_cost_for_value, _cost_text),
    Expander.LEAST_WASTE: _Rule(
        waste, lambda option, score: f"with {float(score):.1%} wasted on {count_text(option.nodes, 'node')}"
    ),
    Expander.LEAST_NODES: _Rule(
        lambda option: Fraction(option.nodes), lambda option, _: f"with {count_text(option.nodes, 'node')}"
    ),
    Expander.MOST_PODS: _Rule(lambda option: Fraction(-option.pods), lambda option, _: f"for {count_text(option.pods, 'pod')}"),
}
