"""Where two answers about one snapshot differ."""

from typing import Any

import msgspec

Object = dict[str, Any]


class Difference(msgspec.Struct, frozen=True, order=True):
    """One pod on one node: what kube-scheduler's plugins say and what we say."""

    pod: str
    node: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.pod} on {self.node}: kube-scheduler {_said(self.theirs)}; reconciler {_said(self.ours)}"

    @property
    def kind(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is different, whoever and wherever: plugins that only they, and only we, name."""
        theirs, ours = set(self.theirs), set(self.ours)
        return tuple(sorted(theirs - ours)), tuple(sorted(ours - theirs))


def differences(theirs: Object, ours: Object) -> list[Difference]:
    """All differences, in order; a pod or node that one side leaves out counts with the reason `(absent)`."""
    left, right = _verdicts(theirs), _verdicts(ours)
    absent = ("(absent)",)
    return [
        Difference(pod, node, left.get((pod, node), absent), right.get((pod, node), absent))
        for pod, node in sorted(left.keys() | right.keys())
        if left.get((pod, node)) != right.get((pod, node))
    ]


def _verdicts(answer: Object) -> dict[tuple[str, str], tuple[str, ...]]:
    found = {}
    for pod in answer["pods"]:
        for node in pod["nodes"]:
            if node["fits"] == bool(node["reasons"]):
                raise ValueError(f"{pod['pod']} on {node['node']}: fits={node['fits']} with reasons {node['reasons']}")
            found[pod["pod"], node["node"]] = tuple(node["reasons"])
    return found


def _said(reasons: tuple[str, ...]) -> str:
    return f"says no ({', '.join(reasons)})" if reasons else "says yes"
