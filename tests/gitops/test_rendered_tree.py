"""Kustomizations and charts of a tree, as the real kustomize and helm render them, and what is not given to them at all."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from reconciler.gitops import isolated_run, rendered_tree
from reconciler.gitops.rendered_tree import needs_rendering, render, render_places
from tests.deploy.rendered import installed
from tests.gitops.repositories import NOW, POLICY, GitRepo, group, write_cluster

BASE = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: dock-a}
spec: {clusterName: harbour, replicas: 3}
"""
OVERLAY = """\
namePrefix: prod-
namespace: capi
resources: [../base]
patches:
  - target: {kind: MachineDeployment}
    patch: |-
      - {op: replace, path: /spec/replicas, value: 5}
"""
TREE = {"base/md.yaml": BASE, "base/kustomization.yaml": "resources: [md.yaml]\n", "prod/kustomization.yaml": OVERLAY}
CHART = {"Chart.yaml": "apiVersion: v2\nname: dock\nversion: 0.1.0\n", "values.yaml": "replicas: 5\n",
         "templates/md.yaml": BASE.replace("replicas: 3", "replicas: {{ .Values.replicas }}")}  # fmt: skip
OURS = POLICY + "---\n" + group("prod-dock-a")


def tool(name: str) -> str:
    return installed(name)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """kustomize and helm, as where a runner has them."""
    monkeypatch.setenv("PATH", ":".join(str(Path(tool(name)).parent) for name in ("kustomize", "helm")), prepend=":")


def tree_of(texts: dict[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in texts.items()}


def below(directory: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def test_an_overlay_stands_for_what_it_takes_in() -> None:
    """One place, with another name and size than the base has."""
    (one,) = render_places(tree_of(TREE), tool)
    assert (one.place, one.reads) == ("prod", ("base", "prod"))
    assert one.text is not None, one.why
    assert b"name: prod-dock-a" in one.text
    assert b"replicas: 5" in one.text


def test_a_chart() -> None:
    """With its own values."""
    (one,) = render_places(tree_of(CHART), tool)
    assert one.text is not None, one.why
    assert b"replicas: 5" in one.text


def test_a_list_of_its_own_files_is_judged_as_it_is_written() -> None:
    """It changes nothing."""
    assert render_places({"kustomization.yaml": b"resources: [a.yaml, b/]\n", "a.yaml": b""}, tool) == ()
    assert not needs_rendering({"kustomization.yaml": b"resources: [a.yaml]\n"}, "")
    assert needs_rendering({"kustomization.yaml": b"resources: [../base]\n"}, "")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("generators: [g.yaml]", "has generators, which may start a program"),
        ("transformers: [g.yaml]", "has transformers, which may start a program"),
        ("validators: [g.yaml]", "has validators, which may start a program"),
        ("helmCharts: [{name: a}]", "has helmCharts, which may start a program"),
        ("somethingNew: 1", "has somethingNew, which may start a program"),
        ("resources: [https://example.org/a.yaml]", "is not in this tree, and nothing is fetched"),
        ("resources: ['github.com/a/b?ref=v1']", "is not in this tree, and nothing is fetched"),
        ("resources: [../../../etc]", "is not in this tree, and nothing is fetched"),
        ("components: [/etc]", "is not in this tree, and nothing is fetched"),
        ("namePrefix: [", "cannot read"),
    ],
)
def test_what_is_not_known_to_be_safe_is_not_rendered(line: str, why: str) -> None:
    """No program is started for it: there is none here."""
    files = tree_of({"prod/kustomization.yaml": f"{line}\n", "base/kustomization.yaml": "resources: [../prod]\n"})
    assert why in render(files, "prod", lambda _: "/nowhere").why
    assert why in render(files, "base", lambda _: "/nowhere").why


def test_a_machine_that_cannot_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started there."""
    monkeypatch.setattr(isolated_run.platform, "machine", lambda: "riscv64")
    assert render(tree_of(TREE), "prod", tool).why == "this machine cannot isolate a program from the network"


@pytest.mark.parametrize(("schema", "why"), [
    ('{"$ref": "file:///etc/passwd"}', "refers to file:///etc/passwd, which is not in the same file"),
    ('{"properties": {"a": [{"$ref": "other.json#/a"}]}}', "refers to other.json#/a"),
    ('{"\\u0024ref": "https://example.org/a"}', "refers to https://example.org/a"),
    ('{"$dynamicRef": "/etc/passwd"}', "refers to /etc/passwd"),
    ('{"$schema": "file:///etc/passwd"}', "refers to file:///etc/passwd"),
    ('{"$schema": "https://json-schema.org/draft-07/schema/../../../x"}', "refers to https://json-schema.org"),
    ("{}}", "cannot read"),
])  # fmt: skip
@pytest.mark.parametrize("place", ["values.schema.json", "charts/inner/values.schema.json"])
def test_a_schema_refers_to_itself_alone(schema: str, why: str, place: str) -> None:
    """No program is started for any other one."""
    told = render(tree_of(CHART | {place: schema}), ".", lambda _: "/nowhere").why
    assert why in told
    assert place in told


@pytest.mark.usefixtures("programs")
def test_a_schema_of_its_own() -> None:
    """It is used."""
    schema = """{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
        "definitions": {"a": {"properties": {"replicas": {"maximum": MOST}}}}}"""
    (one,) = render_places(tree_of(CHART | {"values.schema.json": schema.replace("MOST", "4")}), tool)
    assert one.why == "it ended with 1"
    (one,) = render_places(tree_of(CHART | {"values.schema.json": schema.replace("MOST", "5")}), tool)
    assert one.text is not None, one.why


def test_helm_reads_nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses a file that a schema names, even if our check misses it. The file alone is a correct schema."""
    monkeypatch.setattr(rendered_tree, "_schema_refused", lambda *_: "")
    (tmp_path / "outside.json").write_text("{}")
    schema = json.dumps({"$ref": f"file://{tmp_path}/outside.json"})
    assert render(tree_of(CHART | {"values.schema.json": schema}), ".", tool).why == "it ended with 1"


def test_all_places_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is named."""
    monkeypatch.setattr(rendered_tree, "MOST_SECONDS", -1)
    files = {f"{name}/{path}": text for name in "ab" for path, text in CHART.items()}
    found = {one.place: one.why for one in render_places(tree_of(files), tool)}
    assert found == dict.fromkeys("ab", "the places before it took more than 60 s")


def test_what_a_program_says(tmp_path: Path) -> None:
    """Its code, and the places of the tree that it names; not its words, which may quote any file."""
    files = tree_of(TREE | {"prod/kustomization.yaml": OVERLAY + "images: 7\n"})
    why = render(files, "prod", tool).why
    assert why == "it ended with 1"


def validated(tmp_path: Path, texts: dict[str, str]) -> Result:
    below(tmp_path / "policies", {"p.yaml": OURS})
    words = ["validate", str(tmp_path / "policies"), "--manifests", str(below(tmp_path / "manifests", texts))]
    return CliRunner().invoke(cli, words, prog_name="reconciler")


@pytest.mark.usefixtures("programs")
def test_validate_judges_what_is_rendered(tmp_path: Path) -> None:
    """The group's target has its name from the overlay alone."""
    done = validated(tmp_path, TREE)
    assert "manifests/prod (rendered):" in done.output
    assert "MachineDeployment capi/prod-dock-a declares replicas 5, and NodeGroup prod-dock-a decides them" in done.output
    assert done.exit_code == 1


def test_validate_says_what_it_did_not_render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command to run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    told = " ".join(validated(tmp_path, TREE).output.split())
    assert "manifests/prod/kustomization.yaml:1:1: warning: this directory is judged as written, not as rendered" in told
    assert "cannot find kustomize on the PATH [ManifestUnrendered]" in told
    assert (
        f"if you trust the tree, run `kustomize build {tmp_path}/manifests/prod`, and name the directory with its output" in told
    )


POLICIES = {
    "base/kustomization.yaml": "resources: [policy.yaml]\n",
    "base/policy.yaml": OURS,
    "overlays/prod/kustomization.yaml": "resources: [../../base]\npatches:\n  - target: {kind: NodeGroup}\n    patch: |-\n"
    "      - {op: replace, path: /spec/size/max, value: MAX}\n",
}


def repository(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    for number, branch in ((5, "before"), (9, "after")):
        made.commit({path: text.replace("MAX", str(number)) for path, text in POLICIES.items()}, branch)
        made.git("branch", branch)
    return made


def previewed(tmp_path: Path, *words: str) -> Result:
    cluster = write_cluster(tmp_path / "cluster")
    asked = ["preview", *words, "--cluster", str(cluster), "--now", NOW, "-o", "json"]
    return CliRunner().invoke(cli, asked, prog_name="reconciler", standalone_mode=False)


def test_a_preview_of_an_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both commits are rendered, with the base beside the overlay; nothing is checked out."""
    made = repository(tmp_path)
    monkeypatch.setattr("reconciler.cli.inputs.preview_sides.render", lambda files, place: render(files, place, tool))
    done = previewed(tmp_path, "--repo", str(made.root), "--base", "before", "--head", "after", "--path", "overlays/prod")
    assert done.exception is None, done.exception
    (change,) = json.loads(done.stdout)["changes"]
    assert (change["name"], change["path"], change["before"], change["after"]) == ("prod-dock-a", "size.max", "5", "9")


def test_a_preview_that_cannot_render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence has the command."""
    made = repository(tmp_path)
    monkeypatch.setattr("reconciler.cli.inputs.preview_sides.render", lambda files, place: render(files, place, lambda _: None))
    done = previewed(tmp_path, "--repo", str(made.root), "--base", "before", "--head", "after", "--path", "overlays/prod")
    (problem,) = json.loads(done.stdout)["policyProblems"]
    assert (problem["file"], problem["severity"]) == ("overlays/prod/kustomization.yaml", "error")
    assert problem["message"] == (
        "no policy in the files as they are, and they were not rendered: cannot find kustomize on the PATH"
    )
    assert problem["hint"].startswith("if you trust the tree, run `kustomize build overlays/prod`")


def test_a_policy_that_is_read_as_it_is_written(tmp_path: Path) -> None:
    """The loop that follows the place reads it so; that a kustomization would change it is said."""
    base, head = (
        below(tmp_path / side, {"p.yaml": OURS, "kustomization.yaml": "namePrefix: a-\nresources: [p.yaml]\n"})
        for side in ("base", "head")
    )
    done = previewed(tmp_path, "--base-dir", str(base), "--head-dir", str(head))
    assert done.exception is None, done.exception
    codes = [one["code"] for one in json.loads(done.stdout)["policyProblems"]]
    assert codes == ["ManifestUnrendered"]


def test_a_preview_of_two_overlays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each within the checkout that it lies in."""
    sides = []
    for side, number in (("base", 5), ("head", 9)):
        top = below(tmp_path / side, {path: text.replace("MAX", str(number)) for path, text in POLICIES.items()})
        (top / ".git").mkdir()
        sides.append(str(top / "overlays" / "prod"))
    monkeypatch.setattr("reconciler.cli.inputs.preview_sides.render", lambda files, place: render(files, place, tool))
    done = previewed(tmp_path, "--base-dir", sides[0], "--head-dir", sides[1])
    assert done.exception is None, done.exception
    assert [change["after"] for change in json.loads(done.stdout)["changes"]] == ["9"]
