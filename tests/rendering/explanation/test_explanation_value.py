"""`explain value` for every field of a group: what counts, and from where."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.groups import effective_value
from reconciler.rendering.documents.explanation.subjects import value_names
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.rendering.printers.text.explanation.value import explain_value
from tests.aws.policies import policy_set
from tests.builders import NOW, ClusterBuilder

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  defaults:
    headroom: {nodes: 1}
    hold: {reason: freeze}
    windows: [{name: night, schedule: "0 22 * * *", duration: 8h, size: {max: 2}}]
    template:
      capacity: {cpu: "8", memory: 32Gi}
      reserved: {cpu: 500m}
      labels: {team: a, disk: ssd}
      taints: [{key: dedicated, value: a, effect: NoSchedule}]
      startupTaints: [{key: example.com/agent, effect: NoSchedule}]
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: r}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: default, name: general}}
  hold: {reason: over, until: "2001-01-01T00:00:00Z"}
  template:
    labels: {team: b}
    startupTaints: [{key: example.com/cni, effect: NoSchedule}]
"""


def case(policy: str = POLICY) -> Case:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    world, rules = cluster.world(), policy_set(policy)
    plan, memory = decide(world, rules, Memory(), NOW)
    return Case.of(world, rules, plan, NOW, memory)


def story(path: str) -> str:
    return "\n".join(explain_value(case(), f"general/{path}", 0))


@pytest.mark.parametrize(
    ("path", "first", "source"),
    [
        ("headroom", "headroom of general is nodes 1", "nodes 1 from policy.yaml:6:5 (policy defaults), which wins"),
        ("windows", "windows of general is night", "night from policy.yaml:8:5 (policy defaults), which wins"),
        ("hold", "hold of general is freeze", "freeze from policy.yaml:7:5 (policy defaults), which wins"),
        ("template.reserved", "template.reserved of general is cpu 500m", "cpu 500m from policy.yaml:11:7"),
        ("template.taints", "template.taints of general is dedicated=a:NoSchedule", "policy.yaml:13:7"),
        ("template.capacity", "template.capacity of general is cpu 8, memory 32Gi", "policy defaults"),
        ("template.labels", "template.labels of general is team=b, disk=ssd", "2. disk=ssd from policy.yaml:12:7"),
        (
            "template.startupTaints",
            "template.startupTaints of general is example.com/cni:NoSchedule, example.com/agent:NoSchedule",
            "2. example.com/agent:NoSchedule from policy.yaml:14:7 (policy defaults)",
        ),
    ],
)
def test_a_field_of_several_parts(path: str, first: str, source: str) -> None:
    """Its value, and the level that says it; a hold that has ended says nothing."""
    found = story(path)
    assert found.startswith(first), found
    assert source in found, found


def test_every_field_of_the_model_can_be_asked_for() -> None:
    """`pods` of the headroom and the parts of windows and holds belong to one value; nothing else is left out."""
    known = {name.removeprefix("general/") for name in value_names(case())}
    whole = {"headroom", "windows", "hold"}

    def paths(fields: tuple[object, ...], above: str = "") -> list[str]:
        found: list[str] = []
        for field in fields:
            path = f"{above}{field.yaml_key}"  # type: ignore[attr-defined]
            children = field.children  # type: ignore[attr-defined]
            found += paths(children, f"{path}.") if children and path not in whole and path not in known else [path]
        return found

    assert set(paths(tuple(GROUP_FIELDS))) - known == set()


def test_a_field_that_nobody_says() -> None:
    """There is an answer, also as JSON, and `explain group` does not list it."""
    plain = POLICY.replace("    headroom: {nodes: 1}\n", "")
    found = case(plain)
    assert (
        "\n".join(explain_value(found, "general/headroom", 0))
        == "headroom of general is none\n  1. none from built-in, which wins"
    )
    assert effective_value(found.group("general"), "headroom").value == "none"
    text = "\n".join(explain_group(found, "general", 0))
    assert "  headroom" not in text
    assert "  template.startupTaints: example.com/cni:NoSchedule, example.com/agent:NoSchedule (policy.yaml:" in text
