"""Every field of a group, random values at random levels: `validate`, `explain value`, the preview's reach and `decide` agree.

The expected value comes from the documented rule alone: nearest level, union, keys merged, stricter mode. The fields come
from the field table, so that one which is added later is drawn without a line here.
"""

import json
import random
import secrets
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import pytest

from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.policy.changes.reached_groups import reached_groups
from reconciler.policy.checks.levels import effective, levels_of
from reconciler.policy.documents import NodeGroupPolicy, PolicySet
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import Field, Kind
from reconciler.policy.group_value import attributes_of, group_value
from reconciler.policy.levels import LEVEL_FIELDS
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import Draft
from reconciler.policy.reading.yaml_text import compose_documents, read_source
from reconciler.policy.tree import read_node_group, read_node_group_policy, read_tree
from reconciler.rendering.documents.explanation.groups import effective_value
from tests.builders import NOW, ClusterBuilder

Level = dict[str, object]
"""Path below `spec` of a NodeGroup -> the value as YAML writes it."""
GROUPS = {"near": "tier", "tiered": "tier", "alone": None}
_MINUTES = ("2m", "3m", "5m", "7m")


def fields() -> dict[str, Field]:
    """The rows that hold one value or count as a whole, by path."""
    found: dict[str, Field] = {}
    rows = [(row.yaml_key, row) for row in GROUP_FIELDS]
    while rows:
        path, row = rows.pop()
        if row.children and path not in LEVEL_FIELDS:
            rows += [(f"{path}.{child.yaml_key}", child) for child in row.children]
        else:
            found[path] = row
    return found


def drawn(path: str, row: Field, draw: random.Random, mode: str) -> object:
    """A value of the field's kind. Bounds keep away from each other, so that a drawn policy is a good one."""
    samples: Mapping[Kind, tuple[object, ...]] = {
        Kind.PERCENT: (10, 20, 30),
        Kind.INTEGER: {"size.min": (0, 1, 2), "size.max": (6, 7, 8)}.get(path, (1, 2, 3)),
        Kind.DURATION: ("90m", "100m", "2h") if path.endswith((".max", ".reset")) else _MINUTES,
        Kind.ENUM: row.enum,
        Kind.MONEY: ("0.1", "0.2", "0.3"),
        Kind.NAME: ("x", "y"),
        Kind.STRING: ("x", "y"),
        Kind.RESOURCE_MAP: ({"cpu": "100m"}, {"cpu": "200m", "memory": "1Gi"}, {"memory": "2Gi"}),
        Kind.LABEL_MAP: ({"disk": "ssd"}, {"disk": "hdd", "rack": "1"}, {"rack": "2"}),
        Kind.TAINT_LIST: ([{"key": "a", "effect": "NoSchedule"}], [{"key": "b", "effect": "NoExecute"}]),
        Kind.LIST: ([{"schedule": "0 7 * * *", "duration": "1h", "size": {"max": 5}}],),
        Kind.OBJECT: ({"reason": "a"}, {"reason": "b"}) if path == "hold" else ({"nodes": 1}, {"nodes": 2}),
    }
    if path == "template.capacity":
        return draw.choice(({"cpu": "8", "memory": "32Gi"}, {"cpu": "16", "memory": "64Gi"}))
    if path == "template.devices":
        parts = [{"name": "1g", "count": 7, "consumesCounters": {"slices": 1}}]
        divided = {"name": "gpu", "driver": "a", "counters": {"slices": 7}, "partitions": parts}
        return draw.choice(([], [{"name": "gpu", "driver": "a"}], [{"name": "gpu", "driver": "b", "count": 2}], [divided]))
    if path == "template.zones":
        return draw.choice((["a", "b"], ["b", "c"], ["c"]))
    if path == "template.storage":
        return draw.choice(({"lvm": "100Gi"}, {"lvm": "200Gi", "ssd": "1Ti"}, {"ssd": "2Ti"}))
    if path == "scaleDown.consolidation.podWeights":
        return draw.choice(([{"labels": {"app": "db"}, "weight": 5}], [{"labels": {"app": "web"}, "weight": 0}]))
    if path == "template.architecture":
        return draw.choice(("arm64", "amd64"))
    if path == "mode" and mode == "Observe":
        return mode  # a level may only be stricter
    return draw.choice(samples[row.kind])


def nested(level: Level) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, value in level.items():
        *heads, last = path.split(".")
        part = found
        for head in heads:
            part = part.setdefault(head, {})
        part[last] = value
    return found


class Written:
    """The text of a policy, and on which line each level says each field."""

    def __init__(self, levels: Mapping[str, Level], mode: str) -> None:
        self.lines: list[str] = []
        self.at: dict[tuple[str, str], int] = {}
        self._text(
            "apiVersion: reconciler.dev/v1alpha1", "kind: NodeGroupPolicy", "metadata: {name: prod}", "spec:", f"  mode: {mode}",
            "  defaults:", *(("    {}",) if not levels["defaults"] else ()),
        )  # fmt: skip
        self._level("defaults", nested(levels["defaults"]), 4, "")
        self._text("  tiers:", "    - name: tier", "      defaults:", *(("        {}",) if not levels["tier"] else ()))
        self._level("tier", nested(levels["tier"]), 8, "")
        for name, tier in GROUPS.items():
            self._text(
                "---", "apiVersion: reconciler.dev/v1alpha1", "kind: NodeGroup", f"metadata: {{name: {name}}}", "spec:",
                "  policyRef: {name: prod}",
                f"  target: {{clusterAPI: {{kind: MachineDeployment, namespace: default, name: {name}}}}}",
                *((f"  tier: {tier}",) if tier else ()),
            )  # fmt: skip
            self._level(name, nested(levels[name]), 2, "")
        self.text = "\n".join(self.lines) + "\n"

    def _text(self, *lines: str) -> None:
        self.lines += lines

    def _level(self, name: str, part: dict[str, Any], indent: int, above: str) -> None:
        known = fields()
        for key, value in part.items():
            path = f"{above}{key}"
            if path in known:
                self.lines.append(f"{' ' * indent}{key}: {json.dumps(value)}")
                self.at[name, path] = len(self.lines)
            else:
                self.lines.append(f"{' ' * indent}{key}:")
                self._level(name, value, indent + 2, f"{path}.")

    def policy(self) -> PolicySet:
        tree = read_tree({"p.yaml": self.text.encode()}, now_seconds=NOW)
        assert tree.sets, [problem.message for problem in tree.problems]
        return tree.sets[0]

    def drafts(self) -> tuple[Draft[NodeGroupPolicy], dict[str, Draft[Any]]]:
        findings = Findings()
        source = read_source("p.yaml", self.text.encode(), findings)
        assert source is not None
        first, *rest = compose_documents(*source, findings)
        groups = (read_node_group(node, source[0], findings) for node in rest)
        return read_node_group_policy(first, source[0], findings), {one.document.name: one for one in groups}


def names_of(group: str) -> tuple[str, ...]:
    """The levels of a group, the nearest first."""
    return (group, "tier", "defaults") if GROUPS[group] else (group, "defaults")


def expected(levels: Mapping[str, Level], mode: str, group: str, path: str) -> object:
    """The effective value by the documented rule; None where nobody says anything."""
    said = [levels[name][path] for name in names_of(group) if path in levels[name]]
    if path == "mode":
        return "Observe" if "Observe" in (mode, *said[:1]) else "Enforce"
    if path == "template.startupTaints":
        return sorted({json.dumps(taint) for taints in said for taint in taints})  # type: ignore[attr-defined]
    if path == "template.labels":
        merged: dict[str, str] = {}
        for name in names_of(group):
            arch = levels[name].get("template.architecture")
            own = dict(levels[name].get("template.labels", {}))  # type: ignore[call-overload]
            merged = {**({"arch": arch} if arch else {}), **own, **merged}
        return merged
    return said[0] if said else None


def draw_levels(draw: random.Random, mode: str) -> dict[str, Level]:
    rows = fields()
    return {
        name: {path: drawn(path, row, draw, mode) for path, row in sorted(rows.items()) if draw.random() < share}
        for name in (*GROUPS, "tier", "defaults")
        for share in (draw.choice((0.1, 0.4, 0.8)),)
    }


def decided(written: Written) -> dict[str, EffectiveGroup]:
    cluster = ClusterBuilder()
    for name in GROUPS:
        cluster.group(name, nodes=0)
    return {group.name: group for group in effective_groups(cluster.world(), written.policy(), NOW)}


def test_every_row_is_drawn() -> None:
    """All leaves of the table: no field is left out because nobody thought of it."""
    draw = random.Random(1)
    assert len(fields()) > 25
    assert all(drawn(path, row, draw, "Enforce") is not None for path, row in fields().items())


def scalars() -> Iterator[str]:
    return (path for path in fields() if path not in LEVEL_FIELDS)


@pytest.mark.parametrize("run", range(10))
def test_all_agree_on_value_and_origin(run: int) -> None:
    """For every group and field: what is decided, what `explain value` says, and what the checks of `validate` see."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    mode = draw.choice(("Observe", "Enforce"))
    levels = draw_levels(draw, mode)
    written = Written(levels, mode)
    policy, drafts = written.drafts()
    for name, group in decided(written).items():
        for path in fields():
            story = (seed, name, path)
            nearest = next((level for level in names_of(name) if path in levels[level]), None)
            shown = effective_value(group, path)
            if nearest is not None and (path != "mode" or nearest):
                line = written.at[nearest, path]
                if path not in ("template.labels", "template.capacity"):
                    assert shown.chain[0].source.startswith(f"p.yaml:{line}:"), (story, shown)
            elif path not in LEVEL_FIELDS and path != "mode":
                assert shown.chain[0].source == "built-in", (story, shown)
            if path in LEVEL_FIELDS or path in ("mode", "balanceWith", "pricePerHour"):
                continue
            value = group_value(path)
            told = effective(levels_of(drafts[name], policy), policy.document, value.read)
            assert (told is None) is (nearest is None), story
            if told is not None and nearest is not None:
                assert told.level.place(path).line == written.at[nearest, path], story
                assert shown.value == value.text(told.value), story
            if path.startswith("size."):
                continue
            kept = attrgetter(".".join(attributes_of(path)))(group)
            # Where no level says it, the policy's own counts, which is not written here.
            otherwise = 3600 if path == "humanHoldTime" else value.built_in
            assert kept == (otherwise if told is None else told.value), story
            assert value.text(kept) == shown.value, story
        assert group.mode == expected(levels, mode, name, "mode"), (seed, name)
        # What the documents write as text is what is effective.
        for path in scalars():
            want = expected(levels, mode, name, path)
            if want is not None and path != "mode":
                assert effective_value(group, path).value.removesuffix("%") in (str(want), _plain(want)), (seed, name, path)


def _plain(value: object) -> str:
    """`90m` as it is shown: `1h30m`."""
    minutes = int(str(value).removesuffix("m")) if str(value).endswith("m") and str(value)[:-1].isdigit() else 0
    hours, rest = divmod(minutes, 60)
    return (f"{hours}h" if hours else "") + (f"{rest}m" if rest else "")


@pytest.mark.parametrize("run", range(6))
def test_the_preview_reaches_those_whose_value_changes(run: int) -> None:
    """Each field in turn is taken out of the tier's or the policy's defaults, or changed there."""
    seed = secrets.randbits(32)
    draw = random.Random(seed)
    mode = draw.choice(("Observe", "Enforce"))
    levels = draw_levels(draw, mode)
    before = Written(levels, mode).policy()
    for path, row in fields().items():
        where = draw.choice(("tier", "defaults"))
        changed = {name: dict(level) for name, level in levels.items()}
        if path in changed[where] and draw.random() < 0.5:
            del changed[where][path]
        else:
            changed[where][path] = drawn(path, row, draw, mode)
        after = Written(changed, mode).policy()
        reached = set(reached_groups(before, after, "tier" if where == "tier" else None, path, NOW))
        for name in GROUPS:
            old, new = (expected(side, mode, name, path) for side in (levels, changed))
            default = fields()[path].default
            if path == "template.architecture":
                continue
            same = old == new or {None if old is None else str(old), None if new is None else str(new)} == {None, str(default)}
            assert (name in reached) is not same, (seed, path, where, name, old, new)
