"""Kustomizations and charts of a tree, as the real kustomize and helm render them, and what is not given to them at all."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from reconciler.gitops import rendered_tree
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


PROBE = """\
#!{python} -I
import os, socket, sys
def tried(act):
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"
print("inet:", tried(lambda: socket.socket(socket.AF_INET)))
print("unix:", tried(lambda: socket.socket(socket.AF_UNIX)))
print("large:", tried(lambda: open(os.environ["HOME"] + "/x", "wb").write(b"x" * (17 << 20))))
print("secret:", os.environ.get("GITHUB_TOKEN"))
print("path:", repr(os.environ["PATH"]))
"""


def test_the_program_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket, no token, nothing on its PATH, and no file without measure."""
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    probe = tmp_path / "kustomize"
    probe.write_text(PROBE.format(python=sys.executable))
    probe.chmod(0o755)
    rendered = render(tree_of(TREE), "prod", lambda _: str(probe))
    assert rendered.text is not None, rendered.why
    told = dict(line.split(": ") for line in rendered.text.decode().splitlines())
    assert told == {"inet": "PermissionError", "unix": "PermissionError", "large": "OSError", "secret": "None", "path": "''"}


def test_a_machine_that_cannot_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started there."""
    monkeypatch.setattr(rendered_tree.platform, "machine", lambda: "riscv64")
    assert render(tree_of(TREE), "prod", tool).why == "this machine cannot isolate a program from the network"


def test_what_a_program_says(tmp_path: Path) -> None:
    """Why it failed, without the place of the copy."""
    files = tree_of(TREE | {"prod/kustomization.yaml": OVERLAY + "images: 7\n"})
    why = render(files, "prod", tool).why
    assert why.startswith("it ended with 1: ")
    assert "/tmp" not in why


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
