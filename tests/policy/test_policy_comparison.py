"""Two versions of a policy in words."""

import pytest

from reconciler.policy.changes.comparison import compare_policies
from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree
from tests.policy.texts import NOW

BASE = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  tiers:
    - name: spot
      match: {names: ["^spot-"]}
      defaults:
        scaleDown: {unneededTime: 10m}
    - name: on-demand
  discovery:
    - {name: capi, clusterAPI: {namespaces: [prod]}, tier: on-demand}
  budgets: [{nodes: 10, reasons: [Empty]}, {nodes: "10%", reasons: [Underutilized]}]
  defaults:
    size: {max: 50}
"""
HEAD = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers:
    - name: on-demand
    - name: spot
      match: {names: ["^spot-", "^big"]}
      defaults:
        scaleDown: {unneededTime: 5m}
  discovery:
    - {name: capi, clusterAPI: {namespaces: [prod]}, tier: on-demand}
  budgets: [{nodes: 5, reasons: [Underutilized]}, {nodes: 10, reasons: [Empty]}]
  defaults:
    size: {max: 60}
"""


def group(name: str, *lines: str, target: str = "") -> str:
    head = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\n"
        f"metadata: {{name: {name}}}\nspec:\n  policyRef: {{name: prod}}\n"
        f"  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: {target or name}}}}}\n"
    )
    return head + "".join(f"  {line}\n" for line in lines)


def tree(**texts: str) -> PolicySet:
    read = read_tree({f"{name.replace('_', '-')}.yaml": text.encode() for name, text in texts.items()}, now_seconds=NOW)
    assert [str(problem.message) for problem in read.problems if problem.severity == "error"] == []
    return read.sets[0]


def sentences(before: PolicySet, after: PolicySet) -> list[str]:
    return [change.sentence() for change in compare_policies(before, after, NOW)]


def test_everything_at_once():
    """The whole comparison of a tree with changes of many kinds, read by a person and kept."""
    before = tree(
        prod=BASE,
        big=group("big", "size:", "  min: 2", "  max: 40"),
        gone=group("gone", "size: {min: 1}"),
        old=group("old", "size: {min: 1}", "template: {capacity: {cpu: 16, memory: 64Gi}}"),
        spot_a=group("spot-a", "size: {min: 0}"),
        spot_b=group("spot-b", "scaleDown: {unneededTime: 1m}", "size: {min: 0, max: 9}"),
    )
    after = tree(
        prod=HEAD,
        big=group("big", "size:", "  min: 2", "  max: 60", "hold: {reason: repair}", "scaleDown: {unneededTime: 90s}"),
        fresh=group("fresh", "size: {min: 1}"),
        new=group("new", "size: {min: 1}", "template: {capacity: {cpu: 16500m, memory: 64Gi}}", target="old"),
        spot_a=group("spot-a", "size: {min: 0}", 'windows: [{schedule: "0 7 * * *", duration: 12h, size: {min: 10}}]'),
        spot_b=group("spot-b", "scaleDown: {unneededTime: 60s}  # the same", "size: {max: 9, min: 0}"),
    )
    assert sentences(before, after) == [
        "NodeGroupPolicy prod: budgets[Underutilized].nodes 10% -> 5 (prod.yaml:13:45 -> prod.yaml:14:14)",
        "NodeGroupPolicy prod: defaults.size.max 50 -> 60 (prod.yaml:15:12 -> prod.yaml:16:12)."
        " It reaches fresh, new, spot-a and what discovery capi finds",
        "NodeGroupPolicy prod: mode Observe -> Enforce (prod.yaml:5:3)",
        "NodeGroupPolicy prod: the order of tiers changes: spot, on-demand -> on-demand, spot (prod.yaml:5:3 -> prod.yaml:6:3)",
        "NodeGroupPolicy prod: tiers[spot].defaults.scaleDown.unneededTime 10m -> 5m (prod.yaml:9:21 -> prod.yaml:11:21)."
        " It reaches spot-a",
        "NodeGroupPolicy prod: tiers[spot].match.names [^spot-] -> [^spot-, ^big] (prod.yaml:7:15 -> prod.yaml:9:15)",
        "NodeGroup big: hold unset -> {reason: repair} (big.yaml:10:3)",
        "NodeGroup big: scaleDown unset -> {unneededTime: 1m30s} (big.yaml:11:3)",
        "NodeGroup big: size.max 40 -> 60 (big.yaml:9:5)",
        "NodeGroup big: tier (by match) unset -> spot (prod.yaml:8:7)",
        "NodeGroup fresh: added (fresh.yaml:1:1)",
        "NodeGroup gone: removed, its target keeps its size (was gone.yaml:1:1)",
        "NodeGroup new: renamed from old, the same target (old.yaml:1:1 -> new.yaml:1:1)",
        "NodeGroup new: template.capacity.cpu 16 -> 16500m (old.yaml:8:25 -> new.yaml:8:25)",
        "NodeGroup spot-a: windows unset -> "
        "[{schedule: 0 7 * * *, timeZone: Etc/UTC, duration: 12h, size: {min: 10}}] (spot-a.yaml:8:3)",
    ]


def test_formatting_is_no_difference():
    """Comments, order of keys and of files, units and quotes leave nothing to tell."""
    before = tree(prod=BASE, a=group("a", "size: {min: 0, max: 9}", "scaleDown: {unneededTime: 90s}"))
    after = tree(prod=BASE + "# the end\n", z=group("a", "scaleDown:", "  unneededTime: 1m30s", "size: {max: 9, min: 0}"))
    assert sentences(before, after) == []


@pytest.mark.parametrize(
    ("line", "other", "words"),
    [
        ("size: {min: 1}", "size: {min: 2}", "size.min 1 -> 2"),
        ("mode: Observe", "", "mode Observe -> unset"),
        ("balanceWith: x", "balanceWith: Auto", "balanceWith x -> Auto"),
        ('pricePerHour: "0.5"', 'pricePerHour: "0.25"', "pricePerHour 0.5 -> 0.25"),
        ("headroom: {nodes: 1}", "headroom: {nodesPerZone: 1}", "headroom.nodes 1 -> unset"),
        ("template: {taints: []}", "", "template {taints: []} -> unset"),
        ("template: {labels: {a: b}}", "template: {labels: {a: c}}", "template.labels.a b -> c"),
        ("template: {startupTaints: [{key: a, effect: NoSchedule}]}", "template: {startupTaints: [{key: a, effect: NoExecute}]}",
         "template.startupTaints[a].effect NoSchedule -> NoExecute"),
        ("nodes: {matchLabels: {a: b}}", "nodes: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}",
         "nodes.matchExpressions unset -> [{key: a, operator: In, values: [b, c]}]"),
        ('hold: {reason: x, until: "2027-01-01T00:00:00Z"}', 'hold: {reason: x, until: "2028-01-01T00:00:00+01:00"}',
         "hold.until 2027-01-01T00:00:00Z -> 2027-12-31T23:00:00Z"),
        ("scaleUp: {backoff: {initial: 1m}}", "scaleUp: {backoff: {initial: 2m}}", "scaleUp.backoff.initial 1m -> 2m"),
        ('windows: [{schedule: "0 7 * * *", duration: 1h, size: {min: 3}}]',
         'windows: [{schedule: "0 5 * * *", duration: 2h, size: {min: 4}}, '
         '{schedule: "0 7 * * *", duration: 1h, size: {min: 5}}]',
         "windows[0 7 * * *].size.min 3 -> 5"),
    ],
)  # fmt: skip
def test_values_of_a_group(line: str, other: str, words: str):
    """Each kind of value is seen and told as YAML writes it; an item put in front of a list is no change of the others."""
    found = sentences(tree(prod=BASE, a=group("a", *filter(None, [line]))), tree(prod=BASE, a=group("a", *filter(None, [other]))))
    assert any(f"NodeGroup a: {words} (" in sentence for sentence in found), found


@pytest.mark.parametrize(
    ("line", "other", "words"),
    [
        ("adoptFrom: [a]", "adoptFrom: [a, b]", "adoptFrom [a] -> [a, b]"),
        ("expanders: [LeastCost]", "expanders: [LeastWaste]", "expanders [LeastCost] -> [LeastWaste]"),
        ("limits: [{name: x, max: {cpu: 16, memory: 1Ti}}]", "limits: [{name: x, max: {cpu: 16, memory: 1000Gi}}]",
         "limits[x].max.memory 1Ti -> 1000Gi"),
        ("drain: {systemPodTimeout: 1h}", "", "drain.systemPodTimeout 1h -> Never"),
        ("pods: {newPodDelay: 30s}", "", "pods.newPodDelay 30s -> 0s"),
        ("balancing: {presets: [AWS]}", "", "balancing {presets: [AWS]} -> unset"),
        ("defaults: {scaleDown: {unneededTime: 5m}}", "", "defaults.scaleDown.unneededTime 5m -> unset (default 10m)"),
        ("tiers: [{name: a, defaults: {scaleUp: {backoff: {max: 1h}}}}]", "tiers: [{name: a}]",
         "tiers[a].defaults.scaleUp.backoff.max 1h -> unset (inherited)"),
        ("budgets: [{nodes: 0}]", 'budgets: [{nodes: "0%"}]', "budgets[0].nodes 0 -> 0%"),
    ],
)  # fmt: skip
def test_values_of_a_policy(line: str, other: str, words: str):
    """The same for the policy document, where a missing key means its default."""
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec:\n  currency: EUR\n"
    before, after = (tree(prod=head + (f"  {text}\n" if text else "")) for text in (line, other))
    assert any(f"NodeGroupPolicy prod: {words} (" in sentence for sentence in sentences(before, after)), sentences(before, after)


def test_whole_lists_reach_groups_without_their_own():
    """Windows of the policy's defaults count only for groups that have none at all, and not where a tier has some."""

    def with_min(least: int) -> PolicySet:
        policy = BASE.replace("    size: {max: 50}\n", "    size: {max: 50}\n"
                              f'    windows: [{{schedule: "0 7 * * *", duration: 1h, size: {{min: {least}}}}}]\n')  # fmt: skip
        policy = policy.replace(
            "scaleDown: {unneededTime: 10m}", 'windows: [{schedule: "0 9 * * *", duration: 1h, size: {min: 2}}]'
        )
        own = 'windows: [{schedule: "0 8 * * *", duration: 1h, size: {min: 1}}]'
        return tree(prod=policy, plain=group("plain"), own=group("own", own), spot_x=group("spot-x"))

    (change,) = compare_policies(with_min(3), with_min(4), NOW)
    assert change.path == "defaults.windows[0 7 * * *].size.min"
    assert change.reaches == ("plain",)
