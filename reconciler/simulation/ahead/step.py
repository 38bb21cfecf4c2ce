"""What a decision foresees, carried out at once on whole columns of a World. No object a pod is made."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.pods.pod_table import is_ready
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.outcome.foreseen import Foreseen
from reconciler.decisions.remember import settle
from reconciler.decisions.removal.disruption import DisruptionLedger
from reconciler.plan.plan import ActionKind
from reconciler.simulation.ahead.moves import Moves
from reconciler.simulation.ahead.nodes import Nodes
from reconciler.simulation.ahead.rows import pods_after
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, applied, conflict


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is there after it. `evicted` are keys of pods that moved, `joined` counts new nodes by group name."""

    world: World
    memory: Memory
    evicted: tuple[str, ...]
    joined: Mapping[str, int]


def is_plain(world: World) -> bool:
    """Whether a step can be taken at all: no pod is ending, promised to a node, or on a node that was not captured."""
    pods = world.pods
    nowhere = array("i", (-1,)).tobytes() * len(pods)
    return not any(pods.deletion_seconds) and pods.nominated.tobytes() == nowhere and not pods.unknown_node


def step(world: World, foreseen: Foreseen, memory: Memory, now_seconds: int) -> Step | None:
    """Everything at once, at `now_seconds`. None where more would happen than that: a write would be refused, a pod takes volumes
    or devices along, nobody makes it again, or two disruption budgets keep it."""
    targets = _written(world, foreseen, now_seconds)
    moves = Moves.of(world, foreseen)
    budgets = None if moves is None else _budgets(world, moves)
    if targets is None or moves is None or budgets is None:
        return None
    nodes = Nodes(world, foreseen, now_seconds)
    pods, traits = pods_after(world, foreseen, moves, nodes, now_seconds)
    after = msgspec.structs.replace(
        world,
        captured_seconds=now_seconds,
        node_shapes=tuple(nodes.shapes),
        nodes=nodes.nodes,
        machines=nodes.machines,
        targets=targets,
        budgets=budgets,
        pods=pods,
        pod_traits=traits,
    )
    return Step(
        world=after,
        memory=settle(memory, tuple(_outcomes(world, foreseen, targets, now_seconds))),
        evicted=tuple(world.pods.keys(moves.evicted)),
        joined={group.name: len(group.joining) for group in foreseen.groups if group.joining},
    )


def _written(world: World, foreseen: Foreseen, now_seconds: int) -> tuple[TargetFacts, ...] | None:
    """Targets with their new sizes, as an apply that does not force leaves them; None: one would be refused, or another object
    follows."""
    to = {group.target: group.to for group in foreseen.groups}
    above = {f"{ref.kind} {ref.namespace}/{ref.name}" for ref in to}
    found = []
    for facts in world.targets:
        if facts.owner.controller in above:
            return None
        if facts.ref not in to:
            found.append(facts)
            continue
        size = to.pop(facts.ref)
        mark = read_hold(facts.owner.hold)
        if conflict(facts, OUR_MANAGER, size) or facts.owner.topology_owned or (mark is not None and mark.holds(now_seconds)):
            return None
        found.append(applied(facts, OUR_MANAGER, size, now_seconds))
    return None if to else tuple(found)


def _outcomes(world: World, foreseen: Foreseen, targets: Iterable[TargetFacts], now_seconds: int) -> Iterable[Outcome]:
    generations = {facts.ref: facts.generation for facts in targets}
    for group in foreseen.groups:
        for kind, nodes in ((ActionKind.RESIZE, ()), (ActionKind.REMOVE_NODE, group.leaving)):
            if nodes or (kind is ActionKind.RESIZE and group.joining):
                yield Outcome(
                    kind=kind,
                    group=group.name,
                    target=str(group.target),
                    to=group.to,
                    nodes=tuple(world.nodes[index].name for index in nodes),
                    done=True,
                    at_seconds=now_seconds,
                    generation=generations[group.target],
                )


def _budgets(world: World, moves: Moves) -> tuple[DisruptionBudget, ...] | None:
    """Budgets once the pods that were bound are healthy; None where that is not to be told from the captured status."""
    if not world.budgets:
        return ()
    pods, ledger = world.pods, DisruptionLedger(world)
    shapes = Counter(pods.shape[row] for row in moves.rows)
    if any(len(ledger.budgets_of(shape)) > 1 for shape in shapes):
        return None
    healthier: Counter[int] = Counter()
    for row in moves.rows:
        if not is_ready(pods.flags[row]):
            for index in ledger.budgets_of(pods.shape[row]):
                healthier[index] += 1
    if any(not world.budgets[index].expected_pods or not world.budgets[index].observed for index in healthier):
        return None
    return tuple(_healthier(budget, healthier[index]) for index, budget in enumerate(world.budgets))


def _healthier(budget: DisruptionBudget, more: int) -> DisruptionBudget:
    if not more:
        return budget
    healthy = budget.current_healthy + more
    allowed = max(0, healthy - budget.desired_healthy)
    return msgspec.structs.replace(budget, current_healthy=healthy, disruptions_allowed=allowed)
