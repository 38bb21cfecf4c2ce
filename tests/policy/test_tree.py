"""Trees: what is read, what is skipped, what a digest covers, all or nothing."""

from pathlib import Path

import msgspec
import pytest

from reconciler.policy.documents import (
    Budget,
    Discovery,
    Expander,
    Headroom,
    Hold,
    JobRule,
    Limit,
    Mode,
    RemovalReason,
    Size,
    TaintSpec,
    TargetSpec,
    Template,
    Toggle,
    Window,
)
from reconciler.policy.place import Place
from reconciler.policy.tree import default_policy, read_tree
from reconciler.policy.values.label_selector import Selector
from tests.policy.texts import NOW, POLICY, codes, group, read

COMPLETE = (Path(__file__).resolve().parents[1] / "fixtures" / "policy" / "complete.yaml").read_bytes()
GIB = 1 << 30


def test_a_complete_group_is_read() -> None:
    """Every value of the NodeGroup in the reference example, in its unit."""
    ((document,),) = [entry.groups for entry in read(COMPLETE).sets]
    assert document.name == "general-a"
    assert document.namespace == "reconciler"
    assert document.labels == (("reserve", "none"),)
    assert document.policy_ref == "prod"
    assert document.target == TargetSpec(provider="clusterAPI", kind="MachineDeployment", namespace="prod", name="general-a")
    assert document.nodes == Selector(match_labels=(("pool", "general-a"),))
    assert document.size == Size(min=2, max=40)
    assert document.tier == "on-demand"
    assert document.balance_with == "general"
    assert document.template == Template(
        capacity=(("cpu", 16_000), ("memory", 64 * GIB), ("pods", 110)),
        reserved=(("cpu", 500), ("memory", 4 * GIB)),
        architecture="amd64",
        labels=(("topology.kubernetes.io/zone", "a"),),
        taints=(),
        startup_taints=(TaintSpec(key="node.cilium.io/agent-not-ready", effect="NoExecute"),),
    )
    assert document.price_per_hour == "0.768"
    assert document.headroom == Headroom(nodes=1)
    assert document.scale_down.utilization_threshold_percent == 60
    assert document.scale_down.unneeded_time_seconds is None
    window = Window(schedule="0 7 * * mon-fri", time_zone="Europe/Berlin", duration_seconds=43_200, size=Size(min=10))
    assert document.windows == (window,)
    assert document.hold == Hold(reason="recovering node h100-3", until_seconds=1_795_284_000)


def test_a_complete_policy_is_read() -> None:
    """Every value of the NodeGroupPolicy in the reference example, in its unit."""
    (entry,) = read(COMPLETE).sets
    policy = entry.policy
    assert policy.mode is Mode.OBSERVE
    assert policy.adopt_from == ("cluster-autoscaler",)
    assert policy.human_hold_time_seconds == 3600
    assert [tier.name for tier in policy.tiers] == ["reserved", "spot", "on-demand"]
    assert policy.tiers[0].match.names == ("^h100-",)
    assert policy.tiers[0].defaults.scale_down.mode is Toggle.DISABLED
    assert policy.expanders == (Expander.LEAST_WASTE, Expander.LEAST_NODES)
    assert policy.limits == (
        Limit(name="cluster", max=(("cpu", 4_000_000), ("memory", 16 << 40), ("nodes", 500)), min=(("cpu", 16_000),)),
        Limit(name="h100-reserve", groups=Selector(match_labels=(("reserve", "h100"),)), max=(("nodes", 2),)),
        Limit(
            name="h100-cards", nodes=Selector(match_labels=(("cluster-api/accelerator", "h100"),)), max=(("nvidia.com/gpu", 64),)
        ),
    )
    tags = (("k8s.io/cluster-autoscaler/prod", "owned"),)
    assert policy.discovery == (
        Discovery(name="capi", tier="on-demand", provider="clusterAPI", namespaces=("prod",), cluster_name="prod"),
        Discovery(name="eks", tier="spot", provider="aws", region="eu-central-1", tags=tags),
    )
    assert policy.budgets == (
        Budget(nodes=10, reasons=(RemovalReason.EMPTY,)),
        Budget(nodes=1, reasons=(RemovalReason.UNDERUTILIZED,)),
    )
    assert policy.pace.delay_after_failure_seconds == 180
    assert policy.drain.system_pod_timeout_seconds is None
    assert (policy.drain.jobs, policy.drain.max_pod_age_seconds) == (JobRule.WAIT, 21_600)
    assert policy.defaults.scale_up.backoff.reset_seconds == 10_800


def test_places_are_those_of_the_keys() -> None:
    """A value's place is its key; an item's place is the item."""
    text = POLICY.replace("spec: {}", "spec:\n  limits:\n    - name: cluster\n      max: {nodes: 5}\n") + group(
        "a", "  size:\n    min: 1\n"
    )
    (entry,) = read(text, "prod/a.yaml").sets
    assert entry.policy.place == Place("prod/a.yaml", 1, 1)
    assert entry.policy.places["spec.limits[0]"] == Place("prod/a.yaml", 6, 7)
    assert entry.policy.places["spec.limits[0].max.nodes"] == Place("prod/a.yaml", 7, 13)
    assert entry.groups[0].places["spec.size.min"] == Place("prod/a.yaml", 17, 5)
    assert str(entry.groups[0].places["spec.size.min"]) == "prod/a.yaml:17:5"


@pytest.mark.parametrize(
    ("drain", "found"),
    [
        ("jobs: Wait, maxPodAge: 1h", []),
        ("maxPodAge: Never", []),
        ("maxPodAge: 1h", ["maxPodAge has no effect while drain.jobs is Allow"]),
        ("jobs: Block, maxPodAge: 1h", ["maxPodAge has no effect while drain.jobs is Block"]),
    ],
)
def test_an_age_bounds_a_wait_alone(drain: str, found: list[str]) -> None:
    """A warning: the policy is read all the same."""
    tree = read(POLICY.replace("spec: {}", f"spec: {{drain: {{{drain}}}}}"))
    assert [one.message for one in tree.problems if one.code == "MaxPodAgeWithoutWait"] == found
    assert len(tree.sets) == 1


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ("minSavingPercent: 20", 1),
        ("disruption: Ignored", 1),
        ('minSavingPerMovedPod: "0"', 1),
        ("disruption: Balanced", 0),
        ('minSavingPerMovedPod: "0.01"', 0),
    ],
)
def test_pod_weights_multiply_something(own: str, found: int) -> None:
    """A warning unless moved pods weigh something, in the same level or in a window."""
    weights = "podWeights: [{labels: {app: db}, weight: 5}]"
    window = f'windows: [{{schedule: "0 7 * * *", duration: 1h, scaleDown: {{consolidation: {{{own}}}}}}}]'
    for fields in (
        f"scaleDown: {{consolidation: {{{weights}, {own}}}}}",
        f"scaleDown: {{consolidation: {{{weights}}}}}, {window}",
    ):
        tree = read(POLICY.replace("spec: {}", f"spec: {{defaults: {{{fields}}}}}"))
        assert [one.code for one in tree.problems] == ["WeightsWithoutEffect"] * found
        assert len(tree.sets) == 1


def test_a_percentage_budget() -> None:
    """`"10%"` feeds percent, a number feeds nodes."""
    text = POLICY.replace("spec: {}", 'spec: {budgets: [{nodes: "10%"}, {nodes: 10%}, {nodes: 0}]}')
    (entry,) = read(text).sets
    assert [(budget.nodes, budget.percent) for budget in entry.policy.budgets] == [(None, 10), (None, 10), (0, None)]


def test_several_policies_make_several_sets() -> None:
    """Groups go to the policy that they name, in the order of their names."""
    other = POLICY.replace("prod", "dev")
    files = {"b.yaml": (POLICY + group("b") + group("a")).encode(), "a.yaml": other.encode(), "README.md": b"# not YAML: ["}
    tree = read_tree(files, now_seconds=NOW, revision="4f2a")
    assert [(entry.policy.name, [one.name for one in entry.groups]) for entry in tree.sets] == [("dev", []), ("prod", ["a", "b"])]
    assert [entry.revision for entry in tree.sets] == ["4f2a", "4f2a"]
    assert (tree.files, tree.policies, tree.groups) == (2, 2, 2)


def test_one_error_makes_the_whole_tree_unusable() -> None:
    """All or nothing, across files."""
    files = {"a.yaml": POLICY.encode(), "b.yaml": b"kind: NodeGroup\n"}
    tree = read_tree(files, now_seconds=NOW)
    assert tree.sets == ()
    assert codes(tree) == ["NoKind"]


def test_problems_across_files_name_both_places() -> None:
    """Two groups on one target in two files: told in the later one, with the place in the earlier one."""
    files = {"a.yaml": group("one", target="shared").encode(), "b/c.yaml": (POLICY + group("two", target="shared")).encode()}
    (problem,) = read_tree(files, now_seconds=NOW).problems
    assert (problem.code, str(problem.place)) == ("SharedTarget", "b/c.yaml:11:3")
    assert [(str(place), label) for place, label in problem.related] == [("a.yaml:7:3", "NodeGroup 'one' sizes it as well")]


def test_a_warning_leaves_the_tree_usable() -> None:
    """An expired hold is told and the policy applies."""
    tree = read(POLICY + group("a", '  hold: {reason: x, until: "2026-11-21T11:59:00Z"}\n'))
    assert codes(tree) == ["ExpiredHold"]
    assert len(tree.sets) == 1
    ends = [
        codes(read(POLICY + group("a", f'  hold: {{reason: x, until: "2026-11-21T12:00:0{second}Z"}}\n'))) for second in (0, 1)
    ]
    assert ends == [["ExpiredHold"], []]


def test_an_empty_tree() -> None:
    """Nothing is read and nothing is wrong; whether that is allowed is for the caller."""
    tree = read_tree({}, now_seconds=NOW)
    assert (tree.sets, tree.problems, tree.files) == ((), (), 0)
    assert read("# only a comment\n---\n---\n").problems == ()


def test_lists_of_documents_are_read() -> None:
    """What `kubectl get -o yaml` prints: a List, with what the API server added."""
    added = (
        "  resourceVersion: '5'\n  uid: x\n  generation: 1\n  creationTimestamp: 2026-11-21T00:00:00Z\n"
        "  managedFields: [{manager: kubectl}]\n  annotations: {a: b}\n"
    )
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata:\n  name: prod\n"
    document = head + added + "spec: {}\nstatus: {x: 1}\n"
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- "
        + document.replace("\n", "\n  ").rstrip()
        + "\n- apiVersion: v1\n  kind: Secret\n"
    )
    tree = read(text)
    assert tree.problems == ()
    assert [entry.policy.name for entry in tree.sets] == ["prod"]
    assert tree.skipped == (("v1/Secret", 1),)


def test_json_is_read_by_the_same_path() -> None:
    """A JSON file gives the values and the digest of the YAML one."""
    head = '{"apiVersion":"reconciler.dev/v1alpha1","kind":"NodeGroupPolicy",'
    text = head + '"metadata":{"name":"prod"},"spec":{"humanHoldTime":"2h"}}'
    yaml_text = POLICY.replace("spec: {}", "spec: {humanHoldTime: 2h}")
    assert read(text, "a.json").sets[0].digest == read(yaml_text).sets[0].digest


def test_the_digest_covers_values_and_nothing_else() -> None:
    """Order of keys, comments, files and the spelling of a value do not count; any value does."""
    base = POLICY.replace("spec: {}", "spec: {humanHoldTime: 90m, mode: Enforce}") + group("a", "  size: {min: 1, max: 3}\n")
    same = POLICY.replace("spec: {}", "spec:\n  # why\n  mode: 'Enforce'\n  humanHoldTime: 1h30m\n")
    moved = {"z/y.yaml": same.encode(), "b.yml": group("a", "  size:\n    max: 3\n    min: 1\n").encode()}
    digest = read(base).sets[0].digest
    assert read_tree(moved, now_seconds=NOW + 9, revision="x").sets[0].digest == digest
    assert digest.startswith("sha256:")
    assert len(digest) == 71
    for change in (("90m", "91m"), ("min: 1", "min: 2"), ("Enforce", "Observe"), ("name: a}", "name: b}")):
        assert read(base.replace(*change)).sets[0].digest != digest


def test_a_written_default_does_not_change_the_digest() -> None:
    """A value that equals the default is the same policy."""
    assert read(POLICY.replace("spec: {}", "spec: {mode: Observe}")).sets[0].digest == read(POLICY).sets[0].digest


def test_reading_is_deterministic() -> None:
    """The order of the mapping handed in does not matter, to the byte."""
    files = {f"{name}.yaml": group(name, "  sizes: {}\n").encode() for name in "cab"} | {"p.yaml": POLICY.encode()}
    trees = [read_tree(dict(sorted(files.items(), reverse=back)), now_seconds=NOW) for back in (False, True)]
    assert msgspec.json.encode(trees[0]) == msgspec.json.encode(trees[1])


def test_the_default_policy_discovers_everything_and_writes_nothing() -> None:
    """Without policy: all Cluster API targets by their own annotations, mode Observe."""
    entry = default_policy()
    assert entry.policy.mode is Mode.OBSERVE
    assert entry.policy.discovery == (Discovery(name="cluster-api", provider="clusterAPI"),)
    assert entry.groups == ()


def test_aliases_within_bounds_are_read() -> None:
    """An alias stands for the value at its anchor."""
    text = POLICY.replace(
        "spec: {}", "spec:\n  tiers:\n    - {name: a, defaults: &d {size: {max: 3}}}\n    - {name: b, defaults: *d}\n"
    )
    (entry,) = read(text).sets
    assert [tier.defaults.size.max for tier in entry.policy.tiers] == [3, 3]


def test_crlf_and_byte_order_mark_are_accepted() -> None:
    """Files from other systems read the same, with the same places."""
    tree = read(b"\xef\xbb\xbf" + POLICY.replace("spec: {}", "spec: {modes: x}").replace("\n", "\r\n").encode())
    assert [(str(problem.place), problem.source) for problem in tree.problems] == [("a.yaml:4:8", "spec: {modes: x}")]


def test_a_bad_byte_after_a_byte_order_mark_is_found() -> None:
    """The place of a byte that is no UTF-8 counts characters, the mark not included."""
    (problem,) = read(b"\xef\xbb\xbfab: 1\n\xc3\xa4x: \xff\n").problems
    assert (str(problem.place), problem.message) == ("a.yaml:2:5", "byte 0xff is not valid UTF-8")


def test_the_example_of_a_first_policy_only_observes() -> None:
    """Who has forgotten the spec begins with the mode that writes nothing."""
    text = b"apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\n"
    (problem,) = read_tree({"prod.yaml": text}, now_seconds=NOW).problems
    assert (problem.code, problem.hint) == ("MissingField", "for example spec: {mode: Observe}")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("scheduler: {featureGates: [{name: GangScheduling, state: on}, {}]}", ["UnknownValue", "MissingField", "MissingField"]),
        ("health: {repair: [{condition: Ready, status: bad, toleration: 1m}]}", ["UnknownValue"]),
        ("health: {repair: [{condition: Ready, toleration: 1m}]}", ["MissingField"]),
    ],
)
def test_a_word_that_an_item_must_have_is_wrong_or_missing(written: str, expected: list[str]) -> None:
    """The document needs one of a few words there. Without it, there are problems and no defect."""
    text = f"apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {{name: a}}\nspec:\n  {written}\n"
    assert [problem.code for problem in read_tree({"a.yaml": text.encode()}, now_seconds=NOW).problems] == expected


def test_one_syntax_error_is_one_error():
    """What seems to be missing may stand in the text that could not be read: a group without its policy is no second fault."""
    broken = b"apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod\nspec: {}\n"
    tree = read_tree({"a.yaml": broken, "g.yaml": group("g").encode()}, now_seconds=NOW)
    assert [problem.code for problem in tree.problems] == ["Syntax"]
