"""The pages about Argo CD and Flux: files, names, paths, settings and health states are those of the files and of the code."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.control.pages.waiting_pages import awaited_body
from reconciler.control.policy.plan_conditions import of_awaiting, of_group, of_invalid, of_policy
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.kube.custom.status import Condition
from reconciler.plan.plan import GroupLine, Ownership, OwnerState
from reconciler.plan.reason import Reason
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from tests.deploy.rendered import DEPLOY
from tests.deploy.test_health import cel, flux_checks, health, resource
from tests.docs.test_documents import ROOT

PAGES = {"argocd": ROOT / "docs/how-to/argo-cd.md", "flux": ROOT / "docs/how-to/flux.md"}
_FORMS = ("policy-from-git", "policy-as-custom-resources")
_MOST_WORDS = 25


def _line(current: int, desired: int, *, held: bool = False, reason: str = "") -> GroupLine:
    owner = Ownership(state=OwnerState.HELD if held else OwnerState.OURS, by="flux" if held else "", evidence=("it declares 2",))
    reasons = (Reason(reason, "why"),) if reason else ()
    return GroupLine(
        name="a",
        target="t/a",
        tier="spot",
        current=current,
        desired=desired,
        min=0,
        max=9,
        owner=owner,
        held=held,
        reasons=reasons,
    )


def _refused(code: FaultCode) -> tuple[Condition, ...]:
    return of_policy("x is in force", Fault(code=code, message="bad"))


_PROBLEM = Problem(code="Bounds", message="min 5 is above max 3", place=Place("NodeGroup a/b spec.size", 0, 0))
STATES: dict[str, tuple[Condition, ...] | None] = {
    "`AsDesired`": of_group(_line(3, 3), observed=False),
    "`Observed`": of_group(_line(3, 5), observed=True),
    "`Held`": of_group(_line(2, 2, held=True), observed=False),
    "`InForce`": of_policy("x is in force", None),
    "`Resizing`": of_group(_line(3, 5), observed=False),
    "`TargetMissing`": of_group(_line(3, 3, reason="TargetMissing"), observed=False),
    "`ReplicasUnknown`": of_group(_line(3, 3, reason="ReplicasUnknown"), observed=False),
    "`NoPolicy`": of_awaiting("there is no NodeGroupPolicy prod"),
    "no status": None,
    "`InvalidPolicy`": _refused(FaultCode.INVALID_POLICY),
    "`NoGroups`": _refused(FaultCode.NO_GROUPS),
    "any problem of a policy": of_invalid((_PROBLEM,), "It is held", held=True),
}
"""What the page calls it -> the conditions that the loop writes then; None: none yet."""


def _text(tool: str) -> str:
    return PAGES[tool].read_text(encoding="utf-8")


def _rows(text: str, head: str) -> list[list[str]]:
    """The cells below the table that begins with this cell."""
    table = text[text.index(f"| {head} |") :].split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table[2:]]


def _shipped(tool: str) -> dict[str, dict[str, Any]]:
    """`form` -> name -> the object, of the files of one tool."""
    return {
        path.stem: {item["metadata"]["name"]: item for item in yaml.safe_load_all(path.read_text()) if "metadata" in item}
        for path in (DEPLOY / tool).glob("*.yaml")
    }


def _flux_health(conditions: tuple[Condition, ...] | None) -> str:
    check, item = flux_checks()[0], resource(conditions)
    if conditions is None:
        item["status"] = {}
    return "Failed" if cel(check["failed"], item) else "Current" if cel(check["current"], item) else "InProgress"


@pytest.mark.parametrize("tool", PAGES)
def test_each_health_state_is_what_the_tool_makes_of_our_conditions(tool: str) -> None:
    """Every row, by the check that is shipped; the reason is the one that stands in Ready; no state is left out."""
    rows = _rows(_text(tool), "Argo CD says" if tool == "argocd" else "Flux says")
    assert [reason for _, reason, _ in rows] == list(STATES)
    for said, reason, _ in rows:
        conditions = STATES[reason]
        found = health(resource(conditions))[0] if tool == "argocd" else _flux_health(conditions)
        assert found == said, reason
        if conditions is not None and reason.startswith("`"):
            assert next(one.reason for one in conditions if one.type == "Ready") == reason.strip("`")


@pytest.mark.parametrize("tool", PAGES)
def test_each_form_names_its_file_and_the_paths_of_its_overlays(tool: str) -> None:
    """The path while it observes stands in the file, the other is there."""
    text, shipped = _text(tool), _shipped(tool)
    assert [re.findall(r"`([\w-]+)\.yaml`", row[1]) for row in _rows(text, "form")] == [[form] for form in _FORMS]
    paths = _rows(text[text.index("## First policy") :], "form")
    for form, (_, observes, acts) in zip(_FORMS, paths, strict=True):
        spec = shipped[form]["nodegroup-reconciler"]["spec"]
        assert observes.strip("`") == (spec["source"]["path"] if tool == "argocd" else spec["path"])
        assert acts.strip("`").removeprefix("./").endswith("enforce" if form == "policy-from-git" else "enforce-custom-resources")
        assert Path(ROOT, acts.strip("`"), "kustomization.yaml").is_file()


@pytest.mark.parametrize("tool", PAGES)
def test_settings_and_names_are_in_the_files(tool: str) -> None:
    """What the page says of objects and of settings that keep them."""
    text, shipped = _text(tool), _shipped(tool)
    policies = shipped["policy-as-custom-resources"]["node-group-policies"]
    kept = yaml.safe_load((DEPLOY / "base" / "namespace.yaml").read_text())["metadata"]["annotations"]
    if tool == "argocd":
        assert "`Prune=false,Delete=false`" in text
        assert kept["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
        for form in _FORMS:
            application = shipped[form]["nodegroup-reconciler"]
            assert "targetRevision" in application["spec"]["source"]
            assert "finalizers" not in application["metadata"]
        assert "finalizers" not in policies["metadata"]
        waves = {
            name: int(item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
            for name, item in shipped["policy-as-custom-resources"].items()
        }
        assert waves["nodegroup-reconciler"] < waves["node-group-policies"]
        assert policies["spec"]["syncPolicy"]["automated"]["prune"] is False
        assert shipped["projects"]["node-group-policies"]["spec"]["destinations"][0]["namespace"] == "reconciler"
        deleted = {words[0] for words in re.findall(r"^ *argocd app delete (\S+)(.*)$", text, re.M)}
        assert deleted == set(shipped["policy-as-custom-resources"])
        assert "argocd app delete node-group-policies --cascade=false" in text
    else:
        assert "`kustomize.toolkit.fluxcd.io/prune: disabled`" in text
        assert kept["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
        assert "`deletionPolicy: Orphan` and `prune: false`" in text
        assert (policies["spec"]["deletionPolicy"], policies["spec"]["prune"]) == ("Orphan", False)
        assert policies["spec"]["dependsOn"] == [{"name": "nodegroup-reconciler"}]
        assert "tag" in shipped["source"]["nodegroup-reconciler"]["spec"]["ref"]
        deleted = set(re.findall(r"kubectl -n flux-system delete kustomization (\S+)$", text, re.M))
        assert deleted == set(shipped["policy-as-custom-resources"])


@pytest.mark.parametrize("tool", PAGES)
def test_answers_metrics_and_alerts_are_there(tool: str) -> None:
    """As the code and the rules name them."""
    text = _text(tool)
    answer = re.findall(r"`(ok: [^`]*)`", text)
    assert answer == [awaited_body("").decode().strip().removesuffix(":")]
    known = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    metrics = set(re.findall(r"`(reconciler_\w+)`", text))
    assert metrics == {"reconciler_policy_awaited", "reconciler_policy_stalled"}
    assert all(f"| `{name}` |" in known for name in metrics)
    alerts = (DEPLOY / "monitoring" / "alerts.yaml").read_text(encoding="utf-8")
    named = re.findall(r"`(Reconciler\w+)`", text)
    assert named
    assert all(f"alert: {name}\n" in alerts for name in named)


@pytest.mark.parametrize("tool", PAGES)
def test_sentences_are_short(tool: str) -> None:
    """At most 25 words."""
    text = re.sub(r"^ *```.*?^ *```$", "\n\n", _text(tool), flags=re.M | re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    pieces = [piece for block in re.split(r"\n\s*\n|\n *\d+\. |\n\|| \| ", text) for piece in re.split(r"(?<=[.?:;*])\s", block)]
    assert [piece for piece in pieces if len(piece.split()) > _MOST_WORDS] == []
