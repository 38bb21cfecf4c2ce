"""`reconciler explain -o json`, on the captured cluster and the policy of this repository."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ("--policy", str(ROOT / "policies"), "--cluster", str(ROOT / "examples" / "quickstart"))

Explain = Callable[[str, str], Any]


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """The document, held against its schema."""
    judge = Draft202012Validator(json.loads((ROOT / "schemas" / "explain.schema.json").read_text(encoding="utf-8")))

    def call(what: str, name: str) -> Any:
        assert guarded(cli, ["explain", what, name, "-o", "json", *INPUTS]) == 0
        document = json.loads(capsys.readouterr().out)
        assert [f"{error.json_path}: {error.message}" for error in judge.iter_errors(document)] == []
        assert (document["formatVersion"], document["what"]) == ("1.0", what)
        assert [key for key in ("pod", "node", "group", "value") if document[key] is not None] == [what]
        return document[what]

    return call


def test_pod_with_every_group_and_every_node(explain: Explain):
    """20 cores on nodes of 4 and 8: four groups and twelve nodes say so with the plugin's name, and the like of it is named."""
    pod = explain("pod", "batch/giant")
    assert (pod["requests"]["cpu"], pod["requests"]["memory"]) == (20_000, 8 << 30)
    assert pod["decision"]["outcome"] == "Unplaceable"
    assert [entry["group"] for entry in pod["newNodes"]] == ["spot", "auto", "big", "fixed"]
    assert all("NodeResourcesFit" in [said["plugin"] for said in entry["rejections"]] for entry in pod["newNodes"])
    assert [entry["held"] for entry in pod["newNodes"]] == [False, False, False, True]
    assert len(pod["nodes"]) == 12
    assert not any(entry["fits"] for entry in pod["nodes"])
    assert len(pod["alike"]) == 1


def test_pod_that_keeps_its_node(explain: Explain):
    """Its disruption budget is what it keeps it by; no other place is asked for it."""
    pod = explain("pod", "db-0")
    assert (pod["node"], pod["decision"], pod["newNodes"]) == ("big-cvpqs-75zr8", None, [])
    assert "NotEnoughPdb" in [blocker["code"] for blocker in pod["blocks"]]


def test_node_with_its_arithmetic(explain: Explain):
    """By hand from the snapshot: 50m + 700m + 500m + 500m + 100m cpu of 4, rounded up to a permille."""
    node = explain("node", "c1-auto-45vz8-m4ctm-89gsd")
    assert {"resource": "cpu", "requested": 1_850, "allocatable": 4_000, "permille": 463} in node["used"]
    assert (node["pods"], node["thresholdPercent"]) == (5, 50)
    assert [blocker["code"] for blocker in node["decision"]["blockers"]] == ["GroupGrows"]
    assert node["unneededTime"]["value"] == "10m"


def test_group_with_limits_and_the_pods_that_it_cannot_serve(explain: Explain):
    """Twelve nodes of 40 are there: 9 of 4 cores (auto, fixed, spot) and 3 of 8 are 60 of 200; each more takes 4."""
    group = explain("group", "auto")
    limits = {line["resource"]: (line["limit"], line["used"], line["max"], line["oneMore"]) for line in group["limits"]}
    assert limits["nodes"] == ("cluster", 12, 40, 1)
    assert limits["cpu"] == ("cluster", 60_000, 200_000, 4_000)
    assert sorted(len(entry["pods"]) for entry in group["rejected"]) == [2, 3, 5]
    assert group["decision"]["owner"]["state"] == "Ours"
    assert (group["hold"], group["backoff"]) == ("", None)
    assert [node["node"] for node in group["nodes"]] == ["c1-auto-45vz8-m4ctm-89gsd", "c1-auto-45vz8-m4ctm-kz8ph"]
    chain = next(value for value in group["values"] if value["path"] == "size.max")["chain"]
    assert [source["value"] for source in chain] == ["10", "6", "current size"]


def test_held_group_says_what_it_would_do(explain: Explain):
    """The topology declares its replicas: evidence, and one node more if it were not so."""
    group = explain("group", "fixed")
    assert (group["decision"]["held"], group["decision"]["current"], group["decision"]["wanted"]) == (True, 4, 5)
    assert len(group["decision"]["owner"]["evidence"]) == 3


def test_value_with_its_chain(explain: Explain):
    """What is written for the group wins over the target's own annotation."""
    value = explain("value", "auto/size.max")
    assert value["group"] == "auto"
    assert (value["effective"]["value"], len(value["effective"]["chain"])) == ("10", 3)
