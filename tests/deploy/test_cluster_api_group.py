"""Another API group of Cluster API: one value of the chart, and no other place keeps the old one."""

import re
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendered import VALUES, chart, deployment, helm_template, of_kind

GROUP = "cluster.example.org"


def test_one_value_changes_the_group_everywhere(tmp_path: Path) -> None:
    """Roles, admission policies and the process: with the old name put back, the objects are those of the default."""
    default, other = chart(VALUES["enforce"], tmp_path), chart({**VALUES["enforce"], "clusterAPIGroup": GROUP}, tmp_path)
    environment = {one["name"]: one.get("value") for one in deployment(other)["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert environment.pop("CAPI_GROUP") == GROUP
    left, right = (
        [item for item in objects if item["kind"] not in ("Deployment", "CustomResourceDefinition")]
        for objects in (default, other)
    )
    # A rule in CEL writes each dot as `[.]`.
    written = yaml.safe_dump(right, width=10_000).replace("[.]", ".")
    unchanged = yaml.safe_load(yaml.safe_dump(left, width=10_000).replace("[.]", "."))
    # Labels of a topology and the groups of infrastructure providers end in the usual name and are no part of the value.
    assert re.findall(r".*(?<![.\w])cluster\.x-k8s\.io.*", written) == []
    assert yaml.safe_load(written.replace(GROUP, "cluster.x-k8s.io")) == unchanged


@pytest.mark.parametrize("kind", ["ClusterRole", "ValidatingAdmissionPolicy"])
def test_no_rule_names_the_old_group(kind: str, tmp_path: Path) -> None:
    """A role for the wrong group would grant nothing, and a policy for it would guard nothing."""

    def groups(item: dict) -> set[str]:
        spec = item.get("spec", {}).get("matchConstraints", {})
        rules = [*(item.get("rules") or ()), *spec.get("resourceRules", ()), *spec.get("excludeResourceRules", ())]
        return {group for rule in rules for group in rule.get("apiGroups", ())}

    rendered = of_kind(chart({**VALUES["enforce"], "clusterAPIGroup": GROUP}, tmp_path), kind)
    named = set().union(*map(groups, rendered))
    assert (GROUP in named, "cluster.x-k8s.io" in named) == (True, False)


@pytest.mark.parametrize("wrong", ["", "cluster", "cluster.x-k8s.io/v1beta2", "Cluster.Example.org", "a.b]"])
def test_what_is_no_group_is_refused(wrong: str, tmp_path: Path) -> None:
    """The value is written into rules and expressions as it is."""
    done = helm_template({**VALUES["enforce"], "clusterAPIGroup": wrong}, tmp_path)
    assert done.returncode != 0
    assert "clusterAPIGroup" in done.stderr
