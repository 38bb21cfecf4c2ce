"""Scenario files are checked, and mistakes are told with their place."""

import pytest

from reconciler.policy.reading.typed_text import DocumentError
from reconciler.simulation.scenarios.scenario import read_scenario

GOOD = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  start:
    groups:
      - {name: general, nodes: 2, cpu: "4", memory: 16Gi}
    workloads:
      - {name: shop/web, replicas: 6, cpu: 500m}
  until: 1h30m
  machines:
    - {group: general, joinAfter: 2m, outOfStock: [{from: 5m, to: 20m}]}
  events:
    - {at: 5m, scale: {workload: shop/web, replicas: 20}}
    - {at: 1h, hold: {target: general, reason: "repair"}}
"""


def _error(old: str, new: str) -> tuple[str, str, str]:
    """(place, message, hint) of the one problem after replacing a piece of the good text."""
    assert old in GOOD
    with pytest.raises(DocumentError) as caught:
        read_scenario("scenarios/small.yaml", GOOD.replace(old, new).encode())
    (problem,) = caught.value.problems
    return str(problem.place), problem.message, problem.hint


def test_values_are_read_with_their_units():
    """Durations are seconds, quantities thousandths."""
    spec = read_scenario("small.yaml", GOOD.encode()).scenario.spec
    assert (spec.until.seconds, spec.interval.seconds) == (5_400, 10)
    assert (spec.start.groups[0].cpu.milli, spec.start.groups[0].memory.milli) == (4_000, 16 * 2**30 * 1_000)
    assert (spec.start.workloads[0].cpu.milli, spec.machines[0].out_of_stock[0].to.seconds) == (500, 1_200)


def test_policy_documents_may_stand_beside_it():
    """Documents of another API group are somebody else's."""
    text = GOOD + "---\napiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: x}\nspec: {}\n"
    assert read_scenario("small.yaml", text.encode()).scenario.metadata.name == "small"


def test_unknown_key_is_told_with_place_and_suggestion():
    """The place is that of the key."""
    assert _error("joinAfter", "joinAftr") == (
        "scenarios/small.yaml:12:24",
        "unknown key 'joinAftr'",
        "did you mean 'joinAfter'?",
    )


def test_unknown_key_inside_an_event():
    """Suggestions come from the object that the key stands in."""
    place, _, hint = _error("replicas: 20", "replica: 20")
    assert (place, hint) == ("scenarios/small.yaml:14:44", "did you mean 'replicas'?")


def test_wrong_type_is_told_at_the_value():
    """A count that is no number."""
    place, message, _ = _error("replicas: 20", "replicas: many")
    assert (place, message) == ("scenarios/small.yaml:14:54", "must be a whole number, not a text")


def test_duration_without_unit():
    """The hint says how to write it."""
    place, message, _ = _error("at: 5m", "at: 5")
    assert place == "scenarios/small.yaml:14:12"
    assert "Write it like 90s, 10m or 1h30m" in message


def test_bad_quantity():
    """The quantity's own message is shown."""
    place, message, _ = _error("memory: 16Gi", "memory: 16GB")
    assert place == "scenarios/small.yaml:7:53"
    assert "16GB" in message


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("{at: 5m}", "This one has none"),
        ("{at: 5m, policy: x.yaml, scale: {workload: shop/web, replicas: 20}}", "This one has scale, policy"),
    ],
)
def test_event_does_exactly_one_thing(new, words):
    """Neither nothing nor two things."""
    place, message, _ = _error("{at: 5m, scale: {workload: shop/web, replicas: 20}}", new)
    assert place == "scenarios/small.yaml:14:7"
    assert words in message


def test_event_after_the_end():
    """It would never happen."""
    place, message, _ = _error("at: 5m,", "at: 5h,")
    assert place == "scenarios/small.yaml:14:12"
    assert "outside the scenario" in message


def test_start_needs_a_cluster_or_groups():
    """Neither is a mistake, and so are both."""
    assert "not both" in _error("    groups:", "    cluster: x\n    groups:")[1]


def test_workload_is_named_with_its_namespace():
    """`web` alone could be anywhere."""
    assert _error("name: shop/web, replicas: 6", "name: web, replicas: 6")[1] == "'web' is not namespace/name"


def test_file_without_scenario():
    """The message says what the file must begin with."""
    with pytest.raises(DocumentError) as caught:
        read_scenario("x.yaml", b"kind: List\n")
    assert "kind: Scenario" in caught.value.problems[0].hint


def test_broken_yaml_is_told_with_its_place():
    """The YAML reader's own finding is passed on."""
    with pytest.raises(DocumentError) as caught:
        read_scenario("x.yaml", b"a: [1,\n")
    assert caught.value.problems[0].place.path == "x.yaml"
