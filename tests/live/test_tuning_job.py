"""The Indexed Job of the examples on a real control plane. The commands of its pods, run as processes, do what one does alone."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

from tests.cli.commands.test_tune import order_of_tiers, policy, trace
from tests.testbed.api import Object
from tests.testbed.fixtures import NewCluster

ROOT = Path(__file__).resolve().parents[2]
PODS = 3
INDEX = "batch.kubernetes.io/job-completion-index"


def command_of(pod: Object) -> tuple[str, list[str]]:
    """The index that the Job's controller gave a pod, and its arguments as a kubelet expands them."""
    (container,) = pod["spec"]["containers"]
    (variable,) = [one for one in container["env"] if one["name"] == "JOB_COMPLETION_INDEX"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    index = pod["metadata"]["labels"][INDEX]
    return index, [word.replace("$(JOB_COMPLETION_INDEX)", index) for word in container["args"]]


def test_an_indexed_job_comes_to_what_one_machine_does(new_cluster: NewCluster, tmp_path: Path) -> None:
    """Round by round until nothing is missing; then the result is read, and has the bytes of a search without parts."""
    cluster = new_cluster()
    text = (ROOT / "examples" / "tune" / "indexed-job.yaml").read_text(encoding="utf-8")
    job = yaml.safe_load(text.replace("16", str(PODS)).replace("generateName: reconciler-tune-", "name: reconciler-tune"))
    job["metadata"]["namespace"] = cluster.namespace
    cluster.api.create(job)
    path = f"/api/v1/namespaces/{cluster.namespace}/pods?labelSelector=app.kubernetes.io/name=reconciler-tune"
    pods = cluster.api.wait(path, lambda items: len(items) == PODS, "a pod for each index")
    commands = dict(map(command_of, pods))
    assert sorted(commands) == [str(index) for index in range(PODS)]
    (tmp_path / "policies").mkdir()
    policy(tmp_path / "policies")
    demand = trace(tmp_path, order_of_tiers())

    def ran(words: list[str]) -> tuple[str, str]:
        there = [word.replace("/tuning/demand", str(demand)).replace("/tuning", str(tmp_path)) for word in words]
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", *there, "--vary", "tiers=*", "--until", "4h"],
            check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return done.stdout, done.stderr

    for _ in range(6):
        told = [ran(words) for words in commands.values()]
        assert all(out == "" for out, _ in told)
        if all("no trial is missing" in err for _, err in told):
            break
    assert all("no trial is missing" in err for _, err in told)
    whole = [word for word in commands["0"] if not word.startswith("--part")]
    shared, _ = ran(whole)
    alone, _ = ran([word for word in whole if not word.startswith("--resume")])
    assert shared == alone
    assert "cheap, dear" in shared
