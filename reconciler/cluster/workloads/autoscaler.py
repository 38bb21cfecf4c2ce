"""A Cluster Autoscaler, recognized by its container, because tenants choose the names of their Deployments.

SOURCE: the names of all its published images, those per architecture and those of vendors' forks included. Its program, and flags
that no other program combines.
"""

import re
from collections.abc import Iterable

from reconciler.cluster.workloads.workload import Controller
from reconciler.values.plural import count_text

NAME = "cluster-autoscaler"
HOME = "kube-system"
"""Where it runs unless told otherwise."""
_IMAGE = re.compile(rf"{NAME}(-(amd64|arm64|arm|ppc64le|s390x|crusoecloud))?")
_CLOUD = "cloud-provider"
_GROUPS = ("node-group-auto-discovery", "nodes", "scale-down-enabled", "expander", "scale-down-unneeded-time")


def runs_autoscaler(image: str, command: Iterable[str], args: Iterable[str]) -> bool:
    """By the image's own name, whatever the registry; else by the program, or by its flags."""
    words = [*command, *args]
    own = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    program = any(word.rpartition("/")[2] == NAME for word in words[:2])
    return _IMAGE.fullmatch(own) is not None or program or (_flag(words, _CLOUD) and any(_flag(words, one) for one in _GROUPS))


def has_replicas(namespace: str, name: str, replicas: int | None) -> str:
    """Evidence of one at work; empty where it has none. The server's own default where replicas are left out is 1."""
    count = 1 if replicas is None else replicas
    return f"Deployment {namespace}/{name} has {count_text(count, 'replica')}" if count else ""


def at_work(controllers: Iterable[Controller], namespaces: frozenset[str]) -> tuple[str, ...]:
    """Evidence of all in these namespaces."""
    there = (one for one in controllers if one.autoscaler and one.namespace in namespaces)
    return tuple(sentence for one in there if (sentence := has_replicas(one.namespace, one.name, one.replicas)))


def _flag(words: Iterable[str], name: str) -> bool:
    return any(word.lstrip("-").partition("=")[0] == name for word in words if word.startswith("-"))
