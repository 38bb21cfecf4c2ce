"""Previews of random policy changes on random small clusters, and what counts on their first screen."""

import random
import re

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import (
    BlockRule,
    Budget,
    DrainRules,
    GroupFields,
    Hold,
    Limit,
    Mode,
    NodeGroup,
    PolicySet,
    ScaleDown,
    Tier,
    Toggle,
)
from tests.builders import NOW, ClusterBuilder, node_group, policy

MOST_COLUMNS = 100
MOST_WORDS = 60
_NAMES = ("general", "spot", "batch-with-a-name-that-is-rather-long-for-a-group-of-nodes", "gpu")


def random_preview(seed: int) -> Preview:
    """The preview of `random_sides`."""
    world, before, after = random_sides(seed)
    side = PreviewSide(source="policies")
    return compare(world, NOW, (side, before), (side, after), DEFAULT_WORK_BUDGET)


def random_sides(seed: int) -> tuple[World, PolicySet, PolicySet]:
    """A cluster, and two policies of which the second differs in one to four values."""
    draw = random.Random(seed)
    names = draw.sample(_NAMES, draw.randint(2, 4))
    world = _world(draw, names)
    before = _policy(draw, names)
    after = before
    for _ in range(draw.randint(1, 4)):
        after = _changed(draw, after, names)
    return world, before, after


def _world(draw: random.Random, names: list[str]) -> World:
    cluster = ClusterBuilder()
    for name in names:
        nodes = cluster.group(name, nodes=draw.randint(1, 4), cpu="4")
        for node in nodes:
            if draw.random() < 0.7:
                cluster.pods(f"{name}-web", draw.randint(1, 3), cpu=draw.choice(("100m", "500m", "1")), on=node)
    for number in range(draw.randint(0, 3)):
        cluster.pods(f"waiting-{number}", draw.randint(1, 12), cpu=draw.choice(("1", "3", "3", "8")))
    return cluster.world()


def _policy(draw: random.Random, names: list[str]) -> PolicySet:
    groups = [_group(draw, name) for name in names[: draw.randint(1, len(names))]]
    return policy(*groups, **_own(draw))


def _own(draw: random.Random) -> dict[str, object]:
    return {
        "mode": draw.choice((*Mode, Mode.ENFORCE)),
        "adopt_from": draw.choice(((), ("kubectl",))),
        "tiers": (Tier(name="on-demand"), Tier(name="spot")),
        "limits": draw.choice(((), (Limit(name="cluster", max=(("nodes", draw.randint(4, 20)),)),))),
        "budgets": draw.choice(((), (Budget(nodes=draw.randint(0, 3)),), (Budget(percent=100),))),
        "drain": DrainRules(local_storage=draw.choice((*BlockRule,)), unreplicated=draw.choice((*BlockRule,))),
        "defaults": GroupFields(scale_down=_scale_down(draw)),
    }


def _scale_down(draw: random.Random) -> ScaleDown:
    return ScaleDown(
        mode=draw.choice((None, *Toggle)), utilization_threshold_percent=draw.choice((None, 10, 50, 95)),
        unneeded_time_seconds=draw.choice((None, 0, 600)),
    )  # fmt: skip


def _group(draw: random.Random, name: str) -> NodeGroup:
    low = draw.randint(0, 2)
    return node_group(
        name, min=low, max=low + draw.randint(1, 6), tier=draw.choice(("on-demand", "spot")),
        price_per_hour=draw.choice((None, "0.192", "1.5")), scale_down=draw.choice((ScaleDown(), _scale_down(draw))),
        hold=draw.choice((None, None, None, Hold(reason="is being repaired"))), mode=draw.choice((None, None, *Mode)),
    )  # fmt: skip


def _changed(draw: random.Random, rules: PolicySet, names: list[str]) -> PolicySet:
    kept = {group.name: group for group in rules.groups}
    name = draw.choice(names)
    if name in kept and len(kept) > 1 and draw.random() < 0.2:
        del kept[name]
    elif draw.random() < 0.6:
        kept[name] = _group(draw, name)
    document = rules.policy
    own = {key: getattr(document, key) for key in ("mode", "adopt_from", "tiers", "limits", "budgets", "drain", "defaults")}
    if draw.random() < 0.6:
        key = draw.choice(sorted(own))
        own[key] = _own(draw)[key]
    return policy(*kept.values(), **own)


# What a reviewer sees.


def prose_lines(markdown: str) -> list[str]:
    """Lines outside of code blocks."""
    found, fence = [], ""
    for line in markdown.splitlines():
        mark = re.match("`{3,}", line)
        if mark and not fence:
            fence = mark[0]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            found.append(line)
    return found


def first_words(text: str, number: int = MOST_WORDS) -> str:
    """The words that a reader has read by then; marks of headings, tables and quotes are no words."""
    return " ".join([word for word in text.split() if re.search(r"\w", word)][:number])
