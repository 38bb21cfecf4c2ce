"""The previewer, which decides on what a pull request wrote: nothing in it takes the time of the others."""

import time
from pathlib import Path

import msgspec
import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.processes.preview_bounds import PreviewBounds, PreviewTooDearError, bounded_tellings
from reconciler.cli.processes.preview_child import PreviewTask
from reconciler.control.previewer import Done
from reconciler.gitops.git.repository import PolicyFiles
from reconciler.policy.documents.group_fields import MOST_NODES
from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import DocumentKind, document_kinds
from reconciler.policy.tree import read_tree
from reconciler.policy.values.pattern import check_pattern, matches
from tests.gitops.conftest import cluster, first_commit, repo
from tests.gitops.previewing import MINUTE, MORE, Place, Run, github
from tests.gitops.repositories import group

__all__ = ["cluster", "first_commit", "github", "repo"]

NOW = 1795262400
BOUNDS = PreviewBounds()
ROOT = Path(__file__).resolve().parents[2]
GROUP = """apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: g, namespace: n}
spec:
  policyRef: {name: p}
  target: {clusterAPI: {kind: MachineDeployment, namespace: n, name: g}}
"""


def fields(field: Field) -> list[Field]:
    """A field with all below it."""
    below = [*field.children, *([field.item] if field.item is not None else [])]
    return [field, *(found for part in below for found in fields(part))]


@pytest.mark.parametrize("size", ["size: {min: 3000000, max: 3000000}", "headroom: {nodes: 3000000}"])
def test_a_size_that_nobody_has_is_refused(size: str) -> None:
    """Before anything is decided on it, with the most that is taken."""
    found = read_tree({"g.yaml": f"{GROUP}  {size}\n".encode()}, now_seconds=NOW)
    assert [problem.code for problem in found.problems if str(MOST_NODES) in problem.message]


@pytest.mark.parametrize("kind", document_kinds(), ids=lambda kind: kind.kind)
def test_every_number_has_a_bound(kind: DocumentKind) -> None:
    """Whatever field is added: an integer without a largest value is a way to stall the previewer."""
    assert [field.yaml_key for field in fields(kind.root) if field.kind is Kind.INTEGER and field.maximum is None] == []


def task() -> PreviewTask:
    """The example's policy against itself."""
    policy = {path.name: path.read_bytes() for path in sorted((ROOT / "policies").glob("*.yaml"))}
    sides = (
        PolicyFiles(revision="0" * 40, root="", exists=True, files=policy),
        PolicyFiles(revision="1" * 40, root="", exists=True, files=policy),
    )
    return PreviewTask(
        world=load_world(ROOT / "examples" / "quickstart"), before=sides[0], after=sides[1], branches=("main", "#7"),
        merged=False, keys=("small",), names=(None,),
    )  # fmt: skip


@pytest.mark.parametrize(("bounds", "said"), [
    ({"seconds": 0.05}, "took more than 0.05 s"),
    ({"memory_bytes": 1 << 20}, "more than 1 MiB of memory"),
    ({"output_bytes": 10}, "is longer than 0 MiB"),
])  # fmt: skip
def test_a_preview_is_ended_at_its_bounds(bounds: dict[str, float], said: str) -> None:
    """Time, memory and output, each by the kernel and whatever the preview does: the process that waits goes on."""
    with pytest.raises(PreviewTooDearError, match=said):
        bounded_tellings(task(), msgspec.structs.replace(BOUNDS, **bounds))


def test_a_child_knows_no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No environment but what it needs, no import from where it runs; and it does its work."""
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "pickle.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    (told,) = bounded_tellings(task(), BOUNDS)
    assert (told.key, told.head, told.changed, told.cut_short) == ("small", "1" * 40, False, False)


def test_one_slow_pull_request_is_told_and_waits_behind_the_others(github: Place, cluster: Path) -> None:
    """Its own comment says why; after that it comes last, also with a new commit, until a preview of it passes."""
    run = Run(github, cluster)
    run.telling.bounds = PreviewBounds(seconds=0.05)
    github.push(3, MORE)
    assert run.round() == [(3, Done.CREATED)]
    assert "took more than 0.05 s and was ended" in github.host.of(3)[0]["body"]
    run.telling.bounds = BOUNDS
    github.push(7, MORE)
    run.clock += 20 * MINUTE
    assert run.round() == [(7, Done.CREATED), (3, Done.RECENT)]
    github.push(3, {"policies/general.yaml": group("general").replace("min: 1", "min: 3")})
    run.clock += 20 * MINUTE
    assert run.round() == [(7, Done.UNCHANGED), (3, Done.UPDATED)]
    github.push(7, {"policies/general.yaml": group("general").replace("min: 1", "min: 2")})
    run.clock += 20 * MINUTE
    assert [number for number, _ in run.round()] == [3, 7]


def test_a_pattern_that_stalls_others_does_not_stall_us() -> None:
    """The pattern of the attack, on the longest name that there is, ten thousand times: no time to speak of."""
    pattern, name = "[a-z]*[a-z]*[a-z]*!", "a" * 253
    check_pattern(pattern)
    began = time.process_time()
    assert not any(matches(pattern, name) for _ in range(10_000))
    assert time.process_time() - began < 30
