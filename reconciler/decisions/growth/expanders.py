"""Choosing one of several groups that could serve the same pods."""

from fractions import Fraction

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.policy.documents import Expander

# What one core and one GiB are worth beside each other, in millionths of a dollar an hour: the default prices that
# OpenCost uses for nodes without a price (0.031611 a core, 0.004237 a GiB). Only their ratio matters here.
CORE_MICROS, GIB_MICROS = 31611, 4237


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
    bindings: tuple[tuple[int, int, int], ...] = ()


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The option taken, the expander that decided (empty: there was no other option), and the scores it compared (`big 0.75`)."""

    option: Option
    expander: str
    compared: tuple[str, ...]


def choose(options: list[Option], expanders: tuple[Expander, ...]) -> Choice:
    """Apply the expanders in turn until one option is left; ties end by name. `options` is not empty.

    LeastCost needs a price for every option; where one is missing this choice falls back to LeastWaste and says so.
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
        scores = [_score(used, option) for option in left]
        best = min(scores)
        if len(set(scores)) > 1:
            decided = label
            compared = tuple(
                f"{option.group} {_score_text(used, score)}"
                for option, score in sorted(zip(left, scores, strict=True), key=lambda pair: (pair[1], pair[0].group))
            )
        left = [option for option, score in zip(left, scores, strict=True) if score == best]
    if len(left) > 1:
        decided = f"{decided}, then name" if decided else "name, all else being equal"
    return Choice(option=left[0], expander=decided, compared=compared)


def ranked(options: list[Option], expanders: tuple[Expander, ...]) -> list[Option]:
    """The options from best to worst by the expanders in turn, then by name; LeastCost as LeastWaste where a price is missing."""
    priced = all(option.price_micros is not None for option in options)
    used = [Expander.LEAST_WASTE if one is Expander.LEAST_COST and not priced else one for one in expanders]
    return sorted(options, key=lambda option: (*(_score(one, option) for one in used), option.group))


def _score(expander: Expander, option: Option) -> Fraction:
    """Smaller is better."""
    match expander:
        case Expander.LEAST_NODES:
            return Fraction(option.nodes)
        case Expander.MOST_PODS:
            return Fraction(-option.pods)
        case Expander.LEAST_COST:
            return _cost_for_value(option)
        case _:
            return waste(option)


def waste(option: Option) -> Fraction:
    """Share of cpu plus share of memory that would stay unused, on allocatable (0..2).

    Source: Cluster Autoscaler least-waste, which takes capacity; allocatable is what pods can really use.
    """
    offered, requested = option.shape.allocatable, option.requested
    cpu, memory = offered.cpu_milli * option.nodes, offered.memory_bytes * option.nodes
    if cpu > 0 and memory > 0:
        # The sum of both shares, as one fraction: it is asked for every option of every choice.
        return Fraction((cpu - requested.cpu_milli) * memory + (memory - requested.memory_bytes) * cpu, cpu * memory)
    if cpu > 0:
        return Fraction(cpu - requested.cpu_milli, cpu)
    return Fraction(memory - requested.memory_bytes, memory) if memory > 0 else Fraction(0)


def _cost_for_value(option: Option) -> Fraction:
    """Price of the new nodes for what their pods request, so that options serving different pods compare."""
    worth = option.requested.cpu_milli * CORE_MICROS * (1 << 30) + option.requested.memory_bytes * GIB_MICROS * 1000
    cost = (option.price_micros or 0) * option.nodes
    return Fraction(cost * 1000 * (1 << 30), worth) if worth else Fraction(cost)


def _score_text(expander: Expander, score: Fraction) -> str:
    if expander is Expander.MOST_PODS:
        return f"{-score} pods"
    if expander is Expander.LEAST_NODES:
        return f"{score} nodes"
    if expander is Expander.LEAST_COST:
        return f"{float(score):.3f} of the request's worth"
    return f"{float(score):.3f} wasted"
