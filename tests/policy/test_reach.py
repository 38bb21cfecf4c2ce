"""Which groups a changed default reaches, held against what `decide` makes of both policies."""

import random
import secrets
from collections.abc import Callable, Iterator

import msgspec
import pytest

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.changes.reached_groups import reached_groups
from reconciler.policy.documents import (
    GroupFields,
    Headroom,
    Hold,
    Mode,
    PodWeight,
    PolicySet,
    Size,
    TaintSpec,
    TemplateDevices,
    Tier,
    TierMatch,
    Window,
)
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Field, Kind
from reconciler.policy.group_value import attributes_of
from reconciler.policy.levels import LEVEL_FIELDS
from tests.builders import NOW, ClusterBuilder, node_group, policy

Draw = Callable[[random.Random], object]


def _one_of(*values: object) -> Draw:
    return lambda draw: draw.choice(values)


def _weight(weight: int) -> PodWeight:
    return PodWeight(labels=(("app", "db"),), weight=weight)


def _window(most: int) -> Window:
    return Window(name=f"to-{most}", schedule="* * * * *", duration_seconds=3600, size=Size(max=most))


OF_A_KIND = {
    Kind.INTEGER: _one_of(1, 2, 3),
    Kind.DURATION: _one_of(60, 120, 180), Kind.PERCENT: _one_of(10, 20, 30), Kind.MONEY: _one_of("0.10", "0.20", "0.30"),
}  # fmt: skip
_TAINT = [
    TaintSpec(key="a", effect="NoSchedule"),
    TaintSpec(key="b", effect="NoSchedule"),
    TaintSpec(key="c", effect="NoExecute"),
]
OF_A_FIELD: dict[str, Draw] = {
    "size.min": _one_of(1, 2),
    "size.max": _one_of(5, 6, 7),
    "balanceWith": _one_of("x", "y", "Off"),
    "template.capacity": _one_of((("cpu", 8000), ("memory", 32 << 30)), (("cpu", 16000), ("memory", 32 << 30))),
    "template.reserved": _one_of((("cpu", 500),), (("memory", 1 << 30),), (("cpu", 500), ("memory", 1 << 30))),
    # Without amd64, which nodes have if nobody says anything.
    "template.architecture": _one_of("arm64", "s390x"),
    "template.labels": _one_of((("disk", "ssd"),), (("disk", "hdd"), ("rack", "1")), (("rack", "2"),)),
    "template.taints": _one_of((_TAINT[0],), (_TAINT[1], _TAINT[2])),
    "template.devices": _one_of((TemplateDevices(name="gpu", driver="a"),), (TemplateDevices(name="gpu", driver="b"),)),
    "template.zones": _one_of(("a", "b"), ("b", "c"), ("c",)),
    "template.storage": _one_of((("lvm", "100Gi"),), (("lvm", "200Gi"), ("ssd", "1Ti")), (("ssd", "2Ti"),)),
    "template.startupTaints": _one_of((_TAINT[0],), (_TAINT[1],), (_TAINT[0], _TAINT[2])),
    "scaleDown.consolidation.podWeights": _one_of((_weight(1),), (_weight(2),), (_weight(2), _weight(3))),
    "headroom": _one_of(Headroom(nodes=1), Headroom(nodes=2), Headroom(nodes_per_zone=1)),
    # Always open: what is closed has no effect now, but it will have.
    "windows": _one_of((_window(3),), (_window(4),), (_window(3), _window(4))),
    "hold": _one_of(
        Hold(reason="a"), Hold(reason="b"), Hold(reason="c", until_seconds=NOW), Hold(reason="d", until_seconds=NOW + 60)
    ),
}  # fmt: skip
"""By path: what a field has whose kind does not say it."""
NAMES = ("near", "named", "matched", "alone")


def _drawn(fields: tuple[Field, ...], above: str = "") -> Iterator[tuple[str, Draw]]:
    """Path and values of each field of a level that is merged as a whole, in the order of the keys."""
    for field in fields:
        path = f"{above}{field.yaml_key}"
        if path in OF_A_FIELD:
            yield path, OF_A_FIELD[path]
        elif field.children:
            yield from _drawn(field.children, f"{path}.")
        else:
            yield path, _one_of(*field.enum) if field.enum else OF_A_KIND[field.kind]


VALUES = dict(_drawn(GROUP_FIELDS))


def _with(level: msgspec.Struct, attributes: tuple[str, ...], value: object) -> msgspec.Struct:
    head, *rest = attributes
    return msgspec.structs.replace(level, **{head: _with(getattr(level, head), tuple(rest), value) if rest else value})


def _level(draw: random.Random, said: float) -> dict[str, object]:
    return {path: value(draw) for path, value in VALUES.items() if draw.random() < said}


def _policy(levels: dict[str, dict[str, object]], mode: Mode) -> PolicySet:
    def fields(name: str) -> GroupFields:
        level: msgspec.Struct = GroupFields()
        for path, value in levels[name].items():
            level = _with(level, attributes_of(path), value)
        assert isinstance(level, GroupFields)
        return level

    def group(name: str, **more: str) -> object:
        own = fields(name)
        return node_group(name, **{one.name: getattr(own, one.name) for one in msgspec.structs.fields(GroupFields)}, **more)

    groups = (group("near", tier="tier"), group("named", tier="tier"), group("matched"), group("alone"))
    tiers = (Tier(name="tier", match=TierMatch(names=("^matched",)), defaults=fields("tier")),)
    return policy(*groups, mode=mode, tiers=tiers, defaults=fields("defaults"))  # type: ignore[arg-type]


def _effects(world: object, rules: PolicySet) -> dict[str, dict[str, object]]:
    view = View.of(world, rules, Memory(), NOW, Work(10**9))  # type: ignore[arg-type]

    def effect(group: EffectiveGroup) -> dict[str, object]:
        fields = {one.name: getattr(group, one.name) for one in msgspec.structs.fields(EffectiveGroup)}
        # An open window hides the bounds that it narrows.
        bounds = {f"{side}_size": group.chains[f"size.{side}"][0].value for side in ("min", "max")}
        # The words of a hold say where it stands as well.
        return {**fields, **bounds, "hold": group.hold.partition(" (")[0], "chains": None}

    return {group.name: effect(group) for group in view.groups}


@pytest.mark.parametrize("run", range(12))
def test_a_changed_default_reaches_the_groups_that_decide_differently(run: int) -> None:
    """Random values at random levels; then each field in turn changes in the tier's or the policy's defaults. The groups that
    are named are those whose effective values differ, no more and no fewer."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    cluster = ClusterBuilder()
    for name in NAMES:
        cluster.group(name, nodes=0)
    world = cluster.world()
    levels = {name: _level(draw, draw.choice((0.0, 0.2, 0.6))) for name in (*NAMES, "tier", "defaults")}
    for name in ("near", "named", "matched", "alone"):
        levels[name].setdefault("template.capacity", VALUES["template.capacity"](draw))
    for path, value in VALUES.items():
        where, mode = draw.choice(("tier", "defaults")), draw.choice(tuple(Mode))
        changed = {name: dict(level) for name, level in levels.items()}
        if draw.random() < 0.3:
            changed[where].pop(path, None)
        else:
            changed[where][path] = value(draw)
        before, after = _policy(levels, mode), _policy(changed, mode)
        reached = reached_groups(before, after, "tier" if where == "tier" else None, path, NOW)
        old, new = _effects(world, before), _effects(world, after)
        assert reached == tuple(sorted(name for name in NAMES if old[name] != new[name])), (seed, path, where, levels, changed)


def test_fields_that_are_merged_are_known_by_their_path() -> None:
    assert set(LEVEL_FIELDS) <= VALUES.keys()
