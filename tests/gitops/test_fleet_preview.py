"""One change in many clusters: what is said of each, what is folded, and what is never left out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cli.processes import fleet_preview
from reconciler.cluster.world import World
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.remote_access import Access
from reconciler.gitops.snapshots.publish import SnapshotBranch
from tests.gitops.repositories import BASE, GitRepo, write_cluster
from tests.gitops.servers import http_host
from tests.schemas.conftest import validator

OVERRIDE = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: eu}
spec:
  basePolicyRef: {name: prod}
  clusters: {names: [NAMES]}
  tiers: [{name: on-demand, defaults: {size: {min: 4}, scaleDown: {mode: Disabled}}}]
"""
OF_ONE = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: extra, namespace: reconciler}
spec:
  policyRef: {name: prod}
  clusters: {names: [b]}
  target: {clusterAPI: {kind: MachineDeployment, namespace: capi, name: extra}}
  size: {min: 4, max: 2}
"""
Preview = Callable[..., tuple[int, str]]


def snapshot(directory: Path, name: str) -> Path:
    """The small cluster under another name."""
    write_cluster(directory / name)
    manifest = directory / name / "snapshot.yaml"
    manifest.write_text(manifest.read_text().replace("cluster: small", f"cluster: {name}"))
    return directory / name


@pytest.fixture
def preview(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Preview:
    """Exit code and output of a change in the clusters a to d."""
    for name in "abcd":
        snapshot(tmp_path / "snapshots", name)

    def call(after: dict[str, str], *words: str, before: dict[str, str] | None = None) -> tuple[int, str]:
        for side, files in (("before", before or BASE), ("after", after)):
            for name, text in files.items():
                path = tmp_path / side / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        sides = ("--base-dir", str(tmp_path / "before"), "--head-dir", str(tmp_path / "after"))
        code = guarded(cli, ["preview", "--fleet", "--cluster", str(tmp_path / "snapshots"), *sides, *words])
        return code, capsys.readouterr().out

    return call


def states(out: str) -> dict[str, str]:
    document: dict[str, Any] = json.loads(out)
    assert not list(validator("fleet-preview").iter_errors(document))
    return {one["cluster"]: one["state"] for one in document["clusters"]}


def test_only_the_clusters_that_the_override_names_change(preview: Preview) -> None:
    """Two of four, in which the same happens: told once, and first."""
    after = {**BASE, "eu.yaml": OVERRIDE.replace("NAMES", "b, d")}
    code, out = preview(after, "-o", "json", "--detailed-exitcode")
    assert (code, states(out)) == (2, {"a": "Same", "b": "Changes", "c": "Same", "d": "Changes"})
    assert json.loads(out)["summary"] == "4 clusters: 2 change, 2 same"
    _, told = preview(after, "-o", "markdown")
    assert told.startswith("## 4 clusters: 2 change, 2 same\n")
    assert "| 1 | 2 | `b, d` |" in told
    assert told.count("Difference") == 1


def test_a_change_of_the_base_reaches_every_cluster(preview: Preview) -> None:
    """A policy that names no clusters counts in all."""
    after = {**BASE, "policies/general.yaml": BASE["policies/general.yaml"].replace("min: 1", "min: 4")}
    assert set(states(preview(after, "-o", "json")[1]).values()) == {"Changes"}
    assert json.loads(preview(BASE, "-o", "json")[1])["changed"] is False


def test_labels_that_nobody_can_read_refuse_every_cluster(preview: Preview) -> None:
    """No snapshot has the Cluster object, so any of them may have these labels."""
    labelled = OVERRIDE.replace("names: [NAMES]", "labels: {matchLabels: {x: z}}")
    code, out = preview({**BASE, "labels.yaml": labelled}, "-o", "json")
    assert (code, set(states(out).values())) == (1, {"Refused"})
    (problem, *_) = json.loads(out)["clusters"][0]["policyProblems"]
    assert (problem["code"], problem["line"]) == ("LabelsNotRead", 6)


def test_an_error_in_one_cluster_holds_that_cluster_alone(preview: Preview, tmp_path: Path) -> None:
    """Two selectors meet in one cluster, which only its labels show."""
    for name, region in (("a", "eu"), ("b", "us"), ("c", "us"), ("d", "us")):
        labels = {"region": region, "ring": "1" if name in "ab" else "2"}
        item = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {},
                "metadata": {"name": name, "namespace": "capi", "labels": labels}}  # fmt: skip
        (tmp_path / "snapshots" / name / "cluster.json").write_text(json.dumps(item))
    region = OVERRIDE.replace("names: [NAMES]", "labels: {matchLabels: {region: eu}}")
    ring = OVERRIDE.replace("names: [NAMES]", 'labels: {matchLabels: {ring: "1"}}').replace("{name: eu}", "{name: ring}")
    code, out = preview({**BASE, "region.yaml": region, "ring.yaml": ring.replace("min: 4", "min: 3")}, "-o", "json")
    assert (code, states(out)) == (1, {"a": "Refused", "b": "Changes", "c": "Same", "d": "Same"})
    assert {one["code"] for one in json.loads(out)["clusters"][0]["policyProblems"]} == {"EquallySpecific"}


def test_an_unreadable_snapshot_is_named_and_hides_nothing(preview: Preview, tmp_path: Path) -> None:
    """It is told before everything else, with the file."""
    (tmp_path / "snapshots" / "c" / "all.json").write_text("{")
    after = {**BASE, "eu.yaml": OVERRIDE.replace("NAMES", "b")}
    code, out = preview(after)
    assert code == 0
    assert out.startswith("! Nothing is known of c: ")
    assert "4 clusters: 1 changes, 2 same, 1 unreadable" in out


def test_a_cluster_that_loses_its_policy_is_no_silent_case(preview: Preview) -> None:
    """Main's policy counts everywhere, this PR's in one cluster."""
    after = {**BASE, "policies/prod.yaml": BASE["policies/prod.yaml"].replace("spec:\n", "spec:\n  clusters: {names: [a]}\n")}
    _, out = preview(after, "-o", "json")
    assert states(out) == {"a": "Same", "b": "Left", "c": "Left", "d": "Left"}
    assert json.loads(out)["changed"] is True


def test_a_policy_that_is_wrong_as_such_is_refused_for_all(preview: Preview) -> None:
    """Bounds that contradict each other in the only cluster that has them."""
    code, out = preview({**BASE, "extra.yaml": OF_ONE})
    assert code == 1
    assert "size.min 4 is above size.max 2" in out
    code, out = preview({**BASE, "extra.yaml": OF_ONE}, "-o", "json")
    assert (code, states(out)) == (1, {})
    assert [one["code"] for one in json.loads(out)["policyProblems"]] == ["MinAboveMax"]


def _policy_test(cluster: str, least: int) -> str:
    return f"""\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {{name: {cluster.replace("/", "-")}}}
spec:
  policy: .
  given: {{cluster: {cluster}}}
  tests: [{{name: general, expect: {{groups: [{{name: general, desired: {least}..}}]}}}}]
"""


def test_policy_tests_run_on_the_policy_of_the_cluster_that_they_are_about(repo: GitRepo, tmp_path: Path, capsys: Any) -> None:
    """The minimum is raised in one cluster only, which the test of another one shows; the snapshots are those of the change."""
    snapshots = {}
    for name in "ab":
        place = snapshot(tmp_path / "snapshots", name)
        snapshots |= {f"policies/given/{name}/{path.name}": path.read_text() for path in sorted(place.iterdir())}
    repo.branch("change")
    tests = {f"policies/tests-{name}.yaml": _policy_test(f"given/{name}", 4) for name in "ab"}
    low = BASE["policies/general.yaml"].replace("size: {min: 1, max: 5}", "size: {max: 5}")
    override = OVERRIDE.replace("NAMES", "b")
    repo.commit({**snapshots, **tests, "policies/general.yaml": low, "policies/eu.yaml": override})
    places = ("--repo", str(repo.root), "--cluster", str(tmp_path / "snapshots"))
    code = guarded(cli, ["preview", "--base", "main", "--fleet", *places, "-o", "json"])
    document = json.loads(capsys.readouterr().out)["tests"]
    assert document["notRun"] == []
    found = document["results"]
    assert code == 4
    assert {one["file"]: one["verdict"] for one in found} == {
        "policies/tests-a.yaml": "Failed", "policies/tests-b.yaml": "Passed",
    }  # fmt: skip


_IN_CLUSTERS = """\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {name: fleet}
spec:
  policy: .
  given: {clusters: {}}
  tests:
    - {name: at least four, expect: {groups: [{name: general, desired: 4..}]}}
    - {name: as many nodes, expect: {consequences: {absent: [NodesInSteadyState]}}}
"""


def test_policy_tests_run_in_each_cluster_that_they_are_given(preview: Preview, tmp_path: Path) -> None:
    """Consequences are compared with the base's policy there. Clusters in which a test fails alike are told once."""
    low = {**BASE, "policies/general.yaml": BASE["policies/general.yaml"].replace("size: {min: 1, max: 5}", "size: {max: 5}")}
    after = {**low, "eu.yaml": OVERRIDE.replace("NAMES", "b"), "tests.yaml": _IN_CLUSTERS}
    code, out = preview(after, "-o", "json", before=low)
    tests = json.loads(out)["tests"]
    verdicts = {(one["name"], one["cluster"]): one["verdict"] for one in tests["results"]}
    assert (code, tests["notRun"]) == (4, [])
    assert verdicts == {
        ("at least four", "a"): "Failed", ("at least four", "b"): "Passed", ("at least four", "c"): "Failed",
        ("at least four", "d"): "Failed", ("as many nodes", "a"): "Passed", ("as many nodes", "b"): "Failed",
        ("as many nodes", "c"): "Passed", ("as many nodes", "d"): "Passed",
    }  # fmt: skip
    _, told = preview(after, "-o", "markdown", before=low)
    words = " ".join(told.replace("`", "").replace("> ", "").split())
    assert "4 of 8 policy tests pass. Failed: at least four in a, c, d (policies/tests.yaml:8:72): general has 2 nodes" in words
    assert "expected: 4.. Failed: as many nodes in b (policies/tests.yaml:9:62): NodesInSteadyState: 5 nodes" in words
    assert told.count("`at least four`") == 1
    (tmp_path / "snapshots" / "c" / "all.json").write_text("{")
    code, out = preview(after, "-o", "json", before=low)
    assert (code, json.loads(out)["tests"]["unreadClusters"]) == (4, ["c"])


@pytest.mark.parametrize(("name", "found"), [("prod", []), ("other", ["Edited", "Edited"])])
def test_a_test_that_names_the_policy_that_it_judged_is_as_before(preview: Preview, name: str, found: list[str]) -> None:
    """Every cluster has this one policy. Another name judges another policy."""
    named = _IN_CLUSTERS.replace("  policy: .\n", f"  policy: .\n  policyName: {name}\n")
    for before, after in ((_IN_CLUSTERS, named), (named, _IN_CLUSTERS)):
        _, out = preview({**BASE, "tests.yaml": after}, "-o", "json", before={**BASE, "tests.yaml": before})
        assert [one["why"] for one in json.loads(out)["tests"]["lost"]] == found


def test_a_test_that_names_one_of_two_policies_is_another(preview: Preview) -> None:
    """Without the name, it judges the policy of each cluster."""
    two = {}
    for policy, clusters in (("prod", "a, b"), ("west", "c, d")):
        for name, text in BASE.items():
            here = text.replace("spec:\n", f"spec:\n  clusters: {{names: [{clusters}]}}\n", 1).replace("prod", policy)
            two[f"{policy}/{name}"] = here.replace("namespace: reconciler", f"namespace: {policy}")
    named = _IN_CLUSTERS.replace("  policy: .\n", "  policy: .\n  policyName: prod\n")
    _, out = preview({**two, "tests.yaml": named}, "-o", "json", before={**two, "tests.yaml": _IN_CLUSTERS})
    assert set(states(out).values()) == {"Same"}
    assert [one["why"] for one in json.loads(out)["tests"]["lost"]] == ["Edited", "Edited"]


def test_many_differences_stay_within_the_limit_of_a_comment(preview: Preview, tmp_path: Path) -> None:
    """Thirty clusters that each differ in another way: ten kilobytes, the rest counted."""
    after = dict(BASE)
    for number in range(30):
        name = f"n{number}"
        snapshot(tmp_path / "snapshots", name)
        text = OVERRIDE.replace("NAMES", name).replace("name: eu}", f"name: eu-{name}}}").replace("min: 4", f"min: {number % 5}")
        after[f"{name}.yaml"] = text.replace("mode: Disabled", f"unneededTime: {number + 1}m")
    _, told = preview(after, "-o", "markdown")
    assert len(told) <= 10_000
    assert "34 clusters: " in told.splitlines()[0]
    assert "more clusters with other differences" in told


def test_published_snapshots_are_a_fleet(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Every snapshot at the ref, each under the name it was published by."""
    repo.branch("change")
    repo.commit({"policies/eu.yaml": OVERRIDE.replace("NAMES", "b")})
    repo.git("config", "http.receivepack", "true")
    with http_host(tmp_path) as host:
        remote = checked_remote(f"{host.url}/repo/.git", PROTOCOLS)
        for number, name in enumerate("ab"):
            place = snapshot(tmp_path / "snapshots", name)
            files = {path.name: path.read_bytes() for path in sorted(place.iterdir())}
            SnapshotBranch(remote, "snapshots", Access()).publish(name, files, 1_795_284_000 + number)
    monkeypatch.chdir(repo.root)
    code = guarded(cli, ["preview", "--base", "main", "--fleet", "--cluster-ref", "snapshots", "-o", "json"])
    assert (code, states(capsys.readouterr().out)) == (0, {"a": "Same", "b": "Changes"})


def test_a_defect_in_one_cluster_hides_no_other(preview: Preview, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told like a snapshot that cannot be read."""
    whole = fleet_preview.made_preview

    def made(world: World, *rest: Any, **named: Any) -> Any:
        if world.name == "c":
            raise ZeroDivisionError("made up")
        return whole(world, *rest, **named)

    monkeypatch.setattr(fleet_preview, "made_preview", made)
    after = {**BASE, "policies/general.yaml": BASE["policies/general.yaml"].replace("min: 1", "min: 4")}
    found = states(preview(after, "-o", "json")[1])
    assert found == {"a": "Changes", "b": "Changes", "c": "Unreadable", "d": "Changes"}


def test_a_cluster_that_loses_its_policy_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A preview of that cluster alone names the policy that main has for it."""
    for side, names in (("before", "a, b"), ("after", "b")):
        for name, text in BASE.items():
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("spec:\n", f"spec:\n  clusters: {{names: [{names}]}}\n", 1))
    sides = ("--base-dir", str(tmp_path / "before"), "--head-dir", str(tmp_path / "after"))
    assert guarded(cli, ["preview", *sides, "--cluster", str(snapshot(tmp_path / "snapshots", "a"))]) == 1
    assert "this cluster loses its policy: main has prod for it" in capsys.readouterr().err
