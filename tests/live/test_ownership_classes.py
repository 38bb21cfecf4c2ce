"""Every class of owner on real objects, judged by the live loop: each wants a node more than it has, and only some may be
written. All groups are made first and turned over together."""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from reconciler.control.turn.turn_report import ResultState
from reconciler.plan.plan import GroupLine, OwnerState
from reconciler.policy.documents import NodeGroup
from tests.live.own_loop import TESTBED, OwnLoop, done, group
from tests.live.ownership import NO_NODES, applied
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import CORE, Group, machine_deployment, machine_template
from tests.testbed.work_cluster import NAME, WorkCluster, replicas_owners

Make = Callable[[WorkCluster, str], Object]
OURS = ("nodegroup-reconciler", "Apply", "")
HOUR_SECONDS = 3600
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _unset(cluster: WorkCluster, name: str) -> Object:
    """Both sizes and no replicas: the webhook sets the minimum, 0, and nobody owns it."""
    return cluster.machine_deployment(Group(name, min_size=0, max_size=9), NO_NODES)


def _applied_by(manager: str) -> Make:
    return lambda cluster, name: applied(cluster, Group(name, replicas=0), manager)


def _updated_by(manager: str) -> Make:
    return lambda cluster, name: cluster.api.merge(_unset(cluster, name), {"spec": {"replicas": 1}}, manager)


def _client_side(*, replicas: int | None) -> Make:
    """`kubectl apply` as it was before server-side apply: an update, and the manifest in an annotation."""

    def make(cluster: WorkCluster, name: str) -> Object:
        cluster.api.create(machine_template(cluster.namespace, name, NO_NODES))
        item = machine_deployment(cluster.namespace, NAME, Group(name, replicas=replicas, min_size=0, max_size=9), name)
        item["metadata"]["annotations"][LAST_APPLIED] = json.dumps(item)
        made: Object = cluster.api.call(
            "POST", f"{cluster.path('machinedeployments')}?fieldManager=kubectl-client-side-apply", item
        )
        return made

    return make


def _client_side_then_scaled(cluster: WorkCluster, name: str) -> Object:
    item = _client_side(replicas=0)(cluster, name)
    cluster.api.scale(item, 1, manager="scaler")
    return item


def _scaled_by(manager: str) -> Make:
    """An applied value that somebody scales: the applier has lost the field."""

    def make(cluster: WorkCluster, name: str) -> Object:
        item = applied(cluster, Group(name, replicas=0))
        cluster.api.scale(item, 1, manager=manager)
        return item

    return make


def _stripped(cluster: WorkCluster, name: str) -> Object:
    return cluster.api.merge(_unset(cluster, name), {"metadata": {"managedFields": [{}]}})


def _labelled_as_owned(cluster: WorkCluster, name: str) -> Object:
    """The label of a topology on an object that the Cluster's topology does not name."""
    labels = {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/deployment-name": name}
    return cluster.api.merge(_unset(cluster, name), {"metadata": {"labels": labels}})


def _annotated(key: str, value: str) -> Make:
    return lambda cluster, name: cluster.api.merge(_unset(cluster, name), {"metadata": {"annotations": {key: value}}})


def _paused(cluster: WorkCluster, name: str) -> Object:
    return cluster.api.merge(_unset(cluster, name), {"spec": {"paused": True}})


def _deleting(cluster: WorkCluster, name: str) -> Object:
    # The controller writes the whole list when it puts its own finalizer on: ours comes after it, or may be lost.
    item = cluster.until(_unset(cluster, name), lambda one: one["metadata"].get("finalizers"), "the controller's finalizer")
    item = cluster.api.merge(item, {"metadata": {"finalizers": [*item["metadata"]["finalizers"], "test.dev/wait"]}})
    cluster.api.delete(item)
    return item


class Held(NamedTuple):
    """A class that must be left alone: how it is made, and what the plan says."""

    make: Make
    state: OwnerState
    by: str
    evidence: str


HELD = {
    "kubectl": Held(_applied_by("kubectl"), OwnerState.HELD, "kubectl", "kubectl (Apply) owns spec.replicas"),
    "argocd": Held(_applied_by("argocd-controller"), OwnerState.HELD, "argocd-controller", "argocd-controller (Apply)"),
    "flux": Held(_applied_by("kustomize-controller"), OwnerState.HELD, "kustomize-controller", "kustomize-controller (Apply)"),
    "helm": Held(_applied_by("helm"), OwnerState.HELD, "helm", "helm (Apply)"),
    "argocd-update": Held(_updated_by("argocd-controller"), OwnerState.HELD, "argocd-controller", "argocd-controller (Update)"),
    "helm-update": Held(_updated_by("helm"), OwnerState.HELD, "helm", "helm (Update)"),
    "autoscaler-scale": Held(
        _scaled_by("cluster-autoscaler"), OwnerState.HELD, "cluster-autoscaler", "(Update, subresource scale)"
    ),
    "client-side": Held(
        _client_side(replicas=0), OwnerState.HELD, "kubectl-client-side-apply", "the last-applied manifest declares replicas 0"
    ),
    "client-side-scaled": Held(
        _client_side_then_scaled,
        OwnerState.HELD,
        "kubectl-client-side-apply",
        "the last-applied manifest declares replicas 0",
    ),
    "kubectl-scale": Held(_scaled_by("kubectl"), OwnerState.HELD, "kubectl", "a person's write holds for 1h"),
    "kubectl-edit": Held(_updated_by("kubectl-edit"), OwnerState.HELD, "kubectl-edit", "a person's write holds for 1h"),
    "stripped": Held(_stripped, OwnerState.UNKNOWN, "", "managedFields are missing"),
    "mislabelled": Held(_labelled_as_owned, OwnerState.UNKNOWN, "topology", "could not be read"),
    "paused-object": Held(_annotated("cluster.x-k8s.io/paused", "true"), OwnerState.HELD, "pause", "cluster.x-k8s.io/paused"),
    "paused-rollout": Held(_paused, OwnerState.HELD, "pause", "spec.paused"),
    "deleting": Held(_deleting, OwnerState.HELD, "deletion", "has a deletion timestamp"),
}
WRITTEN: dict[str, Make] = {
    "unset": _unset,
    "client-side-without": _client_side(replicas=None),
    "scaled": _scaled_by("scaler"),
    "patched": _updated_by("terraform"),
}


class Outcome(NamedTuple):
    """What became of all groups: their first and last line by name, the objects as they were made, what we asked for
    on them, and how many requests on each were accepted (one on an object that moves is refused and made again)."""

    loop: OwnLoop
    first: dict[str, GroupLine]
    last: dict[str, GroupLine]
    made: dict[str, Object]
    writes: list[str]
    accepted: dict[str, int]

    def asked(self, name: str) -> list[str]:
        """The requests of ours on one group, refused ones included."""
        return [write for write in self.writes if write.endswith(f" {name}")]


def _policed(cluster: WorkCluster, *names: str) -> list[NodeGroup]:
    """Groups that must have two nodes and have fewer."""
    return [group(name, cluster.namespace, least=2) for name in names]


@pytest.fixture(scope="module")
def outcome(cluster_api: ClusterApi) -> Iterator[Outcome]:
    cluster = WorkCluster(cluster_api.api, "owner-classes")
    makers = {**{name: held.make for name, held in HELD.items()}, "held": _annotated("reconciler.dev/hold", "recovering")}
    makers |= WRITTEN
    made = {name: make(cluster, name) for name, make in makers.items()}
    # An adoption is two writes: one whose second meets the status of a young object three times goes on as a resize.
    cluster.until_quiet()
    named = ("scaler", "terraform", TESTBED)
    with OwnLoop(cluster_api.plane, cluster.namespace, *_policed(cluster, *makers), adopt_from=named) as loop:
        first = {line.name: line for line in _lines(loop)}
        for _ in range(6):
            _lines(loop)
        last = {line.name: line for line in _lines(loop)}
        requests = cluster_api.plane.audit(loop.user)
        accepted = {name: sum(one.name == name and one.code < 300 for one in requests) for name in makers}
        yield Outcome(loop, first, last, made, loop.writes(), accepted)
    cluster.api.merge(made["deleting"], {"metadata": {"finalizers": None}})
    for name in ("paused-object", "paused-rollout"):
        unpaused = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}, "spec": {"paused": None}}
        cluster.api.merge(made[name], unpaused)
    cluster.delete()


def _lines(loop: OwnLoop) -> tuple[GroupLine, ...]:
    report = loop.loop.turn()
    assert report.plan is not None, report.unavailable
    return report.plan.groups


@pytest.mark.parametrize("name", HELD)
def test_what_somebody_else_decides_is_left_alone(outcome: Outcome, name: str) -> None:
    """Held with its owner and the evidence, still after seven turns, and not one request on it."""
    for line in (outcome.first[name], outcome.last[name]):
        assert (line.owner.state, line.owner.by, line.held) == (HELD[name].state, HELD[name].by, True), line.owner
        assert HELD[name].evidence in "; ".join(line.owner.evidence)
    assert (outcome.first[name].desired, outcome.first[name].wanted) == (outcome.first[name].current, 2)
    assert outcome.asked(name) == []


def test_our_hold_annotation_holds_what_is_ours(outcome: Outcome) -> None:
    """Ours by evidence, held by the annotation, with its reason."""
    line = outcome.last["held"]
    assert (line.held, line.desired) == (True, 0)
    assert "recovering" in " ".join(reason.message for reason in line.reasons)
    assert outcome.asked("held") == []


@pytest.mark.parametrize("name", WRITTEN)
def test_what_nobody_declares_is_written_and_becomes_ours(outcome: Outcome, name: str) -> None:
    """Unowned, or written by a program that the policy names: two replicas, and our apply owns them, alone; nothing is written
    twice. What somebody wrote is taken over first, by a claim and an apply of the same value."""
    item = outcome.loop.plane.api.read(outcome.made[name])
    assert (item["spec"]["replicas"], replicas_owners(item)) == (2, [OURS])
    assert outcome.last[name].owner.state is OwnerState.OURS
    requests = 3 if name in ("scaled", "patched") else 1
    assert outcome.accepted[name] == requests


def _held(outcome: Outcome, name: str) -> GroupLine:
    return next(line for line in _lines(outcome.loop) if line.name == name)


def test_a_persons_write_holds_for_its_time_and_is_then_taken_over(outcome: Outcome) -> None:
    """Held until an hour after it was written (or, where the write carries no time, first seen); then adopted and resized."""
    loop = outcome.loop
    names = ("kubectl-scale", "kubectl-edit")
    loop.ahead_seconds = HOUR_SECONDS - 300
    assert {_held(outcome, name).owner.state for name in names} == {OwnerState.HELD}
    loop.ahead_seconds = HOUR_SECONDS + 300
    items = [outcome.made[name] for name in names]
    loop.until(lambda _: all(loop.plane.api.read(item)["spec"]["replicas"] == 2 for item in items), "two replicas")
    assert [replicas_owners(loop.plane.api.read(item)) for item in items] == [[OURS], [OURS]]
    loop.ahead_seconds = 0


@pytest.mark.parametrize(("name", "manager"), [("argocd", "argocd-controller"), ("client-side", "kubectl")])
def test_what_the_policy_names_is_adopted_with_its_value(outcome: Outcome, name: str, manager: str) -> None:
    """The declared value is taken over as it is, by an act of its own; only then is it changed."""
    loop, item = outcome.loop, outcome.made[name]
    loop.decide_by(group(name, loop.namespace, least=2), adopt_from=(manager,))
    adopting = loop.until(lambda report: done(report, "Adopt"), "the adoption")
    adopted = loop.plane.api.read(item)
    acted = [one.action.kind for one in adopting.results if one.action.group == name and one.state is ResultState.DONE]
    assert acted == ["Adopt"]
    assert (adopted["spec"]["replicas"], replicas_owners(adopted)) == (item["spec"]["replicas"], [OURS])
    loop.until(lambda _: loop.plane.api.read(item)["spec"]["replicas"] == 2, "two replicas")
    assert replicas_owners(loop.plane.api.read(item)) == [OURS]
    assert "replicas" not in loop.plane.api.read(item)["metadata"].get("annotations", {}).get(LAST_APPLIED, "")


def test_a_paused_cluster_holds_its_groups(outcome: Outcome, cluster_api: ClusterApi) -> None:
    """Every group of a paused Cluster is held by the pause, also what is ours."""
    loop = outcome.loop
    cluster = {"apiVersion": CORE, "kind": "Cluster", "metadata": {"name": NAME, "namespace": loop.namespace}}
    loop.decide_by(group("unset", loop.namespace, least=2))
    cluster_api.api.merge(cluster, {"spec": {"paused": True}})
    loop.line("unset", lambda line: line.owner.state is OwnerState.HELD)
    loop.decide_by(group("unset", loop.namespace, least=5))
    held = [loop.line("unset") for _ in range(3)][-1]
    cluster_api.api.merge(cluster, {"spec": {"paused": False}})
    assert (held.owner.by, held.wanted) == ("pause", 5)
    assert loop.plane.api.read(outcome.made["unset"])["spec"]["replicas"] == 2


def test_a_scale_to_zero_leaves_no_owner(outcome: Outcome, cluster_api: ClusterApi) -> None:
    """The applier loses the field and the scaler is not recorded: who scaled to zero cannot be read anywhere."""
    api, namespace = cluster_api.api, outcome.loop.namespace
    api.create(machine_template(namespace, "to-zero", NO_NODES))
    item = api.apply(machine_deployment(namespace, NAME, Group("to-zero", replicas=1), "to-zero"), "kubectl")
    api.scale(item, 0, manager="kubectl-scale")
    after = api.read(item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (0, [])
