"""The standard situations of a cluster: those that a policy meets sooner or later, derived from its pods, targets and windows."""

from collections.abc import Iterable, Iterator, Sequence

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.policy.documents import PolicySet, Window
from reconciler.policy.windows import next_opening, window_closes_at
from reconciler.simulation.what_if.situation import MorePods, Situation
from reconciler.values.instant import instant_text

MOST_TIERS, MOST_NAMESPACES, MOST_WINDOWS = 3, 20, 3
_WEEK_SECONDS = 7 * 24 * 3600


def standard_situations(world: World, policies: Sequence[PolicySet], now_seconds: int) -> tuple[Situation, ...]:
    """Those of the cluster at `now_seconds` (Unix time), in order, each name once. An earlier policy says which tier and zone
    a target is in; a later one those of targets and tiers that only it names."""
    found: dict[str, Situation] = {}
    for one in _all(world, policies, now_seconds):
        found.setdefault(one.name, one)
    return tuple(found.values())


def _all(world: World, policies: Sequence[PolicySet], now_seconds: int) -> Iterator[Situation]:
    largest = _largest(world)
    pending = [row for row in world.pods.pending() if _repeats(world, row)]
    again = tuple(MorePods(row=row) for row in largest)
    if pending:
        more = tuple(MorePods(row=row) for row in pending)
        yield Situation(name="demand-doubled", words="pending demand doubled", at_seconds=now_seconds, more=more)
    if gone := _every_second(world):
        yield Situation(name="half-of-pods-gone", words="half of the pods gone", at_seconds=now_seconds, gone=gone, settles=True)
        yield from _scheduled_budgets(policies, now_seconds, gone)
    if largest:
        words = "the largest pod of each namespace once more"
        yield Situation(name="largest-pods-again", words=words, at_seconds=now_seconds, more=again)
        anywhere = tuple(MorePods(row=row, anywhere=True) for row in largest)
        yield Situation(name="pods-for-any-node", words="pods that fit any node", at_seconds=now_seconds, more=anywhere)
    # Where nothing waits, a shortage shows only with pods that ask for nodes.
    asked, also = (again, ", and the largest pods once more") if not pending else ((), "")
    sides = [(policy, effective_groups(world, policy, now_seconds)) for policy in policies]
    for policy, groups in sides:
        tiers = [tier.name for tier in policy.policy.tiers if any(group.tier == tier.name for group in groups)]
        for tier in tiers[:MOST_TIERS] if len(tiers) > 1 else ():
            closed = frozenset(group.target for group in groups if group.tier == tier)
            yield Situation(
                name=f"{tier}-out-of-stock", words=f"tier {tier} out of stock{also}", at_seconds=now_seconds, more=asked,
                closed=closed,
            )  # fmt: skip
    for _, groups in sides:
        yield from _zone(groups, now_seconds, asked, also)
    yield from _windows((group for _, groups in sides for group in groups), now_seconds)


def _repeats(world: World, row: int) -> bool:
    """Whether one more pod like it can be told: it has no claims of its own and does not come with a node."""
    traits = world.pod_traits[world.pods.traits[row]]
    return not (traits.daemonset or traits.mirror or world.pod_shapes[world.pods.shape[row]].claims)


def _largest(world: World) -> tuple[int, ...]:
    """The running pod of each namespace with the largest part of what all of them request, cpu and memory added."""
    running = [row for row in world.pods.running() if _repeats(world, row)]
    requests = {row: world.pod_shapes[world.pods.shape[row]].requests for row in running}
    cpu = sum(one.cpu_milli for one in requests.values())
    memory = sum(one.memory_bytes for one in requests.values())
    size = {row: one.cpu_milli * memory + one.memory_bytes * cpu for row, one in requests.items()}
    found: dict[str, int] = {}
    for row in sorted(running, key=lambda row: (-size[row], world.pods.key(row))):
        found.setdefault(world.pods.namespace[row], row)
    return tuple(sorted(list(found.values())[:MOST_NAMESPACES]))


def _every_second(world: World) -> tuple[int, ...]:
    """Every second pod of each kind that neither goes with its node nor is finished."""
    seen: dict[tuple[int, int], int] = {}
    gone = []
    for row, kind in enumerate(zip(world.pods.traits, world.pods.shape, strict=True)):
        traits = world.pod_traits[kind[0]]
        if traits.daemonset or traits.mirror or world.pods.finished(row):
            continue
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] % 2 == 0:
            gone.append(row)
    return tuple(gone)


def _zone(groups: Sequence[EffectiveGroup], now_seconds: int, more: tuple[MorePods, ...], also: str) -> Iterator[Situation]:
    """The zone that most replicas may be in, where there are several."""
    replicas: dict[str, int] = {}
    for group in groups:
        for zone in _zones(group):
            replicas[zone] = replicas.get(zone, 0) + ((group.facts.replicas or 0) if group.facts is not None else 0)
    if len(replicas) < 2:
        return
    zone = min(replicas, key=lambda one: (-replicas[one], one))
    yield Situation(
        name=f"zone-{zone}-without-capacity", words=f"zone {zone} without capacity{also}", at_seconds=now_seconds,
        more=more, zone=zone,
        closed=frozenset(group.target for group in groups if _zones(group) == {zone}),
        avoiding=frozenset(group.target for group in groups if zone in _zones(group) and len(_zones(group)) > 1),
    )  # fmt: skip


def _zones(group: EffectiveGroup) -> set[str]:
    if group.in_zones:
        return {zone for zone, _ in group.in_zones}
    if group.facts is not None and group.facts.template.zones:
        return {*group.facts.template.zones}
    zone = group.template.label(ZONE_LABEL) if group.template is not None else None
    return set() if zone is None else {zone}


def _scheduled_budgets(policies: Sequence[PolicySet], now_seconds: int, gone: tuple[int, ...]) -> Iterator[Situation]:
    """Half of the pods gone when the first scheduled budget begins. Of several policies, one that they do not share."""
    budgets = [budget for policy in policies for budget in policy.policy.budgets if budget.schedule]
    turns = []
    for budget in dict.fromkeys(one for one in budgets if len(policies) == 1 or budgets.count(one) < len(policies)):
        window = Window(schedule=budget.schedule, time_zone=budget.time_zone, duration_seconds=budget.duration_seconds)
        at = next_opening(window, now_seconds)
        if at is not None and at - now_seconds <= _WEEK_SECONDS:
            turns.append((at, budget.name or budget.schedule))
    for at, name in sorted(turns)[:1]:
        yield Situation(
            name=f"half-of-pods-gone-budget-{'-'.join(name.split())}", at_seconds=at, gone=gone, settles=True,
            words=f"half of the pods gone when budget {name} begins, at {instant_text(at)}",
        )  # fmt: skip


def _windows(groups: Iterable[EffectiveGroup], now_seconds: int) -> Iterator[Situation]:
    """The next turn of the first windows: one that is closed opens, one that is open closes."""
    turns: set[tuple[int, str, str]] = set()
    for window in dict.fromkeys(window for group in groups for window in group.windows):
        closes = window_closes_at(window, now_seconds)
        at = next_opening(window, now_seconds) if closes is None else closes
        if at is not None and at - now_seconds <= _WEEK_SECONDS:
            turns.add((at, _name(window), "opens" if closes is None else "closes"))
    for at, name, turn in sorted(turns)[:MOST_WINDOWS]:
        yield Situation(
            name=f"window-{'-'.join(name.split())}-{turn}",
            words=f"window {name} {'open' if turn == 'opens' else 'closed'} from {instant_text(at)}",
            at_seconds=at,
            settles=True,
        )


def _name(window: Window) -> str:
    return window.name or window.schedule or f"from {instant_text(window.from_seconds or 0)}"
