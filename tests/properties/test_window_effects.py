"""Windows: their order decides nothing, and a preview names every change of an effective value within the next year."""

from random import Random

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.policy.changes.comparison import compare_policies
from reconciler.policy.documents import (
    Consolidation,
    Counting,
    GroupFields,
    PolicySet,
    ScaleDown,
    Size,
    Tier,
    TierMatch,
    Toggle,
    Window,
    WithoutMachines,
)
from reconciler.policy.windows import next_opening, window_closes_at
from tests.builders import NOW, ClusterBuilder, node_group, policy

SCHEDULES = ("0 3 * * *", "30 2 * * *", "0 7 * * mon-fri", "0 0 1 * *", "15 4 29 2,3 *", "0 0 24 12 *", "0 */6 * * sat")
ZONES = ("Etc/UTC", "Europe/Berlin", "America/New_York")
NAMES = ("a", "b", "c")
YEAR = 366 * 86_400


def random_window(random: Random) -> Window:
    """A recurring window, one between two dates, or both."""
    dates = random.random() < 0.3
    begins = NOW + random.randrange(0, YEAR) if dates else None
    recurs = not dates or random.random() < 0.5
    scale_down = ScaleDown(
        mode=random.choice((None, *Toggle)),
        utilization_threshold_percent=random.choice((None, 20, 50, 100)),
        unneeded_time_seconds=random.choice((None, 0, 60, 3600)),
        daemon_set_utilization=random.choice((None, *Counting)),
        without_machines=random.choice((None, *WithoutMachines)),
        consolidation=Consolidation(
            mode=random.choice((None, *Toggle)), min_saving_per_moved_pod=random.choice((None, "0.5", "0.10", "1"))
        ),
    )
    return Window(
        name=random.choice(("", "one", "two", "three")),
        schedule=random.choice(SCHEDULES) if recurs else "",
        time_zone=random.choice(ZONES) if recurs else "Etc/UTC",
        duration_seconds=random.choice((1800, 3600, 43_200, 90_000)) if recurs else None,
        from_seconds=begins,
        until_seconds=None if begins is None else begins + random.choice((3600, 86_400 * 30)),
        size=random.choice((Size(), Size(min=2), Size(max=6))),
        scale_down=scale_down,
    )


def random_policy(random: Random) -> PolicySet:
    """Three groups, each with windows of its own, of its tier or of the policy."""

    def some() -> tuple[Window, ...]:
        return tuple(random_window(random) for _ in range(random.randrange(4)))

    tier = Tier(name="t", match=TierMatch(names=("^b$",)), defaults=GroupFields(windows=some()))
    groups = (node_group(name, min=1, max=9, windows=some()) for name in NAMES)
    return policy(*groups, tiers=(tier,), defaults=GroupFields(windows=some()))


def changed(random: Random, windows: tuple[Window, ...]) -> tuple[Window, ...]:
    """Other windows: reordered, renamed, fewer, more, or with another value."""
    listed = [*windows]
    what = random.randrange(5)
    if what == 0 or not listed:
        listed.insert(random.randrange(len(listed) + 1), random_window(random))
    elif what == 1:
        listed.pop(random.randrange(len(listed)))
    elif what == 2:
        random.shuffle(listed)
    else:
        at, other = random.randrange(len(listed)), random_window(random)
        names = ("name",) if what == 3 else random.sample(("time_zone", "duration_seconds", "size", "scale_down"), 2)
        keep = {name: getattr(other, name) or getattr(listed[at], name) for name in names}
        listed[at] = msgspec.structs.replace(listed[at], **keep)
    return tuple(listed)


def another(random: Random, rules: PolicySet) -> PolicySet:
    """The policy with other windows at one level."""
    where = random.randrange(3)
    spec = rules.policy
    if where == 0:
        defaults = GroupFields(windows=changed(random, spec.defaults.windows))
        return msgspec.structs.replace(rules, policy=msgspec.structs.replace(spec, defaults=defaults))
    if where == 1:
        (tier,) = spec.tiers
        tier = msgspec.structs.replace(tier, defaults=GroupFields(windows=changed(random, tier.defaults.windows)))
        return msgspec.structs.replace(rules, policy=msgspec.structs.replace(spec, tiers=(tier,)))
    groups = list(rules.groups)
    groups[0] = msgspec.structs.replace(groups[0], windows=changed(random, groups[0].windows))
    return msgspec.structs.replace(rules, groups=tuple(groups))


def reordered(random: Random, rules: PolicySet) -> PolicySet:
    """The policy with all its windows in another order."""

    def shuffled(windows: tuple[Window, ...]) -> tuple[Window, ...]:
        return tuple(random.sample(windows, len(windows)))

    (tier,) = rules.policy.tiers
    tier = msgspec.structs.replace(tier, defaults=GroupFields(windows=shuffled(tier.defaults.windows)))
    defaults = GroupFields(windows=shuffled(rules.policy.defaults.windows))
    groups = tuple(msgspec.structs.replace(group, windows=shuffled(group.windows)) for group in rules.groups)
    return msgspec.structs.replace(
        rules, policy=msgspec.structs.replace(rules.policy, tiers=(tier,), defaults=defaults), groups=groups
    )


def instants(*policies: PolicySet) -> list[int]:
    """Instants of the next year at which a window of them opens or has just closed: each window's first four."""
    found = {NOW}
    for rules in policies:
        levels = (rules.policy.defaults, *(tier.defaults for tier in rules.policy.tiers), *rules.groups)
        for window in {window for level in levels for window in level.windows}:
            at = NOW
            for _ in range(4):
                closes = window_closes_at(window, at)
                found |= {at} if closes is None else {at, closes}
                opens = next_opening(window, at)
                if opens is None or opens > NOW + YEAR:
                    break
                at = opens
    return sorted(found)


@pytest.fixture(scope="module")
def world() -> World:
    """The three targets."""
    cluster = ClusterBuilder()
    for name in NAMES:
        cluster.target(name, 1)
    return cluster.world()


def values(world: World, rules: PolicySet, at: int) -> dict[str, object]:
    """What counts for each group at an instant."""
    return {group.name: (group.min_size, group.max_size, group.scale_down) for group in effective_groups(world, rules, at)}


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_windows_decides_nothing(world: World, seed: int) -> None:
    """At no instant, at no level, for no value."""
    random = Random(seed)
    rules = random_policy(random)
    other = reordered(random, rules)
    for at in instants(rules):
        assert values(world, rules, at) == values(world, other, at)


@pytest.mark.parametrize("seed", range(25))
def test_every_effect_of_another_window_is_named(world: World, seed: int) -> None:
    """If a value of a group differs at any instant, the comparison names this group or a default that reaches it."""
    random = Random(seed)
    rules = random_policy(random)
    other = another(random, rules)
    told = {name for change in compare_policies(rules, other, NOW) for name in (change.name, *change.reaches)}
    for at in instants(rules, other):
        before, after = values(world, rules, at), values(world, other, at)
        assert {name for name in NAMES if before[name] != after[name]} <= told
