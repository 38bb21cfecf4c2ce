"""Every field, at every level, in both directions, removed and added: what lets more happen is told, and nothing else is.

What is looser follows from the direction that each key states. What a group gets is worked out here: its own value, else its
tier's, else the policy's default, else the built-in one.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest

from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import PreviewSide
from reconciler.policy.changes.loosening import Loosened, loosened
from reconciler.policy.documents import PolicySet
from reconciler.policy.field import Field, Kind, Loosens, words_from_tightest
from reconciler.policy.fields import document_kind
from reconciler.policy.tree import read_tree
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.values.duration import parse_duration
from tests.builders import ClusterBuilder
from tests.policy.texts import NOW

NOTHING = None
NEVER, HUGE, NONE_AT_ALL = 10**9, 10**30, -1

# Neither of two values is known to be the tighter one: told whichever way it goes.
EITHER_WAY = (
    "targetAnnotations", "nodes.", "windows[].schedule", "windows[].timeZone", "windows[].duration", "windows[].from",
    "windows[].until", "windows[].size.", "windows[].scaleDown.",
    "scaleDown.consolidation.podWeights[].labels",
    "limits[].groups.", "limits[].nodes.", "discovery[].tier", "discovery[].clusterAPI.", "discovery[].openshift.",
    "discovery[].crusoe.", "discovery[].aws.", "groupNamespaces[].targets.", "pods.schedulerNames", "pods.gangLabels",
    "scheduler.",
    "health.repair[].condition", "health.repair[].status",
    "budgets[].reasons", "budgets[].schedule", "budgets[].timeZone", "budgets[].duration", "budgets[].groups.",
    "budgets[].nodeSelector.", "target.",
)  # fmt: skip
# Judged by what groups get, in tests of their own: what a hold says, and which tier a group is in.
ELSEWHERE = ("hold.until", "tiers[].name", "tiers[].match.", "policyRef.name", "groupNamespaces[].name", "clusters.",
             "basePolicyRef.name")  # fmt: skip

SELECTOR = [{"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "c"}}]
VALUES: dict[str, list[Any]] = {
    "size.min": [0, 1, 3], "size.max": [4, 9], "headroom.nodes": [1, 4], "headroom.nodesPerZone": [1, 4],
    "headroom.pods[].count": [1, 4], "headroom.pods[].requests": [{"cpu": 1}, {"cpu": 4}, {"cpu": 1, "memory": "1Gi"}],
    "pods.expendableBelowPriority": [-100, 0], "health.okUnreadyCount": [0, 9], "drain.systemPodTimeout": ["1m", "1h", "Never"],
    "drain.maxPodAge": ["1m", "1h", "Never"],
    "scaleUp.backoff.initial": ["1m", "10m"], "scaleUp.backoff.max": ["10m", "1h"], "scaleUp.backoff.reset": ["1h", "4h"],
    "budgets[].nodes": [1, 7], "pace.requireApprovalAbove": [0, 5], "humanHoldTime": ["1s", "4h"],
    "limits[].max": [{"memory": "800Gi"}, {"memory": "80000Gi"}, {"memory": "800Gi", "nodes": 300}, {"nodes": 400}],
    "limits[].min": [{"cpu": 1}, {"cpu": 16}, {"cpu": 1, "nodes": 2}],
    "adoptFrom": [["a"], ["a", "b"], ["b"], ["a, b"]], "drain.blockedNamespaces": [["a"], ["a", "b"], ["b"]],
    "nodes.matchLabels": [{"a": "b"}, {"a": "c"}], "tier": ["spot", "other"], "discovery[].tier": ["spot", "other"],
    "windows[].schedule": ["0 7 * * *", "0 9 * * *"], "budgets[].schedule": ["0 7 * * *", "0 9 * * *"],
    "windows[].from": ["2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"],
    "windows[].until": ["2027-11-20T00:00:00Z", "2027-11-22T00:00:00Z"],
    "windows[].duration": ["1m", "4h"], "budgets[].duration": ["1m", "4h"],
    "windows[].size.min": [1, 2], "windows[].size.max": [3, 2], "budgets[].reasons": [["Empty"], ["Empty", "Unready"]],
    "pricePerHour": ["0.5", "0.7"], "template.capacity": [{"cpu": 4, "memory": "8Gi"}, {"cpu": 8, "memory": "8Gi"}],
    "template.reserved": [{"cpu": "100m"}, {"cpu": "200m"}], "balanceWith": ["x", "Auto"],
    "expanders": [["LeastNodes"], ["MostPods", "LeastNodes"]], "balancing.presets": [["AWS"]],
    "pods.schedulerNames": [["a"], ["default-scheduler", "a"]], "template.architecture": ["amd64", "arm64"],
    "groupNamespaces[].targets.namespaces": [["prod"], ["prod", "x"]], "discovery[].aws.region": ["eu-central-1", "us-east-1"],
    "discovery[].aws.roleARN": [f"arn:aws:iam::12345678901{digit}:role/reconciler" for digit in (2, 3)],
    "groupNamespaces[].targets.names": [["spot-.*"], ["spot-.*", "x"]],
    "target.clusterAPI.kind": ["MachineDeployment", "MachineSet"],
    "template.devices[].attributes[].version": ["1.0.0", "2.0.0"],
    "template.devices[].partitions[].attributes[].version": ["1.0.0", "2.0.0"],
    "template.devices[].counters": [{"memory": "4Gi", "slices": 7}, {"memory": "8Gi"}],
    "scheduler.defaultConstraints[].topologyKey": ["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
}  # fmt: skip
OF_A_KIND: dict[Kind, list[Any]] = {
    Kind.MONEY: ["0", "1", "2"], Kind.PERCENT: [2, 60, 100], Kind.INTEGER: [1, 7], Kind.DURATION: ["1m", "15m", "1h"],
    Kind.TIME_ZONE: ["Europe/Berlin", "Asia/Tokyo"],
    Kind.LABEL_MAP: [{"a": "b"}, {"a": "c"}], Kind.STRING_MAP: [{"a": "b"}, {"a": "c"}], Kind.STRING: ["EUR", "CHF"],
    Kind.QUANTITY_MAP: [{"memory": "1Gi"}, {"memory": "2Gi"}],
    Kind.NAME: ["n1", "n2"], Kind.OBJECT_NAME: ["n1", "n2"], Kind.LABEL_KEY: ["k1", "k2"],
    Kind.KEY_OR_PREFIX: ["k1", "k*"], Kind.LIST: [["x"], ["x", "y"]],
}  # fmt: skip

CAPI = {"kind": "MachineDeployment", "namespace": "prod", "name": "spot-a"}
ITEMS: dict[str, dict[str, Any]] = {
    "tiers": {"name": "spot", "match": {"names": ["^s"]}},
    "limits": {"name": "x", "max": {"cpu": 500}},
    "health.repair": {"condition": "Ready", "status": "False", "toleration": "10m"},
    "budgets": {"name": "x", "nodes": 3, "schedule": "0 7 * * *", "duration": "10m"},
    "windows": {"name": "x", "schedule": "0 7 * * *", "duration": "10m", "size": {"max": 3}},
    "discovery": {"name": "x", "clusterAPI": {"namespaces": ["a"]}},
    "groupNamespaces": {"name": "prod", "targets": {"namespaces": ["prod"]}},
    "headroom.pods": {"name": "x", "count": 2, "requests": {"cpu": 2}},
    "podWeights": {"labels": {"app": "db"}, "weight": 2},
    "template.taints": {"key": "k", "effect": "NoSchedule"},
    "template.devices[].attributes": {"name": "model", "string": "h100"},
    "template.devices[].partitions[].attributes": {"name": "model", "string": "h100"},
    "template.devices[].partitions": {"name": "1g", "consumesCounters": {"memory": "1Gi"}},
    "template.devices": {"name": "gpu", "driver": "gpu.example.com", "counters": {"memory": "8Gi"}},
    "template.startupTaints": {"key": "k", "effect": "NoSchedule"},
    "scheduler.defaultConstraints": {"maxSkew": 2, "topologyKey": "example.com/rack", "whenUnsatisfiable": "DoNotSchedule"},
    "scheduler.featureGates": {"name": "VolumeLimitScaling", "state": "Disabled"},
    "matchExpressions": {"key": "k", "operator": "In", "values": ["v"]},
}
ONE_OF = ("string", "int", "bool", "version")
"""Values of an attribute of a device, which exclude each other."""
PLATFORMS = {
    "discovery[].aws": {"region": "eu-central-1", "tags": {"a": "b"}}, "discovery[].openshift": {"namespaces": ["a"]},
    "discovery[].crusoe": {"location": "l"},
}  # fmt: skip
LEVELS = ("own", "tier", "defaults")


def _leaves(field: Field, above: str = "", loosens: str = "") -> Iterator[tuple[str, Field]]:
    """Every field below one, with the direction of the nearest key that states one."""
    for child in field.children:
        path = f"{above}.{child.yaml_key}" if above else child.yaml_key
        stated = child.loosens or loosens
        if child.item is not None and child.item.children:
            yield from _leaves(child.item, f"{path}[]", stated)
        elif child.children:
            yield from _leaves(child, path, stated)
        elif child.kind is not Kind.OPAQUE:
            yield path, msgspec.structs.replace(child, loosens=stated)


def _spec(kind: str) -> dict[str, Field]:
    found = document_kind(kind)
    assert found is not None
    spec = found.root.child("spec")
    assert spec is not None
    return {path: field for path, field in _leaves(spec) if not path.startswith("defaults.") and ".defaults." not in path}


OF_A_GROUP, OF_THE_POLICY = _spec("NodeGroup"), _spec("NodeGroupPolicy")
FIELDS = OF_A_GROUP | OF_THE_POLICY
"""The policy's own where both have one, for its default counts then."""
TARGETS = tuple(path for path in OF_A_GROUP if path.startswith("target."))
MERGED = tuple(
    path
    for path in _spec("NodeGroup")
    if path.partition(".")[0].partition("[")[0] not in ("target", "policyRef", "nodes", "tier")
)


def _values(path: str, field: Field) -> list[Any]:
    if path in VALUES:
        return VALUES[path]
    if field.enum and field.kind is Kind.ENUM:
        return [str(word) for word in field.enum]
    return OF_A_KIND[field.kind]


def _put(spec: dict[str, Any], path: str, value: Any) -> None:
    """Write a value; NOTHING takes the key away from an item that has it."""
    place: Any = spec
    keys = path.split(".")
    for index, key in enumerate(keys[:-1]):
        name = key.removesuffix("[]")
        above = ".".join(keys[: index + 1]).removesuffix("[]")
        if key.endswith("[]"):
            item = ITEMS.get(above) or ITEMS.get(name)
            assert item is not None, path
            place = place.setdefault(name, [json.loads(json.dumps(item))])[0]
        elif above in PLATFORMS:
            place.pop("clusterAPI", None)
            place = place.setdefault(name, dict(PLATFORMS[above]))
        else:
            place = place.setdefault(name, {})
    if keys[-1] in ONE_OF:
        for other in ONE_OF:
            place.pop(other, None)
    if value is NOTHING:
        place.pop(keys[-1], None)
    else:
        place[keys[-1]] = value


def _set(policy: dict[str, Any], own: dict[str, Any]) -> PolicySet | None:
    """Group `spot-a` in tier `spot`; None where a policy does not read so. Without a budget of its own one would be built in."""
    tiers = [{"name": "spot", "match": {"names": ["^s"]}}, {"name": "other"}]
    spec: dict[str, Any] = {"mode": "Enforce", "tiers": tiers, "budgets": [{"name": "always", "nodes": 100}]}
    spec |= {key: value for key, value in policy.items() if key not in ("budgets", "tier")}
    spec["budgets"] += policy.get("budgets", [])
    spec["tiers"][0]["defaults"] = policy.get("tier", {})
    head = {"apiVersion": "reconciler.dev/v1alpha1"}
    spec = {key: value for key, value in spec.items() if value is not None}
    documents = [
        {**head, "kind": "NodeGroupPolicy", "metadata": {"name": "prod"}, "spec": spec},
        {**head, "kind": "NodeGroup", "metadata": {"name": "spot-a", "namespace": "prod"},
         "spec": {"policyRef": {"name": "prod"}, "target": {"clusterAPI": dict(CAPI)}, **own}},
    ]  # fmt: skip
    text = "\n---\n".join(json.dumps(document) for document in documents)
    sets = read_tree({"p.yaml": text.encode()}, now_seconds=NOW).sets
    return sets[0] if sets else None


def _number(field: Field, value: Any) -> int:
    if value is NOTHING:
        return HUGE if field.loosens == Loosens.UP else NONE_AT_ALL
    if value == "Never":
        return NEVER
    return parse_duration(value) if field.kind is Kind.DURATION else _amount(value)


def _amount(value: Any) -> int:
    return value if isinstance(value, int) else int(value.removesuffix("Gi")) * (2**30 if value.endswith("Gi") else 1)


def _looser(path: str, old: Any, new: Any, *, of_group: bool) -> bool | None:
    """Whether `new` lets more happen; None: nobody knows. Both are what counts, NOTHING where nothing is written."""
    if old == new:
        return False
    if path == "mode" and of_group:
        return new in (NOTHING, "Enforce") and old == "Observe"
    field = FIELDS[path]
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    before, after = (default if value is NOTHING else value for value in (old, new))
    match field.loosens:
        case Loosens.SAFE:
            return False
        case Loosens.MORE:
            return bool(set(after or ()) - set(before or ()))
        case Loosens.FEWER:
            return bool(set(before or ()) - set(after or ()))
        case Loosens.UP | Loosens.DOWN | Loosens.UP_FROM_NOTHING as direction:
            sign, nothing = -1 if direction == Loosens.DOWN else 1, _number(field, NOTHING)
            if field.kind is Kind.RESOURCE_MAP:
                sides = [{key: _amount(value) for key, value in (side or {}).items()} for side in (before, after)]
                return any((sides[1].get(key, nothing) - sides[0].get(key, nothing)) * sign > 0 for key in {*sides[0], *sides[1]})
            return (_number(field, after) - _number(field, before)) * sign > 0
        case "":
            assert _in(path, EITHER_WAY), f"{path} states no direction: say which of its values let more happen"
            return None if before != after else False
    words = words_from_tightest(field.loosens)
    return before != after == words[-1] if len(words) == 1 else words.index(after) > words.index(before)


def _in(path: str, table: Iterable[str]) -> bool:
    return any(path.startswith(one) if one.endswith(".") else path == one for one in table)


def _check(path: str, before: PolicySet, after: PolicySet, expected: bool | None, words: object) -> None:
    told = loosened(before, after, NOW)
    if expected is None:
        assert told, words
    elif expected:
        assert any(one.certain for one in told), (words, told)
    else:
        assert not told, (words, told)


@pytest.mark.parametrize("path", FIELDS)
def test_every_field_states_which_change_loosens(path: str) -> None:
    """A field that is added fails here until its key does, or until it is here that nobody knows."""
    assert _in(path, ELSEWHERE) or bool(FIELDS[path].loosens) is not _in(path, EITHER_WAY)


@pytest.mark.parametrize(
    ("path", "looser"),
    [("size.min", -1), ("size.max", 1), ("scaleDown.unneededTime", -1), ("scaleDown.utilizationThresholdPercent", 1),
     ("limits[].max", 1), ("limits[].min", -1), ("budgets[].nodes", 1), ("pace.delayAfterAdd", -1), ("drain.minReplicas", -1)],
)  # fmt: skip
def test_the_direction_of_a_number(path: str, looser: int) -> None:
    """Some by hand, each with a reason that everybody knows: fewer, later or smaller removals are tighter."""
    assert (FIELDS[path].loosens in (Loosens.UP, Loosens.UP_FROM_NOTHING)) is (looser > 0)
    assert (FIELDS[path].loosens == Loosens.DOWN) is (looser < 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("path", [path for path in MERGED if not path.startswith(ELSEWHERE)])
def test_a_value_of_a_group_at_every_level(path: str, level: str) -> None:
    """Alone, below a nearer level that says something else, and above a farther one."""
    field = OF_A_GROUP[path]
    values = [*_values(path, field), *([] if field.required else [NOTHING])]
    seen = 0
    for old, new in itertools.permutations(values, 2):
        for beside, other in [(None, NOTHING), *((place, value) for place in LEVELS if place != level for value in values[:1])]:
            sides = []
            for value in (old, new):
                specs: dict[str, dict[str, Any]] = {name: {} for name in LEVELS}
                if value is not NOTHING or _needs_an_item(path):
                    _put(specs[level], path, value)
                if beside is not None:
                    _put(specs[beside], path, other)
                sides.append((specs, _set({"defaults": specs["defaults"], "tier": specs["tier"]}, specs["own"])))
            (before_specs, before), (after_specs, after) = sides
            if before is None or after is None:
                continue
            seen += 1
            counting = [_counts(path, specs) for specs in (before_specs, after_specs)]
            _check(path, before, after, _looser(path, *counting, of_group=True), (level, beside, before_specs, after_specs))
    assert seen, f"no pair of values of {path} reads"


def _needs_an_item(path: str) -> bool:
    """Taken away is a key of an item, which stays."""
    return "[]" in path


def _counts(path: str, specs: dict[str, dict[str, Any]]) -> Any:
    """What the nearest level says that says something; of an item of a list, the list of the nearest level counts as a whole."""
    for name in LEVELS:
        place: Any = specs[name]
        for key in path.split("."):
            if not place:
                break
            place = place.get(key.removesuffix("[]"), NOTHING)
            place = place[0] if key.endswith("[]") and place else place
        if specs[name]:
            return place or (place if place == 0 else NOTHING)
    return NOTHING


@pytest.mark.parametrize("path", [path for path in OF_THE_POLICY if not path.startswith(ELSEWHERE)])
def test_a_value_of_the_policy(path: str) -> None:
    _of_one_document(path, OF_THE_POLICY[path], of_group=False)


@pytest.mark.parametrize(
    "path", [path for path in OF_A_GROUP if path.startswith(("nodes.", "tier"))] + ["target.clusterAPI.kind"]
)
def test_a_value_that_only_a_group_has(path: str) -> None:
    _of_one_document(path, OF_A_GROUP[path], of_group=True)


def _of_one_document(path: str, field: Field, *, of_group: bool) -> None:
    seen = 0
    for old, new in itertools.permutations([*_values(path, field), *([] if field.required else [NOTHING])], 2):
        sides = []
        for value in (old, new):
            spec: dict[str, Any] = {}
            if value is not NOTHING or _needs_an_item(path):
                _put(spec, path, value)
            if path == "mode" and value is NOTHING:
                spec["mode"] = None
            if path.startswith("target.") and "target" in spec:
                spec["target"] = {"clusterAPI": CAPI | spec["target"]["clusterAPI"]}
            sides.append(_set({}, spec) if of_group else _set(spec, {}))
        if sides[0] is None or sides[1] is None:
            continue
        seen += 1
        _check(path, sides[0], sides[1], _looser(path, old, new, of_group=of_group), (path, old, new))
    assert seen, f"no pair of values of {path} reads"


@pytest.mark.parametrize(("key", "gone", "came"), [
    ("limits", True, False), ("budgets", True, False), ("discovery", False, True), ("groupNamespaces", False, True),
    ("windows", None, None),
])  # fmt: skip
def test_items_that_come_and_go(key: str, gone: bool | None, came: bool | None) -> None:
    """One of two, wherever it stands. Order is no change, and neither is another name for the same."""
    first = ITEMS[key]
    second = {
        "limits": {"name": "y", "max": {"nodes": 500}},
        "budgets": {"name": "y", "nodes": 1},
        "discovery": {"name": "y", "clusterAPI": {"namespaces": ["b"]}},
        "groupNamespaces": {"name": "other"},
        "windows": {"name": "y", "schedule": "0 9 * * *", "duration": "1h", "size": {"max": 2}},
    }[key]
    for level in LEVELS if key == "windows" else ("policy",):

        def read(*items: dict[str, Any], at: str = level) -> PolicySet:
            spec = {key: list(items)}
            found = (
                _set(spec, {})
                if at == "policy"
                else _set({at: spec}, spec if at == "own" else {})
                if at != "own"
                else _set({}, spec)
            )
            assert found is not None
            return found

        both = read(first, second)
        # A namespace whose group there is stays.
        for one in (first,) if key == "groupNamespaces" else (first, second):
            _check(key, both, read(one), gone, (level, "gone", one))
            _check(key, read(one), both, came, (level, "came", one))
        assert loosened(both, read(second, first), NOW) == ()
        if key != "groupNamespaces":
            assert loosened(both, read({**first, "name": "z"}, second), NOW) == ()
            assert loosened(read({**first, "name": "z"}), read(first), NOW) == ()


HOLDS = {None: -1, "2026-11-22T00:00:00Z": 1, "2027-01-01T00:00:00Z": 2, "": 3}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("reason", ["a", "a, until 2026-11-21T13:00:00Z", "a, until 2099-01-01T00:00:00Z", "a, without end"])
def test_a_hold_that_ends_earlier(level: str, reason: str) -> None:
    """Its end counts, whatever its reason says: None is no hold, an empty text one without an end."""

    def read(until: str | None, why: str) -> PolicySet:
        hold = {} if until is None else {"hold": {"reason": why, **({"until": until} if until else {})}}
        found = _set({}, hold) if level == "own" else _set({level: hold}, {})
        assert found is not None
        return found

    for old, new in itertools.permutations(HOLDS, 2):
        for before, after in ((reason, reason), (reason, "b"), ("b", reason)):
            _check("hold", read(old, before), read(new, after), HOLDS[new] < HOLDS[old], (level, old, new, before, after))
    assert loosened(read("", reason), read("", "b"), NOW) == ()


def test_a_group_that_moves_to_another_tier() -> None:
    """By its own key, or since tiers match otherwise: what it gets there is looser, and that is told."""
    loose, tight = {"scaleDown": {"unneededTime": "1m"}}, {"scaleDown": {"unneededTime": "1h"}}

    def tiers(first: list[str], second: list[str]) -> list[dict[str, Any]]:
        return [
            {"name": "spot", "match": {"names": first}, "defaults": tight},
            {"name": "other", "match": {"names": second}, "defaults": loose},
        ]  # fmt: skip

    def read(entries: list[dict[str, Any]], own: dict[str, Any]) -> PolicySet:
        found = _set({"tiers": entries, "tier": entries[0]["defaults"]}, own)
        assert found is not None
        return found

    expected = Loosened(path="scaleDown.unneededTime", before="1h", after="1m", certain=True, groups=("spot-a",))
    there = read(tiers(["^s"], ["^o"]), {})
    for moved in (read(tiers(["^s"], ["^o"]), {"tier": "other"}), read(tiers(["^x"], ["^s"]), {})):
        assert expected in loosened(there, moved, NOW)
        assert expected not in loosened(moved, there, NOW)
    shuffled = tiers(["^s"], ["^s"])
    first, last = read(shuffled, {}), _set({"tiers": shuffled[::-1], "tier": loose}, {})
    assert last is not None
    assert expected in loosened(first, last, NOW)


@pytest.mark.parametrize(("old", "new", "told"), [
    ([{"name": "prod"}], [{"name": "prod"}, {"name": "team-b"}], True),
    ([{"name": "prod"}, {"name": "team-b"}], [{"name": "prod"}], False),
    ([{"name": "prod"}], [{"name": "prod", "targets": {"namespaces": ["prod", "capi"]}}], True),
    ([{"name": "prod", "targets": {"names": ["spot-.*"]}}], [{"name": "prod", "targets": {"names": [".*"]}}], True),
    ([{"name": "prod"}], [], True),
])  # fmt: skip
def test_namespaces_whose_groups_count(old: list[dict[str, Any]], new: list[dict[str, Any]], told: bool) -> None:
    before, after = (_set({"groupNamespaces": names} if names else {}, {}) for names in (old, new))
    assert before is not None
    assert after is not None
    assert bool(loosened(before, after, NOW)) is told


@pytest.mark.parametrize(("kept", "discovery", "told"), [
    ("other-name", False, ("other-name",)), (None, True, ("spot-a",)), (None, False, ()),
])  # fmt: skip
def test_a_group_that_is_renamed_or_left_to_discovery(kept: str | None, discovery: bool, told: tuple[str, ...]) -> None:
    """The same target under another name is the same group: what it loses is told. So is what a group loses whose document goes
    while discovery may find its target; without one the target is released as it is."""
    found = {"discovery": [{"name": "x", "clusterAPI": {"namespaces": ["prod"]}}]} if discovery else {}
    hold = {"hold": {"reason": "a"}}
    before, after = _set(found, hold), _set(found, {})
    assert before is not None
    assert after is not None
    groups = tuple(msgspec.structs.replace(group, name=kept) for group in after.groups if kept is not None)
    shown = loosened(before, msgspec.structs.replace(after, groups=groups), NOW)
    assert [(one.path, one.groups) for one in shown if one.path == "hold"] == ([("hold", told)] if told else [])


@pytest.mark.parametrize(
    "path", [path for path, field in FIELDS.items() if field.loosens not in ("", Loosens.SAFE) and not _in(path, ELSEWHERE)]
)
def test_what_loosens_is_among_the_consequences(path: str) -> None:
    """Of a preview, by its path and both values, whether the cluster has anything that it concerns or not."""
    of_group = path in MERGED and path != "mode"
    field = (OF_A_GROUP if of_group else OF_THE_POLICY)[path]
    side = PreviewSide(source="x")
    world = ClusterBuilder().world()
    seen = 0
    for old, new in itertools.permutations(_values(path, field), 2):
        specs: list[dict[str, Any]] = [{}, {}]
        for spec, value in zip(specs, (old, new), strict=True):
            _put(spec, path, value)
        before, after = (_set({}, spec) if of_group else _set(spec, {}) for spec in specs)
        if before is None or after is None or not _looser(path, old, new, of_group=of_group):
            continue
        seen += 1
        shown = compare(world, NOW, (side, before), (side, after), DEFAULT_WORK_BUDGET)
        own = {"mode": "WritingStarts", "adoptFrom": "TakesOver"}.get(path, "Loosens")
        told = [one for one in consequences(shown) if one.code == own]
        last = path.rpartition(".")[2].removesuffix("[]")
        assert told, (path, old, new)
        assert own != "Loosens" or any(last in str(one.data["path"]) for one in told), (path, old, new, told)
    assert seen, path


@pytest.mark.parametrize(("old", "new", "told"), [
    ({"spot": "30m"}, {"reserved": "30m"}, ("tiers[reserved].returnAfter", "Never", "30m")),
    ({"spot": "30m", "reserved": "1h"}, {"spot": "1h", "reserved": "30m"}, ("tiers[reserved].returnAfter", "1h", "30m")),
    ({"spot": "30m"}, {"spot": "30m", "reserved": "Never"}, None),
    ({"spot": "30m"}, {}, None),
])  # fmt: skip
def test_a_return_is_told_by_the_name_of_its_tier(
    old: dict[str, str], new: dict[str, str], told: tuple[str, str, str] | None
) -> None:
    """Another tier with the same wait is another place to return to."""
    sides = [_set({"tiers": [{"name": name, "returnAfter": wait} for name, wait in side.items()] or [{"name": "x"}]}, {})
             for side in (old, new)]  # fmt: skip
    assert sides[0] is not None
    assert sides[1] is not None
    shown = [(one.path, one.before, one.after) for one in loosened(sides[0], sides[1], NOW) if one.certain]
    assert shown == ([told] if told else [])
