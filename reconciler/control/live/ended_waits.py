"""Which pods stopped waiting for a node between two decisions, and how long they had waited."""

from collections import Counter

from reconciler.cluster.world import World
from reconciler.plan.plan import Plan


def ended_waits(before: Plan, plan: Plan, world: World, before_seconds: int, at_seconds: int) -> tuple[Counter[int], int]:
    """Pods that got a node, by seconds from their creation to `at_seconds`, when `plan` saw them on it, and how many got none.
    Pods that came meanwhile and have a node count too. As in a replay, pods of DaemonSets and mirror pods do not."""
    pods = world.pods
    ended = {line.pod for line in before.pods} - {line.pod for line in plan.pods}
    there = [pods.row((namespace, name)) for namespace, _, name in (key.partition("/") for key in ended)]
    placed = {row for row in there if row is not None and (pods.node[row] >= 0 or row in pods.unknown_node)}
    never = len(ended) - len(placed)
    columns = zip(pods.created_seconds, pods.node, strict=True)
    placed.update(row for row, (created, node) in enumerate(columns) if created > before_seconds and node >= 0)
    kinds = world.pod_traits
    counted = (row for row in placed if not (kinds[pods.traits[row]].daemonset or kinds[pods.traits[row]].mirror))
    return Counter(max(0, at_seconds - pods.created_seconds[row]) for row in counted), never
