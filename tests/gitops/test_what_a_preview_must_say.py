"""Changes of which a preview said too little: what it says first, of the example cluster."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[2]
Changed = Callable[..., dict[str, Any]]


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Changed:
    """The preview of a change of the example's policies, as JSON: each pair of a file replaces a text."""
    monkeypatch.chdir(tmp_path)

    def made(
        *pairs: tuple[str, str, str], before: tuple[tuple[str, str, str], ...] = (), name: str = "c1", what_if: bool = False
    ) -> dict[str, Any]:
        for side, edits in (("main", before), ("change", (*before, *pairs))):
            shutil.rmtree(side, ignore_errors=True)
            shutil.copytree(ROOT / "policies", side)
            shutil.rmtree(Path(side, "tests"))
            for file, old, new in edits:
                path = Path(side, file)
                text = path.read_text(encoding="utf-8") if path.exists() else ""
                assert old in text
                path.write_text(text.replace(old, new, 1) if old else new, encoding="utf-8")
        words = ["--base-dir", "main", "--head-dir", "change", "--cluster", str(ROOT / "examples" / "quickstart")]
        words += [] if what_if else ["--no-what-if"]
        guarded(cli, ["preview", *words, "--cluster-name", name, "-o", "json"])
        out, err = capsys.readouterr()
        assert out, err
        document: dict[str, Any] = json.loads(out)
        return document

    return made


def sentences(document: dict[str, Any], grade: str) -> dict[str, str]:
    """The messages of one grade, by code."""
    return {one["code"]: one["message"] for one in document["consequences"] if one["grade"] == grade}


def test_writing_stops(changed: Changed) -> None:
    """Sizes that are not written any more are those that `plan` shows for the policy: 9 and 4."""
    found = changed(("prod.yaml", "mode: Enforce", "mode: Observe"))
    assert found["headline"] == "Turns writing off for 3 groups, 9 more pods have nowhere to run, -$1,275.31 per month"
    assert sentences(found, "caution")["WritingStops"] == "This turns writing off for spot, auto, big, mode Enforce -> Observe."
    assert "GroupsHeld" not in sentences(found, "warning")
    wanted = {pair["after"]["name"]: pair["after"]["wanted"] for pair in found["decision"]["groups"]}
    assert (wanted["auto"], wanted["big"]) == (9, 4)


def test_a_target_with_a_typing_error(changed: Changed) -> None:
    """It is the first thing, and nothing says that the group comes into the policy."""
    found = changed(("on-demand.yaml", "c1-auto-45vz8", "c1-auto-45vz9"))
    assert found["headline"] == "Target c1-auto-45vz9 is missing: auto is no longer scaled, 5 more pods have nowhere to run"
    assert found["consequences"][0]["message"] == (
        "Target MachineDeployment capi/c1-auto-45vz9 of auto does not exist. auto loses its 7 new nodes."
    )
    assert not {"GroupsCome", "GroupsHeld"} & {one["code"] for one in found["consequences"]}


@pytest.mark.parametrize(("edit", "headline"), [
    (("on-demand.yaml", "max: 10}", "max: 14}"),
     "auto may grow to 14 nodes (was 10): auto 9 -> 11 nodes, big 4 -> 3, -$13.87 per month"),
    (("spot.yaml", '"0.058"', '"0.580"'), "Price of spot corrected from 0.058 to 0.58: no decision changes"),
    (("on-demand.yaml", "name: big\n  namespace", "name: large\n  namespace"),
     "NodeGroup big is renamed to large: no decision changes"),
    (("prod.yaml", "adoptFrom: [kubectl]", "adoptFrom: []"),
     "adoptFrom no longer names kubectl: 1 more pod has nowhere to run, -$154.03 per month"),
])  # fmt: skip
def test_the_first_line_names_what_changes(changed: Changed, edit: tuple[str, str, str], headline: str) -> None:
    """The groups, the money, and whether anything is decided otherwise: 2 more nodes at 0.192 for one at 0.403 are 0.019 less
    per hour, 13.87 per month; one more for one less are 0.211 less, 154.03 per month."""
    assert changed(edit)["headline"] == headline


def test_a_template_that_the_nodes_contradict(changed: Changed) -> None:
    """With the words of the plan."""
    found = changed(("on-demand.yaml", "capacity: {cpu: 8, memory: 32Gi", "capacity: {cpu: 16, memory: 64Gi"))
    assert found["headline"] == "The template of big differs from its nodes, no decision changes"
    assert sentences(found, "warning")["TemplateDiffers"].startswith(
        "big: its nodes offer less than its template (cpu 16 and 8, node big-cvpqs-75zr8)"
    )


def test_what_a_page_and_a_comment_show(changed: Changed, capsys: pytest.CaptureFixture[str]) -> None:
    """The changed lines once, in both; the situation that differs; a warning about a template and no second time under groups."""
    drift = ("on-demand.yaml", "capacity: {cpu: 8, memory: 32Gi", "capacity: {cpu: 16, memory: 64Gi")
    moved = "pricePerHour: '1'  # <b>```</b> @all\n"
    changed(drift, ("spot.yaml", 'pricePerHour: "0.058"\n', moved))
    sides = ["preview", "--base-dir", "main", "--head-dir", "change", "--cluster", str(ROOT / "examples" / "quickstart")]
    guarded(cli, [*sides, "-o", "markdown"])
    comment = capsys.readouterr().out
    assert "````diff\n@@ spot.yaml:21 @@ NodeGroup spot\n" in comment
    assert f"\n+  {moved}" in comment
    assert comment.count("its nodes offer less") == 1
    assert "pricePerHour 0.058 ->" not in comment
    guarded(cli, [*sides, "-o", "html"])
    page = capsys.readouterr().out
    assert "+  pricePerHour: &#x27;1&#x27;  # &lt;b&gt;```&lt;/b&gt; @all" in page
    assert page.index("@@ spot.yaml:21 @@") < page.index('id="differences"')


def test_programs_get_the_changed_lines(changed: Changed) -> None:
    """With their numbers on both sides, as in git: line 21 of one file."""
    found = changed(("spot.yaml", '"0.058"', '"0.580"'))
    (hunk,) = found["hunks"]
    assert (hunk["before"], hunk["after"]) == ("spot.yaml", "spot.yaml")
    lines = [(one["sign"], one["text"].strip(), one["before"], one["after"]) for one in hunk["lines"] if one["sign"] != " "]
    assert lines == [("-", 'pricePerHour: "0.058"', 21, None), ("+", 'pricePerHour: "0.580"', None, 21)]
    assert [track["name"] for track in found["timeline"]["tracks"]] == ["evening-peak"]


def test_the_order_of_tiers(changed: Changed, capsys: pytest.CaptureFixture[str]) -> None:
    """No pod that waits now may run on both tiers. One that may is placed otherwise, and two plans of that situation say so."""
    order = ("    - name: on-demand\n", '    - name: spot\n      match: {names: ["^spot"]}\n')
    found = changed(("prod.yaml", order[1], order[0] + order[1]), ("prod.yaml", "maxNodeProvisionTime: 10m\n" + order[0],
                    "maxNodeProvisionTime: 10m\n"), what_if=True)  # fmt: skip
    assert found["headline"] == "Tier on-demand now comes before spot: no change now, +$0.134/h with pods that fit any node"
    (row,) = (one for one in found["whatIf"]["situations"] if one["name"] == "pods-for-any-node")
    for side, key in (("main", "before"), ("change", "after")):
        words = ["--policy", side, "--cluster", str(ROOT / "examples" / "quickstart"), "--what-if", "pods-for-any-node"]
        guarded(cli, ["plan", *words, "-o", "json"])
        plan = json.loads(capsys.readouterr().out)
        assert row[key]["nodes"] == {group["name"]: group["desired"] for group in plan["groups"]}
        assert row[key]["perHour"] == plan["cost"]["desiredPerHour"]
        assert [problem["code"] for problem in plan["problems"]] == ["WhatIf"]


def test_what_doctor_finds_under_this_pr_alone(changed: Changed) -> None:
    """A template that is smaller than the nodes: the plan says nothing of it.

    One more node at 0.192 an hour is 140.16 a month.
    """
    found = changed(("on-demand.yaml", "capacity: {cpu: 8, memory: 32Gi", "capacity: {cpu: 4, memory: 16Gi"))
    assert found["headline"] == "The template of big differs from its nodes, auto 9 -> 10 nodes, +$140.16 per month"
    assert sentences(found, "warning")["NewFindings"].startswith(
        "NodeGroup big: 3 nodes have a size that differs from the template: cpu 4 and 8."
    )
    assert [one["data"]["finding"] for one in found["consequences"] if one["code"] == "NewFindings"] == ["LargerThanTemplate"]


def test_a_window_costs_what_its_hours_cost(changed: Changed) -> None:
    """Open, it saves 0.749 an hour, which is 546.77 in 730 hours. It is open for 8 of 24 hours: a third, 182.26."""
    window = "windows: [{name: night, schedule: 0 22 * * *, timeZone: Europe/Berlin, duration: 8h, size: {max: 3}}]"
    found = changed(("on-demand.yaml", "size: {min: 2, max: 10}\n", f"size: {{min: 2, max: 10}}\n  {window}\n"))
    assert found["headline"].startswith("In window night: 4 more pods have nowhere to run, auto 9 -> 3 nodes")
    (cost,) = (one for one in found["figures"] if one["code"] == "CostPerMonth")
    assert cost["change"] == "-182.26"


@pytest.mark.parametrize(("edit", "headline"), [
    (("prod.yaml", "currency: USD", "currency: EUR"), "currency USD -> EUR: no decision changes"),
    (("on-demand.yaml", "taints: []", "startupTaints: [{key: node.kubernetes.io/*, effect: NoExecute}]\n    taints: []"),
     "template.startupTaints of big changes: no decision changes"),
    (("on-demand.yaml", "reserved: {cpu: 200m, memory: 2Gi}", "reserved: {cpu: 0, memory: 0}"),
     "The template of big differs from its nodes, no decision changes"),
])  # fmt: skip
def test_a_value_without_an_effect_now_is_named(changed: Changed, edit: tuple[str, str, str], headline: str) -> None:
    """It may have one with other pods: this is not `No effect`."""
    assert changed(edit)["headline"] == headline


@pytest.mark.parametrize(("edit", "headline"), [
    (("prod.yaml", "drained, nodes: 1,", "drained, nodes: 0,"),
     "Budget drained lets no node leave at a time (was 1): +$0.058/h with half of the pods gone"),
    (("prod.yaml", "unneededTime: 10m", "unneededTime: 40m"),
     "Nodes of 4 groups may be removed only after 40m unneeded (was 10m): no change now"),
])  # fmt: skip
def test_what_matters_only_later_is_named(changed: Changed, edit: tuple[str, str, str], headline: str) -> None:
    """One node of spot stays, at 0.058 an hour; 40 minutes are 30 more than 10."""
    assert changed(edit, what_if=True)["headline"] == headline


@pytest.mark.parametrize(("edit", "headline"), [
    (("prod.yaml", "maxNodeProvisionTime: 10m", "maxNodeProvisionTime: 10s"),
     "scaleUp.maxNodeProvisionTime of spot 10m -> 10s: no decision changes"),
    (("prod.yaml", "humanHoldTime: 1h", "humanHoldTime: 24h"), "humanHoldTime 1h -> 24h: no decision changes"),
    (("prod.yaml", "humanHoldTime: 1h", "humanHoldTime: 1h\n  targetAnnotations: Ignore"),
     "Annotations and tags of targets no longer apply: no decision changes"),
    (("prod.yaml", "currency: USD", "currency: USD\n  drain: {localStorage: Allow, unreplicated: Allow}"),
     "Pods with local storage may be evicted and 1 more change: no decision changes"),
    (("prod.yaml", "0 18 * * mon-fri", "0 8 * * mon-fri"),
     "Budget evening-peak applies from 0 8 * * mon-fri (was 0 18 * * mon-fri)"),
    (("prod.yaml", "currency: USD", "currency: USD\n  pace: {maxAddedNodes: 2}"),
     "A plan adds at most 2 nodes (was 1000): the next plan has auto 9 -> 4 nodes, big 4 -> 3"),
    (("spot.yaml", "clusterAPI: {kind: MachineDeployment, namespace: capi, name: spot}",
      "aws: {autoScalingGroup: spot, region: eu-central-1}"),
     "Target spot is missing: spot is no longer scaled"),
    (("on-demand.yaml", "name: auto\n", "name: other\n"), "NodeGroup auto is renamed to other: no decision changes"),
])  # fmt: skip
def test_the_first_line_names_the_change(changed: Changed, edit: tuple[str, str, str], headline: str) -> None:
    """Its value, or what it lets happen; the old target of a group keeps its nodes, so no node goes."""
    assert changed(edit)["headline"] == headline


@pytest.mark.parametrize(("edit", "headline"), [
    (("on-demand.yaml", "max: 10}", "max: 4}"), "auto may grow only to 4 nodes (was 10): 3 more pods have nowhere to run"),
    (("spot.yaml", "min: 0, max: 8", "min: 3, max: 8"), "spot keeps at least 3 nodes (was 0): no decision changes"),
    (("on-demand.yaml", "size: {min: 1, max: 5}\n", "size: {min: 1, max: 5}\n  hold: {reason: recovering disk}\n"),
     "big is held (recovering disk): 1 more pod has nowhere to run, -$154.03 per month"),
    (("prod.yaml", "nodes: 40", "nodes: 20"), "Limit cluster allows only 20 nodes (was 40): 1 more pod has nowhere to run"),
    (("prod.yaml", "memory: 800Gi}", "memory: 800Gi, pricePerHour: '3'}"),
     "Limit cluster allows only 3.00 per hour (was unset): 7 more pods have nowhere to run"),
    (("prod.yaml", "[LeastCost, LeastWaste]", "[LeastWaste]"),
     "expanders [LeastCost, LeastWaste] -> [LeastWaste]: auto 9 -> 7 nodes, big 4 -> 5"),
    (("spot.yaml", "size: {min: 0, max: 8}\n", "size: {min: 0, max: 8}\n  headroom: {nodes: 2}\n"),
     "spot gets headroom {nodes: 2} (was unset): spot 3 -> 5 nodes, +$84.68 per month"),
    (("prod.yaml", "    scaleDown:\n", "    scaleDown:\n      mode: Disabled\n"),
     "Scale-down of auto, big, fixed, spot is Disabled (was Enabled): no decision changes"),
    (("prod.yaml", "  currency: USD", "  pods: {newPodDelay: 10m}\n  currency: USD"),
     "Pods get new nodes only after 10m (was 0s): the next plan differs, the steady state does not"),
    (("prod.yaml", "  currency: USD", "  pods: {expendableBelowPriority: 0}\n  currency: USD"),
     "Pods with a priority below 0 get no new nodes (was -10): 4 more pods have nowhere to run"),
    (("on-demand.yaml", '  pricePerHour: "0.403"\n', ""),
     "big has no price (was 0.403): LeastCost cannot compare groups without a price: big"),
    (("on-demand.yaml", "name: big}}\n  tier: on-demand", "name: big}}\n  tier: spot"),
     "big moves to tier spot: auto 9 -> 7 nodes, big 4 -> 5, +$13.87 per month"),
    (("prod.yaml", "utilizationThresholdPercent: 50", "utilizationThresholdPercent: 0"),
     "Nodes of 3 groups may be removed only up to 0% utilization (was 50%): no decision changes"),
])  # fmt: skip
def test_the_cause_is_beside_its_effect(changed: Changed, edit: tuple[str, str, str], headline: str) -> None:
    """Of one value that changes. Two nodes of spot cost 0.116 an hour, 84.68 in 730 hours; the other sizes are those that `plan`
    shows for each policy."""
    assert changed(edit)["headline"] == headline


def test_a_long_name_is_cut_in_its_middle(changed: Changed) -> None:
    """It is not left out."""
    name = "team-payments-production-eu-west-1-compute-general"
    renamed = (("on-demand.yaml", "name: auto\n", f"name: {name}\n"),)
    found = changed(("on-demand.yaml", "max: 10}", "max: 4}"), before=renamed)
    assert found["headline"] == "team-paym…-general may grow only to 4 nodes (was 10): 3 more pods have nowhere to run"


def test_a_warning_that_main_has_is_not_told_again(changed: Changed) -> None:
    """The limit is below the maximums on both sides; the price that is missing is new."""
    low = (("prod.yaml", "nodes: 40", "nodes: 20"),)
    assert changed(("prod.yaml", "humanHoldTime: 1h", "humanHoldTime: 2h"), before=low)["policyProblems"] == []
    found = changed(("on-demand.yaml", '  pricePerHour: "0.403"\n', ""), before=low)
    assert [one["code"] for one in found["policyProblems"]] == ["MissingPrice"]


def test_an_empty_mapping_says_something(changed: Changed) -> None:
    """Which platform a rule discovers."""
    main = (("prod.yaml", "  currency: USD", "  discovery: [{name: all, tier: on-demand, clusterAPI: {}}]\n  currency: USD"),)
    found = changed(("prod.yaml", "clusterAPI: {}", "openshift: {}"), before=main)
    assert found["headline"] == "Discovery rule all finds openshift targets instead of clusterAPI: 1 new problem"
    changes = {(one["path"], one["before"], one["after"]) for one in found["changes"]}
    assert changes == {("discovery[all].clusterAPI", "{}", None), ("discovery[all].openshift", None, "{}")}
    narrower = (("prod.yaml", "clusterAPI: {}", "clusterAPI: {namespaces: [capi]}"),)
    wider = changed(("prod.yaml", "{namespaces: [capi]}", "{}"), before=(*main, *narrower))
    (change,) = wider["changes"]
    assert wider["headline"] == "Discovery rule all finds targets in all namespaces (was [capi]): no decision changes"
    assert (change["path"], change["before"], change["after"]) == ("discovery[all].clusterAPI.namespaces", "[capi]", None)


OVERRIDE = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: others}
spec:
  basePolicyRef: {name: prod}
  clusters: {names: [c2, c7]}
  defaults: {scaleDown: {mode: Enabled}}
"""


def test_documents_for_other_clusters(changed: Changed) -> None:
    """They are named with the command that judges them."""
    found = changed(("others.yaml", "", OVERRIDE))
    assert found["headline"] == "Documents for other clusters change, no decision changes"
    assert found["changed"] is True
    assert sentences(found, "warning")["OtherClusters"] == (
        "Documents for clusters c2, c7 changed, which this preview does not judge. "
        "Run `reconciler preview --fleet` with a snapshot of each."
    )
    assert changed(before=(("others.yaml", "", OVERRIDE),))["changed"] is False


def test_a_change_of_many_groups_begins_with_the_gravest(changed: Changed) -> None:
    """Two hundred maximums, one hold, and warnings that main has too: the hold comes first. Its hidden character is seen."""
    group = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: g{number}, namespace: capi}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: capi, name: m{number}}}}}
  size: {{min: 0, max: {most}}}
"""
    sides = ["".join(group.format(number=number, most=most) for number in range(200)) for most in (10, 20)]
    held = f'{sides[0]}  hold: {{reason: "x\\u202ey"}}\n'
    found = changed(("many.yaml", held, sides[1]), before=(("many.yaml", "", held),))
    assert found["headline"] == "The hold of g199 is removed (x\\u202ey) and 200 more changes: 1 warning about the policy"
