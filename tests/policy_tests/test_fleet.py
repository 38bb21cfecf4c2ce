"""`test --fleet`: each test in the clusters that it is given, with the policy that counts there. Equal results are told once.

The small cluster has two nodes of `general` and one of `quiet`. An override raises the minimum of both to four in cluster b.
"""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.rendering.schemas.policy_test_schema import test_schema as printed_schema
from tests.gitops.repositories import BASE
from tests.gitops.test_fleet_preview import OVERRIDE, snapshot

HEAD = """\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {name: sizes}
spec:
  policy: .
  tests:
"""
FOUR = "expect: {groups: [{name: general, desired: 4..}]}"
LOW = {name: text.replace("size: {min: 1, max: 5}", "size: {max: 5}") for name, text in BASE.items()}
RAISED = {**LOW, "policies/b.yaml": OVERRIDE.replace("NAMES", "b")}
Run = Callable[..., tuple[int, str, str]]


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def document(*tests: str) -> dict[str, str]:
    """A file of tests, each `name: …, given: …, expect: …` in braces."""
    return {"policies/tests.yaml": HEAD + "".join(f"    - {{{test}}}\n" for test in tests)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of `test` in a directory with the policies and the snapshots of a to c."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for name in "abc":
        snapshot(tmp_path / "snapshots", name)
    write(tmp_path, RAISED)

    def call(tests: dict[str, str], *words: str) -> tuple[int, str, str]:
        write(tmp_path, tests)
        code = guarded(cli, ["test", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


FLEET = ("--fleet", "--cluster", "snapshots")
EVERYWHERE = document(
    f"name: at least four, given: {{clusters: {{}}}}, {FOUR}", f"name: four in b, given: {{clusters: {{names: [b]}}}}, {FOUR}"
)


def test_each_cluster_has_its_own_policy_and_equal_results_are_told_once(run: Run) -> None:
    """a and c stay at two nodes; the failure of both is one, and b passes."""
    code, out, err = run(EVERYWHERE, *FLEET)
    assert (code, err) == (4, "")
    lines = out.splitlines()
    assert lines[0] == "policies/tests.yaml::at least four PASSED in 1 cluster, FAILED in 2 clusters (a, c)"
    assert lines[1] == "policies/tests.yaml::four in b PASSED in 1 cluster"
    assert lines[-1].startswith("3 clusters: 2 fail, 1 passes, 2 passed, 2 failed in ")
    assert (out.count("E   actual:   2\n"), out.count(" at least four, in a, c ")) == (1, 1)
    assert "$ reconciler explain group general --policy policies --cluster snapshots/a\n" in out


def test_json_and_junit_name_the_cluster(run: Run) -> None:
    _, out, _ = run(EVERYWHERE, *FLEET, "-o", "json")
    told = json.loads(out)
    assert not list(Draft202012Validator(printed_schema()).iter_errors(told))
    assert sorted((one["name"], one["cluster"], one["verdict"]) for one in told["results"]) == [
        ("at least four", "a", "Failed"), ("at least four", "b", "Passed"), ("at least four", "c", "Failed"),
        ("four in b", "b", "Passed"),
    ]  # fmt: skip
    _, out, _ = run(EVERYWHERE, *FLEET, "-o", "junit")
    assert {case.get("name") for case in Xml.fromstring(out).iter("testcase")} == {
        "at least four [a]", "at least four [b]", "at least four [c]", "four in b [b]",
    }  # fmt: skip


def test_labels_select_clusters(run: Run, tmp_path: Path) -> None:
    """Each snapshot has its Cluster object; ring 1 is b alone."""
    for name in "abc":
        metadata = {"name": name, "namespace": "capi", "labels": {"ring": "1" if name == "b" else "2"}}
        item = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {}, "metadata": metadata}
        (tmp_path / "snapshots" / name / "cluster.json").write_text(json.dumps(item))
    given = 'given: {clusters: {labels: {matchLabels: {ring: "1"}}}}'
    code, out, _ = run(document(f"name: ring, {given}, {FOUR}"), *FLEET)
    assert (code, out.splitlines()[0]) == (0, "policies/tests.yaml::ring PASSED in 1 cluster")


@pytest.mark.parametrize(("clusters", "told"), [
    ("{names: [b, zz]}", "there is no snapshot of zz"),
    ('{labels: {matchLabels: {ring: "1"}}}', "no Cluster object of a was read, so its labels are unknown"),
    ("{names: [capi/b]}", "no Cluster object of b was read, so its namespace is unknown"),
])  # fmt: skip
def test_clusters_that_nobody_can_find_never_pass(run: Run, clusters: str, told: str) -> None:
    """With the place where they are named."""
    code, _, err = run(document(f"name: it, given: {{clusters: {clusters}}}, {FOUR}"), *FLEET)
    assert (code, told in err, "policies/tests.yaml:7:" in err) == (1, True, True)


def test_a_snapshot_that_cannot_be_read_is_told_and_the_others_are_judged(run: Run, tmp_path: Path) -> None:
    """A test that does not mean that cluster passes all the same."""
    (tmp_path / "snapshots" / "c" / "all.json").write_text("{")
    code, out, err = run(EVERYWHERE, *FLEET)
    assert code == 1
    assert out.splitlines()[-1].startswith("3 clusters: 1 fails, 1 passes, 1 unreadable, 2 passed, 1 failed, 1 not run in ")
    assert "c: " in err
    assert run(EVERYWHERE, *FLEET, "-k", "four in b")[0] == 0


def test_without_a_fleet_such_tests_are_skipped(run: Run) -> None:
    """The output says what to type."""
    code, out, _ = run(EVERYWHERE)
    assert (code, "2 skipped" in out, "run it with --fleet --cluster DIR" in out) == (0, True, True)


def test_the_policy_of_the_command_is_that_of_each_cluster(run: Run, tmp_path: Path) -> None:
    """Without --fleet, the snapshot of a test says which cluster it is. A snapshot without a name says nothing."""
    for name, text in RAISED.items():
        write(tmp_path / "other", {name: text})
    write(tmp_path, LOW)
    (tmp_path / "policies" / "b.yaml").unlink()
    own = document(*(f"name: in {name}, given: {{cluster: ../snapshots/{name}}}, {FOUR}" for name in "ab"))
    assert run(own, "-o", "json")[0] == 4
    code, out, _ = run(own, "--policy", "other/policies", "-o", "json")
    assert (code, [one["verdict"] for one in json.loads(out)["results"]]) == (4, ["Failed", "Passed"])
    code, out, _ = run(EVERYWHERE, "--policy", "other/policies", *FLEET, "-o", "json")
    assert [one["verdict"] for one in json.loads(out)["results"] if one["name"] == "at least four"] == [
        "Failed",
        "Passed",
        "Failed",
    ]
    manifest = tmp_path / "snapshots" / "a" / "snapshot.yaml"
    manifest.write_text(manifest.read_text().replace("cluster: a\n", ""))
    code, _, err = run(own, "--policy", "other/policies")
    assert (code, "nothing says which one this is: the snapshot.yaml of a snapshot names its cluster" in err) == (1, True)


CAUSES = document("name: nothing moves, given: {clusters: {}}, expect: {consequences: {absent: [NodesInSteadyState]}}")


def test_consequences_compare_with_the_policy_of_today_in_each_cluster(run: Run, tmp_path: Path) -> None:
    """Only b has the higher minimum."""
    write(tmp_path / "today", LOW)
    code, out, _ = run(CAUSES, *FLEET, "--today", "today/policies", "-o", "json")
    verdicts = {one["cluster"]: one["verdict"] for one in json.loads(out)["results"]}
    assert (code, verdicts) == (4, {"a": "Passed", "b": "Failed", "c": "Passed"})


@pytest.mark.parametrize("words", [
    ("--fleet",), ("--cluster", "snapshots"), (*FLEET, "--update"), (*FLEET, "--coverage"),
    (*FLEET, "--cluster-ref", "x"), ("--fleet", "--cluster", "snapshots/a/all.json"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused(run: Run, words: tuple[str, ...]) -> None:
    code, out, err = run(EVERYWHERE, *words)
    assert (code, out, "Traceback" in err) == (1, "", False)
    assert err


def test_a_mistake_in_a_test_is_told_once(run: Run) -> None:
    """It is the same one in every cluster."""
    wrong = document("name: it, given: {clusters: {}}, expect: {consequences: {absent: [Nothing]}}")
    code, out, _ = run(wrong, *FLEET, "-o", "json")
    assert (code, len(json.loads(out)["notRun"])) == (1, 1)


def test_targets_of_other_clusters_are_left_alone(run: Run, tmp_path: Path) -> None:
    """All snapshots hold the MachineDeployments of cluster c1. A policy that names no clusters finds them in c1 only."""
    group = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    sizes = f'"annotations": {{"{group}-min-size": "3", "{group}-max-size": "5"}}'
    snapshot(tmp_path / "snapshots", "c1")
    for name in ("a", "c1"):
        objects = tmp_path / "snapshots" / name / "all.json"
        objects.write_text(objects.read_text().replace('"annotations": {}', sizes))
    for file in (tmp_path / "policies").iterdir():
        file.unlink()
    head = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec:\n  "
    write(tmp_path, {"policies/prod.yaml": head + "discovery: [{name: capi, clusterAPI: {}}]\n"})
    expected = "expect: {groups: [{name: general, desired: 3}]}"
    code, out, _ = run(document(f"name: found, given: {{clusters: {{names: [a, c1]}}}}, {expected}"), *FLEET, "-o", "json")
    verdicts = {one["cluster"]: (one["verdict"], one["judged"][0]["code"]) for one in json.loads(out)["results"]}
    assert (code, verdicts) == (4, {"a": ("Failed", "GroupExists"), "c1": ("Passed", "DesiredSize")})
