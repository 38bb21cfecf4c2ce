"""Damaged snapshots by the hundred: each is read, or refused with one sentence that names the file; nothing else."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import yaml

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot
from reconciler.cluster.world import World
from tests.cluster.damages import Files, damaged

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
CASES = int(os.environ.get("RECONCILER_FUZZ", "300"))
# Kinds whose files are read; the rest of the capture is skipped and cannot be damaged into anything.
READ = [
    "clusters",
    "daemonsets",
    "jobs",
    "machinedeployments",
    "machines",
    "machinesets",
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets",
    "pods",
    "priorityclasses",
    "replicasets",
    "simmachinetemplates",
    "statefulsets",
    "storageclasses",
]


@pytest.fixture(scope="module")
def files() -> Files:
    return {f"{name}.json": (QUICKSTART / f"{name}.json").read_bytes() for name in READ}


def refusal(files: Files) -> SnapshotError | None:
    try:
        world = read_snapshot(files)
    except SnapshotError as error:
        return error
    assert isinstance(world, World)
    assert world.digest
    return None


def outcome(files: Files, what: str) -> str:
    """How the reading of damaged files ended; whatever else is raised ends the test."""
    error = refusal(files)
    if error is None:
        return "read"
    assert error.file in files, f"{what}: {error}"
    assert str(error).startswith(error.file), what
    assert "\n" not in str(error), what
    assert 0 < len(error.message) < 500, what
    return "item named" if error.item else "file named"


def test_damaged_json(files: Files) -> None:
    """No damage gives anything but a World or one sentence, which names file and item; both happen."""
    outcomes: Counter[str] = Counter()
    for seed in range(CASES):
        what, broken = damaged(files, seed)
        outcomes[outcome(broken, f"seed {seed}: {what}")] += 1
    assert min(outcomes["read"], outcomes["item named"]) > CASES // 4
    # What is left is damage to the list itself: its kind, its version, the text before its first item.
    assert outcomes["file named"] < CASES // 20


def test_damaged_yaml(files: Files) -> None:
    """The same for YAML, whose reader is another one."""
    small = {name: files[name] for name in ("nodes.json", "machinedeployments.json", "storageclasses.json")}
    outcomes: Counter[str] = Counter()
    for seed in range(CASES // 10):
        what, broken = damaged(small, seed)
        texts: Files = {}
        for name, body in broken.items():
            try:
                texts[name.replace(".json", ".yaml")] = yaml.safe_dump(json.loads(body)).encode()
            except ValueError:
                # Damaged JSON is odd YAML all the same.
                texts[name.replace(".json", ".yaml")] = body
        outcomes[outcome(texts, f"seed {seed}: {what}")] += 1
    assert min(outcomes["read"], outcomes["item named"]) > 0


def test_truncated_at_every_length() -> None:
    """A list cut at any byte is refused, and the sentence names the file."""
    body = (QUICKSTART / "storageclasses.json").read_bytes()
    for length in range(len(body.rstrip())):
        with pytest.raises(SnapshotError) as refused:
            read_snapshot({"s.json": body[:length]})
        assert refused.value.file == "s.json"
