"""`reconciler apply` as a user runs it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli
from tests.gitops.repositories import BASE, GitRepo, write_cluster

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
POLICIES = ROOT / "policies"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in arguments], prog_name="reconciler", standalone_mode=False)


def apply(path: Path, *arguments: object, policy: Path = POLICIES, cluster: Path = QUICKSTART) -> Result:
    return run("apply", path, "--policy", policy, "--cluster", cluster, "--simulate", *arguments)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of the example cluster."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    result = run("plan", "--policy", POLICIES, "--cluster", QUICKSTART, "--no-settled", "--out", path)
    assert result.exception is None
    return path


def test_the_plan_is_done(saved: Path):
    """What the plan says happens: auto 2 -> 9 and big 3 -> 4, eight nodes join, and ten pods stay pending as planned."""
    result = apply(saved)
    assert (result.return_value, result.stderr) == (0, "")
    assert "  + auto: resize 2 -> 9\n  + big: resize 3 -> 4, in a further turn\n" in result.stdout
    assert "MachineDeployment capi/big: replicas 3 -> 4, written by nodegroup-reconciler" in result.stdout
    assert re.search(r"\n  8 nodes \(", result.stdout)
    assert "pods without a node: 19 before, 10 after" in result.stdout
    assert "Applied: 4 of 4 actions, 1 of them in a further turn." in result.stdout


def test_the_same_bytes(saved: Path):
    """Twice the same run."""
    assert apply(saved, "-o", "json").stdout == apply(saved, "-o", "json").stdout


def test_json(saved: Path, tmp_path: Path):
    """It fits the committed schema, done and refused."""
    judge = Draft202012Validator(json.loads((ROOT / "schemas" / "apply.schema.json").read_text()))
    done = json.loads(apply(saved, "-o", "json").stdout)
    refused = json.loads(apply(saved, "-o", "json", policy=smaller(tmp_path)).stdout)
    for document in (done, refused):
        assert [error.message for error in judge.iter_errors(document)] == []
    assert (done["complete"], refused["complete"]) == (True, False)
    assert done["plan"] == json.loads(saved.read_text())["digest"]
    assert list(judge.iter_errors(done | {"formatVersion": "2.0"})) != []


def smaller(directory: Path) -> Path:
    """The policies with another range for one group."""
    policies = directory / "policies"
    shutil.copytree(POLICIES, policies)
    text = (policies / "on-demand.yaml").read_text()
    assert "size: {min: 2, max: 10}" in text
    (policies / "on-demand.yaml").write_text(text.replace("size: {min: 2, max: 10}", "size: {min: 2, max: 7}"))
    return policies


def test_stale(saved: Path, tmp_path: Path):
    """Another policy: nothing is written, every action says why, exit code 1."""
    result = apply(saved, policy=smaller(tmp_path))
    assert result.return_value == 1
    assert result.stdout.count("[PolicyMoved]") == 4
    assert "bounds of auto were 2..10 when the plan was made and are 2..7 now [BoundsMoved]" in result.stdout
    assert "written by" not in result.stdout
    assert "Applied: 0 of 4 actions, 4 not done." in result.stdout


def test_replicas_moved(saved: Path, tmp_path: Path):
    """Somebody scaled one of two groups: the other is done."""
    cluster = tmp_path / "cluster"
    shutil.copytree(QUICKSTART, cluster)
    targets = json.loads((cluster / "machinedeployments.json").read_text())
    next(item for item in targets["items"] if item["metadata"]["name"].startswith("c1-auto"))["spec"]["replicas"] = 3
    (cluster / "machinedeployments.json").write_text(json.dumps(targets))
    result = apply(saved, cluster=cluster)
    assert result.return_value == 1
    assert "MachineDeployment capi/c1-auto-45vz8 had 2 replicas when the plan was made and has 3 now [ReplicasMoved]" in " ".join(
        result.stdout.split()
    )
    assert "+ big: resize 3 -> 4" in result.stdout


def _damaged(text: str) -> str:
    return text.replace('"to": 9', '"to": 10')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_damaged, "its content does not match its digest"),
        (lambda text: text[: len(text) // 2], "the file is not a plan of `reconciler plan --out`"),
        (lambda text: text.replace('"formatVersion": "1.0"', '"formatVersion": "2.0"'), "unknown formatVersion '2.0'"),
        (lambda _: "{}", "the file is not a plan of `reconciler plan --out`"),
        (lambda _: "[" * 100_000, "the file is not a plan of `reconciler plan --out`"),
        (lambda _: "\ud800".encode("utf-8", "surrogatepass"), "the file is not a plan of `reconciler plan --out`"),
    ],
)
def test_no_plan(saved: Path, tmp_path: Path, change, words: str):
    """What cannot be trusted is not carried out, and the message says what to do."""
    path = tmp_path / "plan.json"
    changed = change(saved.read_text())
    path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    result = apply(path)
    assert result.exception is not None
    assert words in str(result.exception)
    assert result.stdout == ""


def test_no_file(tmp_path: Path):
    """A missing file names the command that makes one."""
    assert "`reconciler plan --out" in str(apply(tmp_path / "none.json").exception)


def test_another_cluster(saved: Path, tmp_path: Path):
    """A mix-up is told once, not action by action."""
    cluster = tmp_path / "cluster"
    shutil.copytree(QUICKSTART, cluster)
    text = (cluster / "snapshot.yaml").read_text()
    (cluster / "snapshot.yaml").write_text(re.sub(r"cluster: \S+", "cluster: other", text))
    assert "the plan is for cluster c1, this is other" in str(apply(saved, cluster=cluster).exception)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--approved-by", "HEAD"], "--approved-by goes with --require-plan"),
        (["--require-plan", "-1"], "-1 is not in the range"),
        (["--require-plan", "1", "--approved-by", "HEAD", "--signer", "ada"], "--signer narrows --allowed-signers or --gpg-keys"),
        (["--require-plan", "1", "--approved-by", "HEAD"], "is valid if its approver signed the commit"),
        (["--require-plan", "1", "--any-author"], "--any-author goes with --approved-by"),
        (["--require-plan", "1", "--gpg-keys", "keys"], "say who may sign the commit of --approved-by REF"),
    ],
)
def test_wrong_usage(saved: Path, arguments: list[str], words: str):
    """Options that belong together."""
    exception = apply(saved, *arguments).exception
    assert words in exception.format_message()


class Removal(NamedTuple):
    """A plan that drains one node with two pods, and a repository for the approval."""

    policies: Path
    cluster: Path
    plan: Path
    repo: GitRepo
    about: str
    """What an approval says beside its ceilings."""

    def apply(self, *arguments: object) -> Result:
        return apply(self.plan, "--repo", self.repo.root, *arguments, policy=self.policies, cluster=self.cluster)


@pytest.fixture(scope="module")
def removal(tmp_path_factory: pytest.TempPathFactory) -> Removal:
    """`general` has two nodes that are 25% full, may have one, and nodes may go at first sight below 50%."""
    directory = tmp_path_factory.mktemp("removal")
    policies, plan = directory / "policies", directory / "plan.json"
    policies.mkdir()
    for name, text in BASE.items():
        changed = text.replace("{utilizationThresholdPercent: 20}", "{utilizationThresholdPercent: 50, unneededTime: 0s}")
        (directory / name).write_text(changed)
    cluster = write_cluster(directory / "cluster")
    run("plan", "--policy", policies, "--cluster", cluster, "--no-settled", "--out", plan)
    saved = json.loads(plan.read_text())
    assert [(action["kind"], action["nodes"]) for action in saved["actions"]] == [("RemoveNode", ["general-1"])]
    return Removal(policies, cluster, plan, GitRepo(directory / "repo"), about(saved))


def about(saved: dict[str, Any]) -> str:
    """The plan as an approval names it, for a day from its instant."""
    digest = saved["actions"][0]["bound"]["policyDigest"]
    return f"policy={digest} plan={saved['digest']} cluster={saved['cluster']} until=2026-11-22T18:00:00Z"


def test_a_removal(removal: Removal):
    """One node is drained, its two pods move, replicas follow; one node is within the limit of one."""
    result = removal.apply("--require-plan", 1)
    assert result.return_value == 0
    assert "  + general: remove general-1 2 -> 1\n" in result.stdout
    assert "1 node (general-1) began to drain" in result.stdout
    assert "2 pods (" in result.stdout
    assert "MachineDeployment capi/general: replicas 2 -> 1, written by nodegroup-reconciler" in result.stdout
    assert "pods without a node: 0 before, 0 after" in result.stdout


def test_removals_need_an_approval(removal: Removal):
    """Above the limit nothing goes; the trailer that the refusal prints lets it go."""
    refused = removal.apply("--require-plan", 0)
    assert refused.return_value == 1
    assert "[NotApproved]" in refused.stdout
    trailer = f"Reconciler-Approve: {removal.about} nodes<=1 evictions<=2"
    assert trailer in " ".join(refused.stdout.split())
    removal.repo.commit({}, f"Fewer nodes\n\n{trailer}\n")
    assert removal.apply("--require-plan", 0, "--approved-by", "HEAD", "--any-author").return_value == 0


def test_a_ceiling_of_evictions(removal: Removal):
    """Two pods would be evicted, one is approved: nothing is."""
    removal.repo.commit({}, f"Fewer nodes\n\nReconciler-Approve: {removal.about} nodes<=1 evictions<=1\n")
    result = removal.apply("--require-plan", 0, "--approved-by", "HEAD", "--any-author")
    assert result.return_value == 1
    told = " ".join(result.stdout.split())
    assert "1 node would leave and 2 pods would be evicted, but the approval covers 1 node and 1 eviction [AboveApproval]" in told
    assert "began to drain" not in told


def test_a_trailer_that_cannot_be_read(removal: Removal):
    """It is told on stderr and approves nothing."""
    removal.repo.commit({}, f"Fewer nodes\n\nReconciler-Approve: {removal.about} nodes=5\n")
    result = removal.apply("--require-plan", 0, "--approved-by", "HEAD", "--any-author")
    assert "warning: Reconciler-Approve: " in result.stderr
    assert "[NotApproved]" in result.stdout


def test_no_such_commit(removal: Removal):
    """The commit of the approval must be there."""
    result = removal.apply("--require-plan", 0, "--approved-by", "nowhere", "--any-author")
    assert "unknown commit 'nowhere'" in str(result.exception)


def test_a_saved_plan_carries_its_policy(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where no policies lie, it is applied by those that it was made with; nothing else of the directory is in the file."""
    monkeypatch.chdir(tmp_path)
    result = run("apply", saved, "--cluster", QUICKSTART, "--simulate")
    assert (result.exception, result.return_value) == (None, 0), result.exception
    assert "Applied: 4 of 4 actions, 1 of them in a further turn." in result.stdout
    policies = tmp_path / "elsewhere"
    shutil.copytree(POLICIES, policies)
    (policies / "secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter2}\n")
    path = tmp_path / "plan.json"
    assert run("plan", "--policy", policies, "--cluster", QUICKSTART, "--no-settled", "--out", path).exception is None
    assert "hunter2" not in path.read_text()
    assert run("apply", path, "--cluster", QUICKSTART, "--simulate").return_value == 0


def test_another_policy_in_a_saved_plan_is_refused(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What it carries is judged like any policy: actions are bound to the digest of the one that they were made with."""
    monkeypatch.chdir(tmp_path)
    changed = tmp_path / "changed.json"
    assert "max: 10}" in saved.read_text()
    changed.write_text(saved.read_text().replace("max: 10}", "max: 7}"))
    result = run("apply", changed, "--cluster", QUICKSTART, "--simulate")
    assert result.return_value == 1
    assert result.stdout.count("[PolicyMoved]") == 4
    changed.write_text(saved.read_text().replace("size: {min: 2, max: 10}", "size: {min: 2, max: ten}"))
    broken = run("apply", changed, "--cluster", QUICKSTART, "--simulate")
    assert "the policy in" in str(broken.exception)
    assert "--policy" in str(broken.exception)
