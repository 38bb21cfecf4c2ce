"""`plan --rollout GROUP`: what is predicted, in every format, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.cluster import defects
from reconciler.decisions.removal.rollouts import rollout
from reconciler.decisions.view import View
from reconciler.plan.rollout import Rollout
from reconciler.rendering.documents.rollout import rollout_document
from reconciler.rendering.printers.html.rollout import rollout_html
from reconciler.rendering.printers.text.document import document_text
from reconciler.rendering.words.fold import EVERYTHING, Fold
from tests.cli.inputs.test_completing import completed
from tests.decisions.removal.test_rollout import many_kept, many_waves
from tests.rendering.printers.html.test_html import Elements
from tests.schemas.conftest import validator

ROOT = Path(__file__).resolve().parents[3]
INPUTS = ("--policy", str(ROOT / "policies"), "--cluster", str(ROOT / "examples" / "quickstart"))
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, output and errors of `plan` on the captured cluster."""

    def call(*words: str) -> tuple[int, str, str]:
        code = guarded(cli, ["plan", *INPUTS, *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def test_a_group_of_the_captured_cluster(run: Run) -> None:
    """Four nodes, of which two have a pod that may not be evicted; the MachineDeployment says maxSurge 1."""
    code, out, _ = run("--rollout", "fixed", "-o", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["nodes"], found["atOnce"], found["surge"], len(found["waves"])) == (4, 1, 1, 2)
    assert [[blocker["code"] for blocker in kept["blockers"]] for kept in found["kept"]] == [["LocalStorage"], ["NotSafeToEvict"]]
    assert found["held"] == "topology controller decides its replicas"
    assert not list(validator("rollout").iter_errors(found))


def test_a_node_that_judging_fails_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out, and the others are predicted."""
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))
    whole = rollout.predict_rollout

    def predict(view: View, name: str) -> Rollout:
        first = view.world.nodes[0]
        if not view.world.node_shapes[first.shape].unschedulable:
            raise ZeroDivisionError("made up")
        return whole(view, name)

    monkeypatch.setattr(rollout, "predict_rollout", predict)
    assert run("--rollout", "auto")[0] == 0


def test_the_beginning_of_a_name_is_enough(run: Run) -> None:
    whole, begun = run("--rollout", "fixed"), run("--rollout", "fi")
    assert whole == begun
    assert whole[1].startswith("Rollout of fixed: 2 nodes in 2 waves, 1 at a time, ")


@pytest.mark.parametrize("output", ["text", "markdown", "html"])
def test_every_format_says_the_same(run: Run, output: str) -> None:
    """What a reader must know stands in each of them."""
    code, out, _ = run("--rollout", "fixed", "-o", output)
    told = " ".join(Elements(out).text) if output == "html" else out
    words = " ".join(told.replace("\n>", " ").replace("\n!", " ").replace("`", "").split())
    assert code == 0
    for said in (
        "This is a prediction. Nothing is written",
        "The group is held: topology controller decides its replicas",
        "Rollout of fixed: 2 nodes in 2 waves, 1 at a time, ",
        "[LocalStorage]",
        "[NotSafeToEvict]",
        "maxSurge 1, maxUnavailable 0",
        "shop/web allows 3 evictions now and covers 8 pods on 4 nodes",
        "c1-fixed-bq6lz-rdw9z-6hp82",
        "A new node is ready after 4s, the median of 4 of the group.",
        "$0.192 per hour",
    ):
        assert said in words, said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rollout", "nobody"), "no group 'nobody' in this cluster and policy. There are 4: auto, big, fixed, spot."),
        (("--rollout", "fixd"), "Did you mean fixed?"),
        (("--rollout", ""), "name a group. There are 4: "),
        (("--rollout", "big", "--out", "plan.json"), "--rollout makes no plan that --out could save"),
        (("--rollout", "big", "--group", "big"), "leave --group, --node and --pod-namespace out"),
    ],
)
def test_what_cannot_be_answered(run: Run, words: tuple[str, ...], told: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert told in " ".join(err.split())
    assert not Path("plan.json").exists()


def test_exit_codes_are_those_of_a_plan(run: Run) -> None:
    """2 where nodes would be replaced; none of `big` can be."""
    assert [run("--rollout", group, "--detailed-exitcode")[0] for group in ("fixed", "big")] == [2, 0]


def test_figures_about_the_command(run: Run) -> None:
    _, _, err = run("--rollout", "fixed", "--stats")
    assert {"load", "decide", "render"} <= json.loads(err.splitlines()[-1]).keys()


def test_group_names_are_completed() -> None:
    policy, cluster = ROOT / "policies", ROOT / "examples" / "quickstart"
    assert completed(f"reconciler plan --cluster {cluster} --policy {policy} --rollout b") == (["big"], "")


def test_many_waves_are_counted_unless_all_are_asked_for() -> None:
    """Of thirty, 24 are told; `--wide` tells all."""
    found = many_waves(30)
    folded = document_text(rollout_document(found, Fold()), width=100)
    assert "and 6 more waves: `--wide` or `-o json` has all" in folded
    assert "general-9" not in folded
    assert "general-9" in document_text(rollout_document(found, EVERYTHING), width=0)


def test_many_nodes_that_stay_are_counted() -> None:
    """Of thirty, 24 are named, and the rest counted with the gravest of them."""
    found = many_kept(30)
    folded = " ".join(document_text(rollout_document(found, Fold()), width=100).split())
    assert "Nodes that cannot be drained: 30" in folded
    assert "and 6 more nodes, the gravest: general-4: pod shop/web-4: PodDisruptionBudget shop/web allows 0 evictions" in folded
    assert document_text(rollout_document(found), width=0).count("[NotEnoughPdb]") == 30


def test_a_page_of_a_large_group_is_bounded() -> None:
    """As that of a plan: 4 MiB."""
    assert len(rollout_html(many_kept(2_000))) < 4 << 20
