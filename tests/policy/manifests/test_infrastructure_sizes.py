"""Sizes in the files of infrastructure tools: each declared size is found at its line, or named as not evaluated.

The files are in `infrastructure.txt`, in the manner of public repositories. A line of it ends in `@error` where a node group
decides the size, in `@warning` where its files do not show whether one does, in `@note` where the size is found and is no
problem, and in `@unread` where the file is broken. SOURCE of what is expected: the documentation of each tool.
"""

import re
from pathlib import Path

import pytest

from reconciler.policy.manifests.declared_sizes import Examined, examined
from reconciler.policy.manifests.infrastructure_sizes import other_sizes
from reconciler.policy.problems.problem import Severity
from reconciler.policy.tree import read_tree

_MARK = re.compile(r" @(error|warning|note|unread)$")
_CASES = re.split(r"^=== ", Path(__file__).with_name("infrastructure.txt").read_text(), flags=re.MULTILINE)[1:]
_TARGETS = (
    "aws: {autoScalingGroup: general-a, region: eu-central-1}",
    "aws: {autoScalingGroup: eks-general-5ac1d4e2, region: eu-central-1}",
    "aws: {autoScalingGroup: eksctl-prod-eu-nodegroup-batch-NodeGroup-1QX, region: eu-central-1}",
    "aws: {autoScalingGroup: shop-Workers-8H2K, region: eu-central-1}",
    "aws: {autoScalingGroup: eks-ClusterNodes8C1D-77aa, region: eu-central-1}",
    "crusoe: {nodePool: h100, location: us-east1-a}",
)
_GROUP = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: group-{number}}}
spec: {{policyRef: {{name: p}}, target: {{{target}}}, size: {{min: 1, max: 9}}}}
"""
_POLICY = """apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: p}
spec:
  discovery: [{name: eks, aws: {region: eu-central-1, tags: {k8s.io/cluster-autoscaler/prod: owned}}}]
"""


def examine(files: dict[str, str]) -> Examined:
    text = _POLICY + "".join(_GROUP.format(number=number, target=target) for number, target in enumerate(_TARGETS))
    sets = read_tree({"p.yaml": text.encode()}, now_seconds=0).sets
    assert sets
    return examined({path: body.encode() for path, body in files.items()}, sets)


@pytest.mark.parametrize("case", _CASES, ids=[case.partition("\n")[0].replace(" ", "-") for case in _CASES])
def test_every_declared_size_is_found_at_its_line_or_named(case: str) -> None:
    files: dict[str, str] = {}
    expected = set()
    for part in re.split(r"^--- ", case, flags=re.MULTILINE)[1:]:
        path, _, text = part.partition("\n")
        lines = text.split("\n")
        expected |= {(path, number, match[1]) for number, line in enumerate(lines, 1) if (match := _MARK.search(line))}
        files[path] = "\n".join(_MARK.sub("", line) for line in lines)
    found = examine(files)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning"}
    told = {
        (problem.place.path, problem.place.line, "unread" if problem.code == "ManifestUnreadable" else words[problem.severity])
        for problem in found.problems
    }
    told |= {(size.place.path, size.place.line, "note") for size in found.others}
    if any(mark == "unread" for _, _, mark in expected):  # at the line of the fault, which differs from that of the mark
        told, expected = {(path, 0, mark) for path, _, mark in told}, {(path, 0, mark) for path, _, mark in expected}
    assert told == expected
    assert len(other_sizes(found.others)) == len(found.others)


@pytest.mark.parametrize(
    ("code", "instead", "text"),
    [
        ("ReplicasInManifest", "lifecycle { ignore_changes = [desired_capacity] }", 'name = "general-a"\n desired_capacity = 1'),
        ("SizeNotEvaluated", "lifecycle { ignore_changes = [desired_capacity] }", "name = var.x\n desired_capacity = 1"),
    ],
)
def test_a_problem_says_what_to_write_instead(code: str, instead: str, text: str) -> None:
    (problem,) = examine({"a.tf": f'resource "aws_autoscaling_group" "g" {{\n {text}\n}}\n'}).problems
    assert problem.code == code
    assert instead in problem.hint
    assert problem.source == " desired_capacity = 1"


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "(" * 50_000 + ")" * 50_000 + "\n",
        "a = " + "[" * 50_000,
        'a = "' + "${" * 50_000,
        'a = "' + '${"' * 25_000 + '"}' * 25_000 + '"\n',
        "a = (" + "/*" * 50_000,
        "a = <<E\n" * 50_000,
        "a = " + "<<" * 50_000 + "\n",
        "a {\n" * 1_000,
        "locals {\n" + "".join(f'a{n} = "${{local.a{n + 1}}}${{local.a{n + 1}}}"\n' for n in range(1000))
        + '}\nresource "aws_autoscaling_group" "g" {\nname = local.a0\ndesired_capacity = 1\n}\n',
        "locals {\n" + "a = local.a\n" * 1000 + '}\nmodule "m" {\nsource = "terraform-aws-modules/eks/aws"\n'
        "eks_managed_node_groups = local.a\n}\n",
    ],
    ids=["brackets", "lists", "templates", "nested", "comments", "heredocs", "angles", "blocks", "doubling", "circle"],
)  # fmt: skip
def test_a_hostile_text_ends_soon_and_is_not_silent(text: str) -> None:
    found = examine({"a.tf": text})
    assert found.problems or found.others or text.startswith(("a = (", "a = <<", 'a = "'))
