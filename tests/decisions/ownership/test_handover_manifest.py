"""What a change of manifests that drops replicas comes to. Expected values are those measured on Cluster API 1.14."""

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.decisions.ownership.dropped_replicas import drop_warnings
from reconciler.policy.manifests.dropped_sizes import dropped_sizes
from tests.builders import ClusterBuilder

KEY = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-{}-size"


def _annotations(bounds: tuple[int, int] | None) -> str:
    low, high = bounds or (0, 0)
    return f'{{{KEY.format("min")}: "{low}", {KEY.format("max")}: "{high}"}}' if bounds else "{}"


def _deployment(replicas: int | None, bounds: tuple[int, int] | None = None) -> bytes:
    text = (
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\n"
        f"metadata:\n  name: general\n  namespace: prod\n  annotations: {_annotations(bounds)}\nspec:\n  clusterName: c1\n"
    )
    return (text if replicas is None else f"{text}  replicas: {replicas}\n").encode()


def _cluster(replicas: int | None, bounds: tuple[int, int] | None = None) -> bytes:
    entry = f"        - name: e\n          metadata: {{annotations: {_annotations(bounds)}}}\n"
    text = (
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c1, namespace: prod}\n"
        f"spec:\n  topology:\n    workers:\n      machineDeployments:\n{entry}"
    )
    return (text if replicas is None else f"{text}          replicas: {replicas}\n").encode()


def _messages(base: bytes, head: bytes, cluster: ClusterBuilder | None = None) -> list[str]:
    dropped = dropped_sizes({"old.yaml": base}, {"new.yaml": head})
    return [problem.message for problem in drop_warnings(dropped, (cluster or ClusterBuilder()).world())]


@pytest.mark.parametrize("made", [_deployment, _cluster])
@pytest.mark.parametrize(("before", "bounds", "told"), [
    (3, None, "they become 1: without both"), (3, (1, 9), "they stay 3: with both"), (6, (1, 4), "they become 4: with both"),
])  # fmt: skip
def test_replicas_taken_out(made, before: int, bounds: tuple[int, int] | None, told: str) -> None:
    """Three fall to one; with both annotations three stay in 1 to 9, and six come to four in 1 to 4: plain or in a topology."""
    (message,) = _messages(made(before), made(None, bounds))
    assert told in message
    what = "MachineDeployment prod/general" if made is _deployment else "the topology of Cluster prod/c1 for e"
    assert message.startswith(f"this change takes replicas {before} out of {what}: ")


@pytest.mark.parametrize(("base", "head"), [
    (_deployment(3), _deployment(4)), (_deployment(None), _deployment(None)), (_deployment(3), b""),
    (b"", _deployment(None)), (_cluster(3), _deployment(None)), (_deployment(3), b"kind: {{ .Values.kind }}"),
])  # fmt: skip
def test_nothing_is_taken_out(base: bytes, head: bytes) -> None:
    """Another value, none before, an object that goes, one that comes, another object, a text that cannot be read."""
    assert _messages(base, head) == []


def test_the_place_and_the_lines_to_add() -> None:
    """The warning stands where the object is named now."""
    (problem,) = drop_warnings(dropped_sizes({"a.yaml": _deployment(3)}, {"b.yaml": _deployment(None)}), ClusterBuilder().world())
    assert (str(problem.place), problem.code, problem.severity.value) == ("b.yaml:4:3", "ReplicasDropped", "warning")
    assert KEY.format("min") in problem.hint


def test_what_runs_counts_and_not_what_was_written() -> None:
    """kubectl applied three and seven run: seven fall to four."""
    cluster = ClusterBuilder()
    cluster.target("general", 7, owners=(FieldOwner(manager="kubectl", operation="Apply"),))
    (message,) = _messages(_deployment(3), _deployment(None, (1, 4)), cluster)
    assert "when kubectl leaves replicas out, they become 4" in message


def test_a_second_owner_keeps_what_a_topology_drops() -> None:
    """We applied the same value before: it stays."""
    owners = tuple(FieldOwner(manager=name, operation="Apply") for name in ("capi-topology", "nodegroup-reconciler"))
    evidence = OwnerEvidence(owners=owners, topology_owned=True, topology_deployment="e", topology_replicas=3)
    cluster = ClusterBuilder()
    cluster.target("c1-e-x7k2p", 3, evidence=evidence, cluster_name="c1")
    (message,) = _messages(_cluster(3), _cluster(None), cluster)
    assert "they stay 3, since nodegroup-reconciler owns them as well" in message


def test_another_api_group_is_read_by_its_own_names() -> None:
    """With `CAPI_GROUP` the objects, their annotations and the advice are those of that group, and the usual ones nobody's."""
    other = [_deployment(size).replace(b"cluster.x-k8s.io", b"capi.example.org") for size in (3, None)]
    base, head = ({"a.yaml": text} for text in other)
    assert dropped_sizes(base, head) == ()
    (problem,) = drop_warnings(dropped_sizes(base, head, "capi.example.org"), ClusterBuilder().world())
    assert "they become 1: without both" in problem.message
    assert problem.hint.startswith("write capi.example.org/cluster-api-autoscaler-node-group-min-size and capi.example.org/")


@pytest.mark.parametrize(
    ("manifest", "there", "told"),
    [
        ("prod", ("prod",), 4),
        ("prod", ("lab", "prod"), 4),
        ("prod", ("lab",), 3),
        ("", ("lab",), 4),
        ("", ("lab", "prod"), 3),
    ],
)
def test_which_target_a_manifest_is_about(manifest: str, there: tuple[str, ...], told: int) -> None:
    """That of its namespace; without one the only one of that name. Three are written and seven run: they become four where
    what runs is known, and stay three where it is not."""
    cluster = ClusterBuilder()
    for namespace in there:
        cluster.target("general", 7, namespace=namespace, owners=(FieldOwner(manager="kubectl", operation="Apply"),))
    cluster.target("other", 9, namespace="prod")
    texts = [_deployment(3), _deployment(None, (1, 4))]
    if not manifest:
        texts = [text.replace(b"  namespace: prod\n", b"") for text in texts]
    (message,) = _messages(texts[0], texts[1], cluster)
    assert f"they {'become 4' if told == 4 else 'stay 3'}" in message
    assert f"out of MachineDeployment {'prod/' if manifest else ''}general: " in message


@pytest.mark.parametrize(
    ("before", "bounds", "hint"), [(3, None, True), (3, (1, 9), False), (6, (1, 4), False), (1, None, False)]
)
def test_the_hint_is_given_where_the_size_would_be_lost(before: int, bounds: tuple[int, int] | None, hint: bool) -> None:
    """Not where both annotations bring it into their range, nor where it is what it would become."""
    dropped = dropped_sizes({"a.yaml": _deployment(before)}, {"a.yaml": _deployment(None, bounds)})
    (problem,) = drop_warnings(dropped, ClusterBuilder().world())
    assert bool(problem.hint) is hint


@pytest.mark.parametrize(
    ("kind", "owned", "cluster_name", "told"),
    [
        ("MachineDeployment", True, "c1", "they stay 3"),
        ("MachinePool", True, "c1", "they become 1"),
        ("MachineDeployment", False, "c1", "they become 1"),
        ("MachineDeployment", True, "c2", "they become 1"),
    ],
)
def test_a_topology_is_about_its_own_machine_deployment(kind: str, owned: bool, cluster_name: str, told: str) -> None:
    """That of its Cluster and entry; we own the replicas of the one that is there as well, so that they would stay."""
    owners = tuple(FieldOwner(manager=name, operation="Apply") for name in ("capi-topology", "nodegroup-reconciler"))
    evidence = OwnerEvidence(owners=owners, topology_owned=owned, topology_deployment="e", topology_replicas=3)
    cluster = ClusterBuilder()
    cluster.target("c1-e-x7k2p", 3, evidence=evidence, cluster_name=cluster_name)
    (target,) = cluster.world().targets
    target = msgspec.structs.replace(target, ref=msgspec.structs.replace(target.ref, kind=kind))
    dropped = dropped_sizes({"old.yaml": _cluster(3)}, {"new.yaml": _cluster(None)})
    (problem,) = drop_warnings(dropped, cluster.world(targets=(target,)))
    assert told in problem.message
