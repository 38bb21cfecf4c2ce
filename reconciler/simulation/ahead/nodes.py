"""The nodes and machines when what a decision foresees has come true."""

from reconciler.cluster.nodes.node import Node, NodeShape
from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.outcome.foreseen import ChangedGroup, Foreseen


class Nodes:
    """The nodes after it with the machines behind them. `moved`: by the index that a node had (new ones behind those of the
    World) the one that it has (-1: gone), with -1 behind the last."""

    def __init__(self, world: World, foreseen: Foreseen, now_seconds: int) -> None:
        self.shapes: list[NodeShape] = [*world.node_shapes]
        known = {shape: index for index, shape in enumerate(self.shapes)} if any(g.joining for g in foreseen.groups) else {}
        taken = {node.name for node in world.nodes}
        taken.update(machine.name for machine in world.machines)
        leaving = {index for group in foreseen.groups for index in group.leaving}
        names = {world.nodes[index].name for index in leaving}
        providers = {world.nodes[index].provider_id for index in leaving} - {""}
        machines = [m for m in world.machines if m.node not in names and (m.node or m.provider_id not in providers)]
        kept = [(node.name, index, node) for index, node in enumerate(world.nodes) if index not in leaving]
        last = len(world.nodes)
        for group in foreseen.groups:
            number = 0
            for new in group.joining:
                number = _next(group, number, taken)
                name = f"{group.target.name}-{number}"
                if new.shape not in known:
                    known[new.shape] = len(self.shapes)
                    self.shapes.append(new.shape)
                node = Node(
                    name=name,
                    uid=f"uid-{name}",
                    shape=known[new.shape],
                    provider_id=f"sim:///{name}",
                    created_seconds=now_seconds,
                    ready_seconds=now_seconds,
                )
                kept.append((name, new.index, node))
                last = max(last, new.index + 1)
                machines.append(
                    Machine(
                        namespace=group.target.namespace or group.target.region,
                        name=name,
                        target=group.target,
                        node=name,
                        provider_id=node.provider_id,
                        created_seconds=now_seconds,
                        phase="Running",
                    )
                )
        kept.sort(key=lambda entry: entry[0])
        self.nodes = tuple([node for _, _, node in kept])
        self.machines = tuple(sorted(machines, key=lambda machine: (machine.namespace, machine.name)))
        self.moved = [-1] * (last + 1)
        for place, (_, index, _) in enumerate(kept):
            self.moved[index] = place


def _next(group: ChangedGroup, number: int, taken: set[str]) -> int:
    """The next number after which no node or machine of the target is named."""
    number += 1
    while f"{group.target.name}-{number}" in taken:
        number += 1
    return number
