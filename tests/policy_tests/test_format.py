"""Policy tests are read strictly, and every mistake is told with its place and with what to do."""

import random
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from reconciler.policy.policy_test import may_hold_tests, read_policy_tests
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.schemas.policy_test_schema import policy_test_schema

GOOD = """\
apiVersion: test.reconciler.dev/v1alpha1
kind: PolicyTest
metadata: {name: prod}
spec:
  policy: ..
  given: {cluster: ../snapshot}
  tests:
    - name: the shop grows
      given:
        workloads: [{name: shop/extra, replicas: 3, cpu: 500m, memory: 1Gi}]
        nodes: [{group: general, count: 1}]
      expect:
        groups: [{name: general, desired: 3, settled: 2..4, reasons: [PendingPods]}]
        heldGroups: []
        pendingPods: ..10
        evictions: [{namespace: shop, max: 0}]
        maxPricePerHour: "4.50"
        consequences: {absent: [PodsWithoutNode]}
    - name: the burst is served
      given: {scenario: ../burst.yaml}
      expect:
        groups: [{name: general, nodes: 3..}]
        maxPendingTime: 10m
        maxCost: "12.00"
"""


def error(old: str, new: str) -> tuple[str, str, str]:
    """(place, message, hint) of the one problem after replacing a piece of the good text."""
    assert old in GOOD
    with pytest.raises(DocumentError) as caught:
        read_policy_tests("tests/prod.yaml", GOOD.replace(old, new, 1).encode())
    (problem,) = caught.value.problems
    return str(problem.place), problem.message, problem.hint


def test_values_are_read_with_their_units() -> None:
    """Money is in millionths, durations are in seconds, and a number is a range of one."""
    (text,) = read_policy_tests("prod.yaml", GOOD.encode())
    grows, burst = text.value.spec.tests
    (group,) = grows.expect.groups
    assert group.desired is not None
    assert group.settled is not None
    assert [group.desired.holds(number) for number in (2, 3, 4)] == [False, True, False]
    assert [group.settled.holds(number) for number in (1, 2, 4, 5)] == [False, True, True, False]
    assert grows.expect.max_price_per_hour is not None
    assert grows.expect.max_price_per_hour.micros == 4_500_000
    assert burst.expect.max_pending_time is not None
    assert burst.expect.max_pending_time.seconds == 600
    assert grows.given.workloads[0].memory.milli == 2**30 * 1000


def test_what_a_test_gives_replaces_what_all_have_in_common() -> None:
    """A scenario takes the place of the common snapshot."""
    spec = read_policy_tests("prod.yaml", GOOD.encode())[0].value.spec
    grows, burst = (case.given.on(spec.given) for case in spec.tests)
    assert (grows.cluster, grows.scenario, burst.cluster, burst.scenario) == ("../snapshot", "", "", "../burst.yaml")


@pytest.mark.parametrize(("old", "new", "expected"), [
    ("desired: 3", "desird: 3", ("tests/prod.yaml:13:34", "unknown key 'desird'", "did you mean 'desired'?")),
    ("kind: PolicyTest", "kind: PolicyTests", ("tests/prod.yaml:2:7", "unknown kind 'PolicyTests'", "write kind: PolicyTest")),
    ("max: 0", "max: none", ("tests/prod.yaml:16:44", "must be a whole number, not a text", "")),
    ("given: {cluster: ../snapshot}", "given: {}", (
        "tests/prod.yaml:8:7", "nothing is given",
        "write given.cluster (a snapshot), given.scenario or given.clusters, here or in spec.given")),
    ("the burst is served", "the shop grows", (
        "tests/prod.yaml:19:13", "the name 'the shop grows' is taken by the test at tests/prod.yaml:8:13", "write another one")),
    ("nodes: 3..", "desired: 3..", ("tests/prod.yaml:22:43", "a scenario has no desired", "write nodes")),
    ("given: {cluster: ../snapshot}", "given: {cluster: ../snapshot, clusters: {}}", (
        "tests/prod.yaml:6:43", "clusters and something else are given", "write one of them")),
    ("given: {cluster: ../snapshot}", "given: {clusters: {names: [a], labels: {matchLabels: {b: c}}}}", (
        "tests/prod.yaml:6:21", "names and labels are given", "write one of them")),
    ("given: {cluster: ../snapshot}", "given: {clusters: {labels: {}}}", (
        "tests/prod.yaml:6:30", "no label is given", "write matchLabels, or clusters: {} for all")),
    ("maxPricePerHour", "maxCost", ("tests/prod.yaml:17:18", "a snapshot has no maxCost", "leave it out")),
    ("shop/extra", "extra", ("tests/prod.yaml:10:28", "'extra' is not namespace/name", "write it like shop/web")),
    ("replicas: 3", "replicas: 0", ("tests/prod.yaml:10:50", "0 pods cannot be added", "write 1 to 10000")),
])  # fmt: skip
def test_a_mistake_is_told_with_its_place(old: str, new: str, expected: tuple[str, str, str]) -> None:
    """File, line and column are those of the value; the hint says what to write."""
    assert error(old, new) == expected


@pytest.mark.parametrize(("old", "new", "part"), [
    ("2..4", "4..2", "Write the smaller number first"),
    ("2..4", "..", "Write 9, 7..10, 7.. or ..10"),
    ("2..4", "-1", "Write 9, 7..10, 7.. or ..10"),
    ("2..4", "9" * 5000, "Write 9, 7..10, 7.. or ..10"),
    ("2..4", "9" * 18, "Write 9, 7..10, 7.. or ..10"),
    ("2..4", "1.5", "Write 9, 7..10, 7.. or ..10"),
    ("2..4", "true", "Write 9, 7..10, 7.. or ..10"),
    ("10m", "ten", "10m"),
    ('"4.50"', '"4,50 USD"', 'Write "4.50"'),
    ("count: 1", "count: 100000", "1000"),
    ("the shop grows", '""', "the name is empty"),
])  # fmt: skip
def test_values_out_of_range_are_refused(old: str, new: str, part: str) -> None:
    """Ranges, durations and money; a huge number is an ordinary mistake."""
    place, message, hint = error(old, new)
    assert place.startswith("tests/prod.yaml:")
    assert part in f"{message}; {hint}"


def test_a_problem_is_shown_with_its_line_and_a_caret() -> None:
    """As all problems of policies are shown."""
    with pytest.raises(DocumentError) as caught:
        read_policy_tests("tests/prod.yaml", GOOD.replace("heldGroups", "heldGroup").encode())
    assert render_text(caught.value.problems) == (
        "tests/prod.yaml:14:9: error: unknown key 'heldGroup' [UnknownField]\n"
        " 14 |         heldGroup: []\n"
        "    |         ^^^^^^^^^\n"
        "    = hint: did you mean 'heldGroups'?\n"
    )


def test_other_documents_may_stand_beside_them() -> None:
    """Documents of other groups are somebody else's, and several documents are read."""
    text = f"apiVersion: v1\nkind: ConfigMap\n---\n{GOOD}---\n{GOOD}"
    assert len(read_policy_tests("prod.yaml", text.encode())) == 2
    assert not may_hold_tests(b"apiVersion: v1\nkind: ConfigMap\n")


def test_aliases_and_loops_are_bounded() -> None:
    """A text that multiplies itself is refused, as in a policy; one that contains itself, too."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for text in (bomb, "a: &a [*a]\n"):
        with pytest.raises(DocumentError):
            read_policy_tests("bomb.yaml", (GOOD + "---\n" + text).encode())


_PIECES = (
    b"&a ", b"*a", b"!!python/object:os.system ", b"9" * 400, b"\x00", b"\xff", b"{", b"[", b"]", b"}", b": ", b"- ", b"\n",
    b"null", b"~", b"1e309", b".inf", b"'", b'"', b"\t", b"---\n", b"<<: *a", b"? ", b"|\n", b"#", b"\xe2\x80\xae",
    b"true", b"-1", b"../../..",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_never_end_in_a_traceback(seed: int) -> None:
    """Random pieces at random places: the text is read, or the mistake has a place in it."""
    chance = random.Random(seed)
    for _ in range(10):
        text = bytearray(GOOD.encode())
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text[at : at + chance.choice((0, 0, 1, 7))] = chance.choice(_PIECES)
        try:
            read_policy_tests("tests/prod.yaml", bytes(text))
        except DocumentError as error:
            told = [problem.message for problem in error.problems if problem.place.path == "tests/prod.yaml"]
            if len(told) != len(error.problems) or not all(told):
                raise


def test_the_schema_takes_what_the_reader_takes() -> None:
    """For editors: a good text fits, and keys and types that the reader refuses do not."""
    judge = Draft202012Validator(policy_test_schema())
    assert judge.is_valid(yaml.safe_load(GOOD))
    for old, new in (("desired: 3", "desird: 3"), ("max: 0", "max: none"), ("2..4", ".."), ("kind: PolicyTest", "kind: Policy")):
        assert not judge.is_valid(yaml.safe_load(GOOD.replace(old, new)))


def test_the_comment_shows_every_key() -> None:
    """The example at the top of the module is read as it stands, and it names every key that there is."""
    module = Path(__file__).resolve().parents[2] / "reconciler" / "policy" / "policy_test.py"
    lines = [line for line in module.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    shown = "\n".join(line[2:] for line in lines)
    for definition in policy_test_schema()["$defs"].values():
        for key in definition.get("properties", {}):
            if definition["title"] != "StatedWorkload":
                assert f"{key}:" in shown, key
