"""Throw-away git repositories with any content, also such that git itself would not commit, and a small cluster beside them."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.objects import container, node, obj, owner, pod, scalable

NOW = "2026-11-21T18:00:00Z"
KINDS = (
    "Node", "Pod", "PodDisruptionBudget", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job",
    "ReplicationController", "Machine", "MachineDeployment", "Namespace",
)  # fmt: skip

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  tiers:
    - name: on-demand
      defaults: {scaleDown: {utilizationThresholdPercent: 20}}
"""
GROUP = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: NAME, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: capi, name: NAME}}
  tier: on-demand
  size: {min: 1, max: 5}
  pricePerHour: "0.192"
"""


def group(name: str) -> str:
    """A NodeGroup document."""
    return GROUP.replace("NAME", name)


BASE = {"policies/prod.yaml": POLICY, "policies/general.yaml": group("general"), "policies/quiet.yaml": group("quiet")}


class GitRepo:
    """A repository on disk; the work tree is only used to make commits."""

    def __init__(self, root: Path, *, object_format: str = "sha1") -> None:
        self.root = root
        if not (root / ".git").exists():
            root.mkdir(parents=True, exist_ok=True)
            self.git("init", "--quiet", "--template=", "--initial-branch=main", f"--object-format={object_format}")

    def git(self, *arguments: str, given: bytes = b"") -> str:
        """Run git without any configuration of the machine; what it prints."""
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": NOW,
            "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_COMMITTER_DATE": NOW,
        }  # fmt: skip
        done = subprocess.run(["git", *arguments], cwd=self.root, env=environment, input=given, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write (None: delete) files and commit everything; the id."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str) -> None:
        """Make a branch at HEAD and go there."""
        self.git("switch", "--quiet", "--create", name)

    def blob(self, content: bytes) -> str:
        """Store a blob; its id."""
        return self.git("hash-object", "-w", "--stdin", given=content)

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Store a tree of (mode, name, id) exactly as given, whatever git thinks of the names; its id."""
        raw = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(object_id) for mode, name, object_id in entries)
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=raw)

    def commit_policies(self, *entries: tuple[str, bytes, str], branch: str = "hostile") -> str:
        """A commit on `main` whose `policies` is a tree of just these entries, as a branch; its id."""
        return self.commit_tree(self.tree(("40000", b"policies", self.tree(*entries))), branch=branch)

    def commit_tree(self, tree: str, branch: str = "hostile") -> str:
        """A commit of a tree on top of `main`, as a branch; its id."""
        commit = self.git("commit-tree", "-p", "main", "-m", "hostile", tree)
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit


def write_cluster(directory: Path) -> Path:
    """Two MachineDeployments: `general` with two nodes of 4 CPUs, a quarter of each requested by two movable pods, and
    `quiet` with one node that is half full. Nobody declares replicas. Nothing is pending."""
    created = "2026-11-20T18:00:00Z"
    meta = {"creationTimestamp": created}
    objects = [scalable(name=name, spec={"replicas": replicas}, meta={"uid": name, "resourceVersion": "7"})
               for name, replicas in (("general", 2), ("quiet", 1))]  # fmt: skip
    for number, (name, target) in enumerate((("general-1", "general"), ("general-2", "general"), ("quiet-1", "quiet"))):
        objects.append(node(name, spec={"providerID": f"sim:///{name}"}, meta=meta))
        objects.append(
            obj("MachineSet", "cluster.x-k8s.io/v1beta2", f"{target}-abcde", "capi",
                meta={"ownerReferences": [owner("MachineDeployment", target)]},
                spec={"clusterName": "c1", "replicas": 1}) if number != 1 else
            obj("Namespace", "v1", "shop")
        )  # fmt: skip
        objects.append(
            obj("Machine", "cluster.x-k8s.io/v1beta2", name, "capi",
                meta={"ownerReferences": [owner("MachineSet", f"{target}-abcde")], **meta,
                      "labels": {"cluster.x-k8s.io/deployment-name": target}},
                spec={"clusterName": "c1", "providerID": f"sim:///{name}"},
                status={"phase": "Running", "nodeRef": {"name": name}})
        )  # fmt: skip
        cpu = "1" if target == "quiet" else "500m"
        objects += [
            pod(
                f"web-6d4cf56db6-{letter}{'xzw'[number]}bcd",
                nodeName=name,
                containers=[container(cpu, "1Gi")],
                meta={**meta, "ownerReferences": [owner("ReplicaSet", "web", "apps/v1")]},
                status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            )
            for letter in "xz"
        ]
    objects.append(obj("ReplicaSet", "apps/v1", "web", "shop", meta={"uid": "uid-web"}, spec={"replicas": 6}))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    kinds = ", ".join(KINDS)
    (directory / "snapshot.yaml").write_text(f'formatVersion: "1.0"\ncapturedAt: {NOW}\ncluster: small\nkinds: [{kinds}]\n')
    return directory
