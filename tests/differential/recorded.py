"""Answers of kube-scheduler's filter plugins that were written down: `python -m tests.differential.recorded` asks them again.

A cluster is named by what makes it (seed and features), so that the file holds answers only; a digest of the cluster tells
when the generator has moved on. Each cluster is asked about twice: as it stands, and after some pods came and others went.
"""

import hashlib
import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from tests.differential.campaign import COMPARED, Trial, trials
from tests.differential.oracle import Oracle

Object = dict[str, Any]

FILE = Path(__file__).parent / "recorded.json"
# One sign a plugin.
_PLUGINS = {
    "a": "InterPodAffinity",
    "b": "VolumeBinding",
    "d": "DynamicResources",
    "f": "NodeDeclaredFeatures",
    "l": "NodeVolumeLimits",
    "n": "NodeAffinity",
    "o": "NodePorts",
    "r": "NodeResourcesFit",
    "s": "PodTopologySpread",
    "t": "TaintToleration",
    "u": "NodeUnschedulable",
    "v": "VolumeRestrictions",
    "x": "NotModelled",
    "z": "VolumeZone",
}
_SIGNS = {name: sign for sign, name in _PLUGINS.items()}
_MOST_NODES = 9
_EACH_FEATURE, _MIXTURES, _EVERYTHING, _UNPROMISED = 2, 8, 2, 4
# Features that nominate pods: only `fit` takes them into account, not the state behind it.
_NOMINATING = frozenset({"promises", "phases"})
_EVERY_WAITING_POD = 3
MOST_PLACED = 7
_PLACED_KINDS, _TRIED_KINDS = 4, 12


class Answers(msgspec.Struct, frozen=True):
    """One text a waiting pod (pods by name) and in it one word a node (nodes by name): a sign for every plugin that says no, `-`
    where the pod fits."""

    pods: tuple[str, ...]

    def told(self) -> list[list[tuple[str, ...]]]:
        """Why each node rejects each waiting pod."""
        return [[tuple(_PLUGINS[sign] for sign in word.replace("-", "")) for word in words.split()] for words in self.pods]


class Placed(msgspec.Struct, frozen=True):
    """Pods like this waiting one, one after the other, each bound to the first node (by name) that took it then; ends with
    the first that no node took, or after `MOST_PLACED`."""

    pod: str
    nodes: tuple[int, ...]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, what was said of it, what was said after the moves (see `moved`), and where equal pods went."""

    seed: int
    features: tuple[str, ...]
    digest: str
    first: Answers
    second: Answers
    placed: tuple[Placed, ...] = ()

    def __str__(self) -> str:
        many = len(COMPARED) - len(self.features)
        return f"{'-'.join(self.features) if many > len(_NOMINATING) else f'all-but-{many}'}-{self.seed}"

    @property
    def promises(self) -> bool:
        """May pods be nominated to nodes?"""
        return not _NOMINATING.isdisjoint(self.features)

    def snapshot(self) -> Object:
        """The cluster; raises ValueError where the generator makes another one by now."""
        snapshot = _cluster(Trial(self.seed, self.features))
        if digest_of(snapshot) != self.digest:
            raise ValueError("the generator has changed: run python -m tests.differential.recorded")
        return snapshot


def _cluster(trial: Trial) -> Object:
    """The trial's cluster with some of its waiting pods: each is asked about alone, whatever others there are."""
    snapshot = trial.snapshot()
    kept = set(waiting(snapshot)[::_EVERY_WAITING_POD])
    items = [item for item in snapshot["items"] if item["kind"] != "Pod" or not _waits(item) or _key(item) in kept]
    return snapshot | {"items": items}


def digest_of(snapshot: Object) -> str:
    """What tells two snapshots apart."""
    return hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode()).hexdigest()[:16]


def recorded() -> list[Recorded]:
    """All that was written down."""
    return msgspec.json.decode(FILE.read_bytes(), type=list[Recorded])


class Moves(msgspec.Struct, frozen=True):
    """`arrive` are (pod, node) of pods that were pending, `leave` are pods that ran; pods as `namespace/name`."""

    arrive: tuple[tuple[str, str], ...]
    leave: tuple[str, ...]


def moves(snapshot: Object, first: Answers) -> Moves:
    """Every second pending pod goes to the last node that takes it; every third running pod leaves. Pods with volumes, claims
    or a promise stay where they are: that they run changes more than the pod."""
    nodes, pods = node_names(snapshot), _pods(snapshot)
    arrive = []
    for key, told in zip(waiting(snapshot), first.told(), strict=True):
        takes = [node for node, reasons in zip(nodes, told, strict=True) if not reasons]
        if takes and _is_plain(pods[key]):
            arrive.append((key, takes[-1]))
    plain = [key for key, pod in pods.items() if _is_plain(pod) and pod["spec"].get("nodeName") in nodes]
    running = [key for key in plain if pods[key]["status"].get("phase") == "Running"]
    return Moves(tuple(arrive[::2]), tuple(running[::3]))


def node_names(snapshot: Object) -> list[str]:
    """Sorted."""
    return sorted(item["metadata"]["name"] for item in snapshot["items"] if item["kind"] == "Node")


def waiting(snapshot: Object) -> list[str]:
    """Pods without a node that are neither terminating nor finished, sorted. The recording holds the oracle to it."""
    return [key for key, pod in _pods(snapshot).items() if _waits(pod)]


def _waits(pod: Object) -> bool:
    finished = pod["status"].get("phase") in ("Succeeded", "Failed")
    return not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"] and not finished


def _pods(snapshot: Object) -> dict[str, Object]:
    return dict(sorted(((_key(item), item) for item in snapshot["items"] if item["kind"] == "Pod"), key=lambda one: one[0]))


def moved(snapshot: Object, made: Moves) -> Object:
    """The cluster after the moves."""
    arrive, items = dict(made.arrive), []
    for item in snapshot["items"]:
        key = _key(item) if item["kind"] == "Pod" else ""
        if key in made.leave:
            continue
        if key in arrive:
            items.append(_running(item, arrive[key]))
        else:
            items.append(item)
    return snapshot | {"items": items}


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _is_plain(pod: Object) -> bool:
    spec, status = pod["spec"], pod["status"]
    special = spec.get("volumes") or spec.get("resourceClaims") or spec.get("schedulingGates") or "nominatedNodeName" in status
    return not special and "deletionTimestamp" not in pod["metadata"]


def _chosen() -> Iterator[Trial]:
    """Small clusters: each feature alone, mixtures, and all features at once."""
    alone = dict.fromkeys(COMPARED, _EACH_FEATURE) | {"spread": 5, "interPodAffinity": 4}
    mixed, everything = _MIXTURES, _EVERYTHING
    for trial in trials(60 * len(COMPARED), 1):
        if not _is_small(trial):
            continue
        if len(trial.features) == 1 and alone[trial.features[0]]:
            alone[trial.features[0]] -= 1
        elif len(trial.features) == len(COMPARED) and everything:
            everything -= 1
        elif 1 < len(trial.features) < len(COMPARED) and mixed:
            mixed -= 1
        else:
            continue
        yield trial
    unpromised = tuple(name for name in COMPARED if name not in _NOMINATING)
    yield from islice((trial for seed in count() if _is_small(trial := Trial(seed, unpromised))), _UNPROMISED)


def _is_small(trial: Trial) -> bool:
    return len(node_names(trial.snapshot())) <= _MOST_NODES


def asked(oracle: Oracle, snapshot: Object) -> Answers:
    """What the oracle says now. Raises ValueError where it is about other pods."""
    told = sorted(oracle.ask(snapshot)["pods"], key=lambda pod: str(pod["pod"]))
    if [pod["pod"] for pod in told] != waiting(snapshot):
        raise ValueError("other pods wait than were asked about")
    pods = []
    for pod in told:
        nodes = sorted(pod["nodes"], key=lambda node: str(node["node"]))
        pods.append(" ".join("".join(_SIGNS[name] for name in node["reasons"]) or "-" for node in nodes))
    return Answers(tuple(pods))


def _placed(oracle: Oracle, snapshot: Object, first: Answers) -> Iterator[Placed]:
    """The first kinds of pods whose place hangs on other pods, and that do not all go to one node."""
    chosen = [
        key
        for key, told in zip(waiting(snapshot), first.told(), strict=True)
        if () in told and _is_plain(pod := _pods(snapshot)[key]) and _minds_others(pod)
    ]
    others = [item for item in snapshot["items"] if item["kind"] != "Pod" or not _waits(item)]
    left = _PLACED_KINDS
    for key in chosen[:_TRIED_KINDS]:
        pod, items, nodes = _pods(snapshot)[key], [*others], list[int]()
        while len(nodes) < MOST_PLACED:
            copy = pod | {"metadata": pod["metadata"] | {"name": f"copy-{len(nodes)}", "uid": f"copy-{len(nodes)}"}}
            (told,) = asked(oracle, snapshot | {"items": [*items, copy]}).told()
            if () not in told:
                break
            nodes.append(told.index(()))
            items.append(_running(copy, node_names(snapshot)[nodes[-1]]))
        if left and (len(set(nodes)) > 1 or len(nodes) < MOST_PLACED):
            left -= 1
            yield Placed(key, tuple(nodes))


def _minds_others(pod: Object) -> bool:
    affinity = pod["spec"].get("affinity") or {}
    ports = any(port.get("hostPort") for container in pod["spec"]["containers"] for port in container.get("ports") or ())
    near = affinity.get("podAffinity") or affinity.get("podAntiAffinity")
    return bool(ports or near or pod["spec"].get("topologySpreadConstraints"))


def _running(pod: Object, node: str) -> Object:
    return pod | {"spec": pod["spec"] | {"nodeName": node}, "status": pod["status"] | {"phase": "Running"}}


def main() -> None:
    """Ask everything again."""
    found = []
    with Oracle() as oracle:
        for trial in _chosen():
            snapshot = _cluster(trial)
            first = asked(oracle, snapshot)
            second = asked(oracle, moved(snapshot, moves(snapshot, first)))
            made = Recorded(
                seed=trial.seed,
                features=trial.features,
                digest=digest_of(snapshot),
                first=first,
                second=second,
                placed=() if not _NOMINATING.isdisjoint(trial.features) else tuple(_placed(oracle, snapshot, first)),
            )
            found.append(msgspec.json.encode(made).decode())
    FILE.write_text("[\n" + ",\n".join(found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
