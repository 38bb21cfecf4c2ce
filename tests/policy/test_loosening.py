"""What becomes looser, field by field: the expectation of each row was written by hand."""

import pytest

from reconciler.policy.changes.loosening import Loosened, directions, loosened
from reconciler.policy.documents import GroupFields, PolicySet
from reconciler.policy.fields import Field, document_kind
from reconciler.policy.tree import read_tree
from tests.policy.texts import NOW

HEAD = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec:\n  currency: USD\n"
TIERS = "  tiers: [{name: spot, match: {names: [^s]}, defaults: {%s}}]\n"
GROUP = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: %s, namespace: prod}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: %s}}
"""


def _pods_of(cpu: str) -> str:
    return f"headroom: {{pods: [{{name: a, count: 1, requests: {{cpu: {cpu}}}}}]}}"


def _weight(weight: int) -> str:
    return f"scaleDown: {{consolidation: {{podWeights: [{{labels: {{a: b}}, weight: {weight}}}]}}}}"


def _window(duration: str) -> str:
    return f'windows: [{{schedule: "0 7 * * *", duration: {duration}, size: {{max: 3}}}}]'


def _budget_of(duration: str) -> str:
    return f"budgets: [{{name: a, nodes: 1, schedule: '0 7 * * *', duration: {duration}}}]"


# (looser, tighter): from right to left loosens, from left to right does not.
OF_A_GROUP = [
    ("mode: Enforce", "mode: Observe"),
    ("size: {max: 9}", "size: {max: 8}"),
    ("size: {max: 9}", ""),
    ("size: {min: 1}", "size: {min: 2}"),
    ("", "size: {min: 2}"),
    ("headroom: {nodes: 1}", "headroom: {nodes: 2}"),
    ("", "headroom: {nodesPerZone: 1}"),
    (_pods_of("500m"), _pods_of("2")),
    ("scaleDown: {mode: Enabled}", "scaleDown: {mode: Disabled}"),
    ("", "scaleDown: {mode: Disabled}"),
    ("scaleDown: {utilizationThresholdPercent: 95}", ""),
    ("scaleDown: {gpuUtilizationThresholdPercent: 60}", "scaleDown: {gpuUtilizationThresholdPercent: 50}"),
    ("scaleDown: {daemonSetUtilization: Ignore}", ""),
    ("scaleDown: {mirrorPodUtilization: Ignore}", "scaleDown: {mirrorPodUtilization: Count}"),
    ("scaleDown: {unneededTime: 0s}", ""),
    ("scaleDown: {unneededTime: 90s}", "scaleDown: {unneededTime: 2m}"),
    ("scaleDown: {unreadyTime: 1m}", "scaleDown: {unreadyTime: 1h}"),
    ("scaleDown: {withoutMachines: PlatformChooses}", ""),
    ("scaleDown: {consolidation: {mode: Enabled}}", ""),
    ("scaleDown: {consolidation: {minSavingPercent: 1}}", ""),
    ("", 'scaleDown: {consolidation: {minSavingPerMovedPod: "0.01"}}'),
    (_weight(1), _weight(2)),
    ("scaleUp: {growth: ZeroOrMax}", ""),
    ("scaleUp: {maxNodeProvisionTime: 1m}", ""),
    ("scaleUp: {maxNodeStartupTime: 1m}", ""),
    ("scaleUp: {backoff: {initial: 1m}}", ""),
    ("scaleUp: {backoff: {max: 10m}}", ""),
    ("scaleUp: {backoff: {reset: 1h}}", ""),
    ("", "hold: {reason: a}"),
    ('hold: {reason: a, until: "2030-01-01T00:00:00Z"}', 'hold: {reason: a, until: "2031-01-01T00:00:00Z"}'),
    ('hold: {reason: a, until: "2030-01-01T00:00:00Z"}', "hold: {reason: a}"),
]  # fmt: skip
OF_THE_POLICY = [
    ("mode: Enforce", "mode: Observe"),
    ("adoptFrom: [a, b]", "adoptFrom: [a]"),
    ("humanHoldTime: 1s", ""),
    ("limits: [{name: x, max: {memory: 80000Gi}}]", "limits: [{name: x, max: {memory: 800Gi}}]"),
    ("limits: [{name: x, max: {cpu: 1}}]", "limits: [{name: x, max: {cpu: 1, nodes: 3}}]"),
    ("limits: [{name: x, min: {cpu: 1}}]", "limits: [{name: x, min: {cpu: 16}}]"),
    ("", "limits: [{name: x, max: {cpu: 1}}]"),
    ("discovery: [{name: x, clusterAPI: {namespaces: [a]}}]", ""),
    ("groupNamespaces: [{name: prod}, {name: a}]", "groupNamespaces: [{name: prod}]"),
    ("pods: {expendableBelowPriority: 0}", ""),
    ("health: {maxUnreadyPercent: 100}", ""),
    ("health: {okUnreadyCount: 9}", ""),
    ("drain: {systemPodsWithoutPDB: Allow}", ""),
    ("drain: {systemPodTimeout: 1h}", ""),
    ("drain: {localStorage: Allow}", ""),
    ("drain: {unreplicated: Allow}", ""),
    ("drain: {customControllers: Allow}", ""),
    ("drain: {jobs: Wait}", "drain: {jobs: Block}"),
    ("", "drain: {jobs: Wait}"),
    ("drain: {jobs: Wait, maxPodAge: 1h}", "drain: {jobs: Wait}"),
    ("", "drain: {minReplicas: 2}"),
    ("drain: {blockedNamespaces: [a]}", "drain: {blockedNamespaces: [a, b]}"),
    ("", "drain: {blockedNamespaces: [a]}"),
    ("budgets: [{nodes: 9}]", "budgets: [{nodes: 2}]"),
    ('budgets: [{nodes: "20%"}]', 'budgets: [{nodes: "9%"}]'),
    ("budgets: [{name: a, nodes: 1}]", "budgets: [{name: a, nodes: 1}, {name: b, nodes: 1}]"),
    ("pace: {delayAfterAdd: 0s}", ""),
    ("", "pace: {delayAfterDelete: 1m}"),
    ("pace: {delayAfterFailure: 1m}", ""),
    ("", "pace: {maxAddedNodes: 10}"),
    ("", "pace: {maxRemovedPercent: 10}"),
    ("", "pace: {requireApprovalAbove: 10}"),
    ("pace: {requireApprovalAbove: 50}", "pace: {requireApprovalAbove: 10}"),
]
# Which of both is looser depends on more than the two values: both ways are told, and neither as certain.
EITHER_WAY = [
    (_window("1h"), ""),
    (_window("1h"), _window("2h")),
    ("nodes: {matchLabels: {a: b}}", ""),
    (_weight(2), ""),
    ("nodes: {matchLabels: {a: b}}", "nodes: {matchLabels: {a: c}}"),
]
EITHER_WAY_OF_THE_POLICY = [
    (_budget_of("4h"), _budget_of("1m")),
    ("budgets: [{name: a, nodes: 1}]", "budgets: [{name: a, nodes: 1, reasons: [Empty]}]"),
    ('budgets: [{nodes: "20%"}]', "budgets: [{nodes: 2}]"),
    ("limits: [{name: x, max: {cpu: 1}}]", "limits: [{name: x, max: {cpu: 1}, groups: {matchLabels: {a: b}}}]"),
    ("targetAnnotations: Ignore", "targetAnnotations: Read"),
    # Without any budget the built-in one holds, a tenth of the nodes at a time.
    ("budgets: [{nodes: 50}]", ""),
    ("groupNamespaces: [{name: prod}]", ""),
]  # fmt: skip
HARMLESS = [
    ("balanceWith: Auto", "balanceWith: x"),
    ('pricePerHour: "0.5"', 'pricePerHour: "0.7"'),
    ("template: {capacity: {cpu: 4, memory: 8Gi}}", "template: {capacity: {cpu: 8, memory: 8Gi}}"),
    ("template: {taints: [{key: a, effect: NoSchedule}]}", ""),
]


def tree(policy: str = "", tier: str = "", own: str = "", defaults: str = "") -> PolicySet:
    """Group `spot-a` is in tier `spot`, and `plain` in none."""
    text = HEAD + (f"  {policy}\n" if policy else "") + TIERS % tier + (f"  defaults: {{{defaults}}}\n" if defaults else "")
    text += GROUP % ("spot-a", "spot-a") + (f"  {own}\n" if own else "") + GROUP % ("plain", "plain")
    result = read_tree({"p.yaml": text.encode()}, now_seconds=NOW)
    assert result.sets, (text, result.problems)
    return result.sets[0]


@pytest.mark.parametrize("level", ["own", "tier", "defaults"])
@pytest.mark.parametrize(("looser", "tighter"), OF_A_GROUP)
def test_a_value_of_a_group(level: str, looser: str, tighter: str) -> None:
    """At every level, and nothing in the other direction. A default reaches the groups that take it."""
    enforce = "mode: Enforce"
    before, after = (tree(policy=enforce, **{level: line}) for line in (tighter, looser))
    told = loosened(before, after, NOW)
    assert [one.certain for one in told] == [True], told
    assert told[0].groups == (("plain", "spot-a") if level == "defaults" else ("spot-a",))
    assert loosened(after, before, NOW) == ()


@pytest.mark.parametrize(("looser", "tighter"), OF_THE_POLICY)
def test_a_value_of_the_policy(looser: str, tighter: str) -> None:
    before, after = tree(policy=tighter), tree(policy=looser)
    told = loosened(before, after, NOW)
    assert told, (tighter, looser)
    assert all(one.certain for one in told), told
    assert loosened(after, before, NOW) == ()


@pytest.mark.parametrize(("policy", "first", "second"), [
    *((False, *pair) for pair in EITHER_WAY), *((True, *pair) for pair in EITHER_WAY_OF_THE_POLICY)
])  # fmt: skip
def test_what_nobody_knows_is_told_both_ways(policy: bool, first: str, second: str) -> None:
    sides = [tree(policy=line) if policy else tree(own=line) for line in (first, second)]
    for before, after in (sides, sides[::-1]):
        told = loosened(before, after, NOW)
        assert told
        assert not any(one.certain for one in told), told


@pytest.mark.parametrize(("first", "second"), HARMLESS)
def test_what_decides_nothing_by_itself_is_not_told(first: str, second: str) -> None:
    for before, after in ((first, second), (second, first)):
        assert loosened(tree(own=before), tree(own=after), NOW) == ()


def test_a_default_that_a_nearer_level_overrides_loosens_nothing() -> None:
    own = "scaleDown: {unneededTime: 1h}"
    before, after = (tree(own=own, tier=f"scaleDown: {{unneededTime: {time}}}") for time in ("10m", "1m"))
    assert loosened(before, after, NOW) == ()


@pytest.mark.parametrize(("key", "old", "new"), [("humanHoldTime", "1h", "1s"), ("mode", "Observe", "Enforce")])
def test_a_value_of_the_policy_that_groups_take_is_one(key: str, old: str, new: str) -> None:
    """Not one of the policy, and the same again of its groups. A group that loosens further is another one."""
    before, after = (tree(policy=f"{key}: {value}") for value in (old, new))
    policy = Loosened(path=key, before=old, after=new, certain=True)
    assert loosened(before, after, NOW) == (policy,)
    if key == "humanHoldTime":
        of_group = Loosened(path=key, before="2h", after="1s", certain=True, groups=("spot-a",))
        own = tree(policy=f"{key}: {old}", own=f"{key}: 2h")
        assert loosened(own, after, NOW) == (policy, of_group)


def test_a_hold_that_has_ended_is_none() -> None:
    """It was taken out of the file after its end: nothing is decided differently."""
    assert loosened(tree(own='hold: {reason: a, until: "2020-01-01T00:00:00Z"}'), tree(), NOW) == ()


def test_groups_that_discovery_finds_take_a_default() -> None:
    policy = "discovery: [{name: x, clusterAPI: {namespaces: [a]}}]"
    before, after = (tree(policy=policy, defaults=f"size: {{max: {most}}}") for most in (3, 4))
    assert loosened(before, after, NOW) == (
        Loosened(path="size.max", before="3", after="4", certain=True, groups=("plain", "spot-a"), discovered=True),
    )


def _paths(field: Field, above: str = "") -> list[str]:
    paths = []
    for child in (field.item or field).children:
        path = f"{above}.{child.yaml_key}" if above else child.yaml_key
        paths += [path, *_paths(child, path)]
    return paths


def test_every_field_has_a_direction_or_is_told_both_ways() -> None:
    """The table names fields of the model alone, and what it leaves out is known here: a new field shows up in this test."""
    kind = document_kind("NodeGroupPolicy")
    assert kind is not None
    spec = kind.root.child("spec")
    assert spec is not None
    apart = ("tiers.defaults", "tiers.match", "tiers.name")
    paths = [path.removeprefix("defaults.") for path in _paths(spec) if not path.startswith(apart) and path != "defaults"]
    assert set(directions()) - {"tier", "policyRef"} <= set(paths)
    said = tuple(f"{path}." for path in directions())
    leaves = {path for path in paths if not any(other.startswith(f"{path}.") for other in paths)}
    # Of two pods nobody knows which is dearer to move.
    leaves.discard("scaleDown.consolidation.podWeights.labels")
    left_out = {path.partition(".")[0] for path in leaves if not f"{path}.".startswith(said)}
    assert left_out == {
        "targetAnnotations", "limits", "discovery", "groupNamespaces", "budgets", "windows", "hold", "pods", "scheduler",
        "health",
    }  # fmt: skip
    assert GroupFields.__struct_fields__  # the levels that are merged
