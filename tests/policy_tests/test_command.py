"""`reconciler test` on the example: its output, its exit codes, what it refuses, and what `--update` changes."""

import json
import random
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.commands import test as test_module
from reconciler.cli.inputs import policy_test_files
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cli.processes import policy_test_run
from reconciler.rendering.schemas.policy_test_schema import test_schema as printed_schema

ROOT = Path(__file__).resolve().parents[2]
TESTS = "policies/tests/prod.yaml"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `reconciler example` writes, as far as the tests need it."""
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "examples" / "quickstart")
    shutil.copytree(ROOT / "examples" / "scenarios", tmp_path / "examples" / "scenarios")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    code = guarded(cli, ["test", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


def edit(tree: Path, old: str, new: str) -> None:
    """Replace a piece of the test file."""
    file = tree / TESTS
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_example_passes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line per test, what no test names, and a summary."""
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert re.sub(r"in [0-9.]+ s", "in 0.4 s", out) == (
        "policies/tests/prod.yaml::waiting batch pods get nodes PASSED                                 [ 33%]\n"
        "policies/tests/prod.yaml::pods that tolerate spot nodes get spot nodes PASSED                 [ 66%]\n"
        "policies/tests/prod.yaml::the shop is left alone and the cost is bounded PASSED               [100%]\n"
        "\n"
        "no test names group fixed\n"
        "\n"
        "3 passed in 0.4 s\n"
    )


def test_a_failure_shows_what_was_found_and_what_explain_says(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is that of failed tests alone, and the command that is shown says the same."""
    edit(tree, "desired: 7..10", "desired: 3")
    code, out, _ = run(capsys)
    assert code == 4
    assert "policies/tests/prod.yaml:15:35: DesiredSize\nE   expected: auto 3 in this plan\nE   actual:   9\n" in out
    assert "2 passed, 1 failed in " in out
    shown = re.search(r"^    \$ reconciler (explain group auto .*)$", out, re.M)
    assert shown is not None
    guarded(cli, shown[1].split())
    answer = capsys.readouterr().out
    assert answer.splitlines()[1] == "size: now 2, desired 9, range 2..10"
    assert "    size: now 2, desired 9, range 2..10\n" in out


def test_a_changed_policy_stops_at_a_test(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A smaller maximum leaves batch pods without nodes: more than ten stay pending."""
    policy = tree / "policies" / "on-demand.yaml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("size: {min: 2, max: 10}", "size: {min: 2, max: 4}"))
    code, out, _ = run(capsys, "-k", "waiting")
    assert code == 4
    assert "E   expected: auto 7..10 in this plan\nE   actual:   4\n" in out


@pytest.mark.parametrize("failing", [False, True])
def test_tap(tree: Path, capsys: pytest.CaptureFixture[str], failing: bool) -> None:
    """TAP version 14: the plan, a point per test, a block of YAML behind a failed one."""
    if failing:
        edit(tree, "desired: 7..10", "desired: 3")
    code, out, _ = run(capsys, "--output", "tap")
    lines = out.splitlines()
    assert (code, lines[:2]) == (4 if failing else 0, ["TAP version 14", "1..3"])
    points = [line for line in lines if re.match(r"(not )?ok [0-9]+ - ", line)]
    assert points == [
        f"{'not ok' if failing else 'ok'} 1 - prod: waiting batch pods get nodes",
        "ok 2 - prod: pods that tolerate spot nodes get spot nodes",
        "ok 3 - prod: the shop is left alone and the cost is bounded",
    ]
    assert ('    actual: "9"' in lines) is failing


def test_junit(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts in the heads, and the place in the failure; characters that XML reserves are text."""
    edit(tree, "desired: 7..10", "desired: 3")
    edit(tree, "waiting batch pods get nodes", '"<a> & \\u0001b"')
    code, out, _ = run(capsys, "-o", "junit")
    top = Xml.fromstring(out)
    assert (code, top.tag, top.get("tests"), top.get("failures")) == (4, "testsuites", "3", "1")
    suite = top[0]
    assert (suite.get("name"), suite.get("tests")) == ("prod", "3")
    assert suite[0].get("name") == "<a> & \\x01b"
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.text == f"{TESTS}:15:35\nexpected: auto 3 in this plan\nactual: 9"


def test_json(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It fits the published schema."""
    edit(tree, "desired: 7..10", "desired: 3")
    code, out, _ = run(capsys, "-o", "json", "--coverage")
    document = json.loads(out)
    assert (code, [result["verdict"] for result in document["results"]]) == (4, ["Failed", "Passed", "Passed"])
    assert not list(Draft202012Validator(printed_schema()).iter_errors(document))
    assert document["coverage"]["groups"] == ["fixed"]
    # No budget matters where no node leaves, and a price is seen in the cost of every plan.
    assert "spec.budgets[0] (empty)" in document["coverage"]["rules"]
    assert "auto spec.pricePerHour" not in document["coverage"]["rules"]


def test_a_filter_chooses_by_name(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Any case; a text that no name has is a mistake."""
    code, out, _ = run(capsys, "-k", "SPOT NODES get")
    assert (code, out.count("PASSED"), "[100%]" in out) == (0, 1, True)
    code, out, err = run(capsys, "-k", "nothing like it")
    assert (code, out, err) == (1, "", "error: no test in policies has 'nothing like it' in its name\n")


def test_update_changes_nothing_but_the_values(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments, order and form stay; what passes stays as it is, and afterwards all pass."""
    edit(tree, "desired: 7..10", "desired: 3")
    edit(tree, "heldGroups: [fixed]", "heldGroups: [auto, big]   # who holds them?")
    before = (tree / TESTS).read_text(encoding="utf-8").splitlines()
    code, _, err = run(capsys, "--update")
    assert (code, err) == (0, f"{TESTS}:15:35: 3 -> 9\n{TESTS}:17:21: [auto, big] -> [fixed]\n")
    after = (tree / TESTS).read_text(encoding="utf-8").splitlines()
    assert [(old.strip(), new.strip()) for old, new in zip(before, after, strict=True) if old != new] == [
        ("- {name: auto, desired: 3}", "- {name: auto, desired: 9}"),
        ("heldGroups: [auto, big]   # who holds them?", "heldGroups: [fixed]   # who holds them?"),
    ]
    assert run(capsys)[0] == 0


def test_update_leaves_what_it_cannot_write(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value that an alias repeats belongs to several expectations, and a list over lines has no one place."""
    edit(tree, "desired: 7..10", "desired: &size 3")
    edit(tree, "{name: big, desired: ..5}", "{name: big, desired: *size}")
    edit(tree, "heldGroups: [fixed]", "heldGroups:\n          - auto")
    before = (tree / TESTS).read_bytes()
    code, _, err = run(capsys, "--update")
    assert code == 4
    assert err.count("was not updated: edit it by hand") == 2
    assert (tree / TESTS).read_bytes() == before


def test_equal_givens_are_decided_once(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred tests of one given read the snapshot once and decide twice: with and without the steady state."""
    lines = "".join(
        f"    - {{name: test {number}, expect: {{groups: [{{name: auto, {'settled' if number % 2 else 'desired'}: 1..}}]}}}}\n"
        for number in range(100)
    )
    file = tree / TESTS
    file.write_text(file.read_text(encoding="utf-8").partition("  tests:\n")[0] + "  tests:\n" + lines, encoding="utf-8")
    counted = {"snapshots": 0, "decisions": 0}
    load, decide = policy_test_files.load_world, policy_test_run.full_decision

    def loaded(path: Path) -> object:
        counted["snapshots"] += 1
        return load(path)

    def decided(*given: object, **more: object) -> object:
        counted["decisions"] += 1
        return decide(*given, **more)  # type: ignore[arg-type]

    def wanted(*_: object, **more: object) -> dict[str, int]:
        assert more == {"with_wanted": False}, "nobody expects what held groups would do, and it takes as long as all the rest"
        return {}

    monkeypatch.setattr("reconciler.decisions.decide._wanted", wanted)
    monkeypatch.setattr(policy_test_files, "load_world", loaded)
    monkeypatch.setattr(policy_test_run, "full_decision", decided)
    code, out, _ = run(capsys)
    assert (code, out.count("PASSED"), counted) == (0, 100, {"snapshots": 1, "decisions": 2})


def test_several_processes_say_the_same(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same order, with the same answers of `explain`, and problems of tests that cannot be run."""
    edit(tree, "desired: 7..10", "desired: 3")
    edit(tree, "replicas: 4, cpu", "replicas: 4, gpu: 1, cpu")
    edit(
        tree, "    # What nobody", "    - {name: lost, given: {cluster: ../nowhere}, expect: {pendingPods: 0}}\n    # What nobody"
    )
    alone = run(capsys, "-o", "json")
    monkeypatch.setattr(policy_test_run.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(policy_test_run, "_WORTH_PROCESSES", 2)
    assert run(capsys, "-o", "json") == alone
    assert [result["verdict"] for result in json.loads(alone[1])["results"]] == ["Failed", "Failed", "Passed"]


SCENARIO = """\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {name: burst}
spec:
  policy: ../../examples/scenarios/burst-and-fall.yaml
  tests:
    - name: the burst is served
      given: {scenario: ../../examples/scenarios/burst-and-fall.yaml}
      expect:
        groups: [{name: general, nodes: 3}, {name: large, nodes: 0}]
        pendingPods: 0
        maxPendingTime: 10m
        maxCost: "20.00"
    - name: nobody waits
      given: {scenario: ../../examples/scenarios/burst-and-fall.yaml}
      expect: {maxPendingTime: 0s}
"""
"""What the scenario itself expects at its end: three nodes of the one group, none of the other. Machines join after 2 minutes."""


def test_a_scenario_is_played(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The real loop on the simulated cluster. Pods wait for a machine, so that nobody waiting cannot be."""
    (tree / TESTS).write_text(SCENARIO, encoding="utf-8")
    code, out, _ = run(capsys, "-o", "json")
    burst, nobody = json.loads(out)["results"]
    assert (code, burst["verdict"], nobody["verdict"]) == (4, "Passed", "Failed")
    (judged,) = nobody["judged"]
    assert judged["code"] == "PendingTime"
    assert re.fullmatch(r"[2-9]m([0-9]+s)?", judged["actual"])


def test_consequences_compare_with_the_policy_of_today(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to compare with is skipped; a smaller maximum takes nodes from pods that would get one today."""
    edit(tree, "evictions: [{namespace: shop, max: 0}]", "consequences: {absent: [PodsWithoutNode]}")
    edit(tree, '        maxPricePerHour: "5.00"\n', "")
    code, out, _ = run(capsys, "-k", "shop")
    assert (code, "SKIPPED" in out, "1 skipped" in out) == (0, True, True)
    shutil.copytree(tree / "policies", tree / "today")
    policy = tree / "policies" / "on-demand.yaml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("size: {min: 2, max: 10}", "size: {min: 2, max: 4}"))
    code, out, _ = run(capsys, "-k", "shop", "--today", "today")
    assert (code, "E   expected: PodsWithoutNode absent\nE   actual:   present\n" in out) == (4, True)


@pytest.mark.parametrize(("old", "new", "told"), [
    ("../../examples/quickstart", "../../nowhere", "no such file or directory"),
    ("../../examples/quickstart", "../../../../../etc", "leads out of the directory of this run"),
    ("../../examples/quickstart", "/etc/passwd", "leads out of the directory of this run"),
    ("../../examples/quickstart", "../../link", "a symbolic link leads out of"),
    ("../../examples/quickstart", "../../loop", "oop"),
    ("../../examples/quickstart", "../../examples/scenarios", "no cluster in it"),
    ("policy: ..\n", "policy: ../../nowhere\n", "no such file or directory"),
    ("policy: ..\n", "policy: ../../../..\n", "leads out of the directory of this run"),
    ("{cluster: ../../examples/quickstart}", "{scenario: ../../examples/quickstart}", "not a file"),
    ("{cluster: ../../examples/quickstart}", "{scenario: ../prod.yaml}", "documents of apiVersion"),
])  # fmt: skip
def test_files_that_a_test_cannot_have(tree: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str) -> None:
    """Nothing outside is read, nothing that is missing passes, and the place is told; no traceback."""
    (tree / "link").symlink_to("/etc")
    (tree / "loop").symlink_to("loop")
    text = (tree / TESTS).read_text(encoding="utf-8")
    if "scenario" in new:
        text = text[: text.index("    # Nine")] + "    - {name: a, expect: {pendingPods: 0}}\n"
    (tree / TESTS).write_text(text.replace(old, new, 1), encoding="utf-8")
    code, out, err = run(capsys)
    assert (code, "PASSED" in out) == (1, False)
    assert told in err
    assert "Traceback" not in err
    assert "This is a defect" not in err


def test_a_test_file_that_is_a_link_out_is_not_followed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As policies are read."""
    outside = tree.parent / "outside.yaml"
    shutil.move(tree / TESTS, outside)
    (tree / TESTS).symlink_to(outside)
    code, _, err = run(capsys)
    assert (code, "no policy test in policies" in err) == (1, True)


_PIECES = (
    "&a ", "*a ", "9" * 400, "{", "[", "]", "}", ": ", "- ", "\n", "null", "~", "'", "/dev/zero", "../..", "\t", "10..",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_damaged_files_end_in_a_sentence(tree: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """Random pieces at random places: an exit code and never a traceback, whatever the text became."""
    chance = random.Random(seed)
    good = (tree / TESTS).read_text(encoding="utf-8")
    for _ in range(3):
        text = good
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(_PIECES) + text[at + chance.choice((0, 0, 2, 9)) :]
        (tree / TESTS).write_text(text, encoding="utf-8")
        code, _, err = run(capsys)
        assert code in (0, 1, 4)
        assert "Traceback" not in err
        assert "This is a defect" not in err


def test_the_policy_tree_passes_tests_over(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand next to the policy and are no part of it."""
    assert guarded(cli, ["validate"]) == 0
    assert capsys.readouterr().out == "4 files, 1 policy, 4 groups (1 document of other kinds skipped): no problems\n"


def test_only_a_policy_test_is_passed_over(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that names the group of tests by mistake is told so, as before."""
    edit(tree, "kind: PolicyTest", "kind: NodeGroup")
    assert guarded(cli, ["validate"]) == 1
    assert "unknown apiVersion 'test.reconciler.dev/v1alpha1'" in capsys.readouterr().out


def test_help_imports_nothing_of_the_run() -> None:
    """Heavy imports live inside the command."""
    assert not {"PolicyTestRunner", "read_test_files"} & set(vars(test_module))
