"""Each check of a live cluster before the loop runs on it: its state, its words, and what to do."""

import json
from collections.abc import Mapping

import msgspec
import pytest

from reconciler.cluster.workloads.workload import Controller
from reconciler.cluster.world import PolicyClaim, World
from reconciler.control import preflight
from reconciler.control.needed_rights import RunMode
from reconciler.control.preflight import Preflight
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import Served, cluster_api
from reconciler.policy.documents import DefaultConstraint, PolicySet, SchedulerRules
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import LivePlatform
from tests.builders import ClusterBuilder, node_group, policy

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class _Server:
    """Answers by path, allows everything but `refused` (verb and resource), and has a clock."""

    def __init__(self, refused: tuple[str, ...] = (), seconds: int | None = NOW, **answers: object) -> None:
        self.refused = refused
        self.seconds = seconds
        kinds = [{"name": kind.lower(), "kind": kind} for kind in ("MachineDeployment", "MachineSet", "Machine", "Cluster")]
        self.answers: dict[str, object] = {
            "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
            "/apis/cluster.x-k8s.io/v1beta2": {"resources": kinds},
            **answers,
        }

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        found = self.answers.get(path, {})
        if isinstance(found, Exception):
            raise found
        return json.dumps(found).encode()

    def write(self, method: str, path: str, body: dict[str, dict[str, dict[str, str]]]) -> bytes:
        assert (method, path) == ("POST", _REVIEWS)
        asked = body["spec"]["resourceAttributes"]
        return json.dumps({"status": {"allowed": f"{asked['verb']} {asked['resource']}" not in self.refused}}).encode()

    def server_seconds(self) -> int | None:
        return self.seconds


def _checks(
    server: _Server | None = None,
    management: _Server | None = None,
    *,
    mode: RunMode = RunMode.ENFORCE,
    world: World | None = None,
    memory: Memory | None = None,
    policy: PolicySet | None = None,
) -> dict[str, Check]:
    workload = server or _Server()
    found = Preflight(
        workload=workload, management=management or workload, served=(cluster_api(version="v1beta2"),), mode=mode,
        namespace="reconciler", target_namespaces=(), templates=(), world=world or World(captured_seconds=NOW),
        memory=memory or Memory(), now_seconds=float(NOW), policy=policy,
    ).checks()  # fmt: skip
    return {check.code: check for check in found}


def test_all_is_well() -> None:
    """Every check passes, in words that say what was seen."""
    found = {code: (check.state, check.message) for code, check in _checks().items() if code != "ClusterApi"}
    expected = {
        "ServerVersion": "Kubernetes v1.36.3, and 1.30 to 1.37 are supported",
        "Rights": "all rights that Enforce needs are there",
        "Namespace": "Lease and state go to namespace reconciler",
        "Clock": "our clock and the API server's differ by 0 s",
        "CustomResources": "reconciler.dev/v1alpha1 is served",
        "OtherAutoscalers": "no other autoscaler is at work",
        "NodesComeBack": "no node came back after a removal of ours",
    }
    assert {code: found[code] for code in expected} == {code: (State.PASS, message) for code, message in expected.items()}


@pytest.mark.parametrize(
    ("version", "state", "message", "advice"),
    [
        (("1", "29", "v1.29.9"), State.FAIL, "Kubernetes v1.29.9 is too old", "1.30 is the oldest supported"),
        (
            ("1", "38", "v1.38.0"), State.WARN, "Kubernetes v1.38.0 is newer than any this release was tested on",
            "1.30 to 1.37 are supported. A newer release of reconciler may know it",
        ),
        (
            ("2", "1", "v2.1.0"), State.WARN, "Kubernetes v2.1.0 is newer than any this release was tested on",
            "1.30 to 1.37 are supported. A newer release of reconciler may know it",
        ),
        (("1", "x", "odd"), State.FAIL, "Kubernetes odd is too old", "1.30 is the oldest supported"),
    ],
)  # fmt: skip
def test_versions(version: tuple[str, str, str], state: State, message: str, advice: str) -> None:
    """What is wrong with one, and which are supported."""
    answer = dict(zip(("major", "minor", "gitVersion"), version, strict=True))
    found = _checks(_Server(**{"/version": answer}))["ServerVersion"]
    assert (found.state, found.message, found.advice) == (state, message, advice)


@pytest.mark.parametrize(
    ("mode", "refused", "state", "named"),
    [
        (RunMode.ENFORCE, ("create events",), State.WARN, "create events.events.k8s.io (for events)"),
        (RunMode.ENFORCE, ("patch nodes",), State.FAIL, "patch nodes"),
        (
            RunMode.ENFORCE, ("patch nodes", "create events"), State.FAIL,
            "create events.events.k8s.io (for events), and patch nodes",
        ),
        (RunMode.OBSERVE, ("update leases",), State.FAIL, "update leases.coordination.k8s.io in namespace reconciler"),
    ],
)  # fmt: skip
def test_rights_that_are_missing(mode: RunMode, refused: tuple[str, ...], state: State, named: str) -> None:
    """Those that the loop can do without only warn; each is named with what it is for."""
    found = _checks(_Server(refused), mode=mode)["Rights"]
    assert (found.state, found.message) == (state, f"{mode} needs, and we may not: {named}")
    assert found.advice == "bind the role of that mode, or check another with --mode"


def test_rights_of_a_mode_that_needs_less() -> None:
    assert _checks(_Server(("patch nodes",)), mode=RunMode.OBSERVE)["Rights"].state is State.PASS
    assert _checks(_Server(("update leases",)), mode=RunMode.READ_ONLY)["Rights"].state is State.PASS


@pytest.mark.parametrize(
    ("mode", "error", "state", "message"),
    [
        (
            RunMode.ENFORCE, ApiError(404, "NotFound", "x"), State.FAIL,
            "namespace reconciler, for Lease and state, is not there",
        ),
        (RunMode.ENFORCE, ApiError(403, "Forbidden", "may not"), State.WARN, "namespace reconciler: may not"),
        (RunMode.READ_ONLY, ApiError(404, "NotFound", "x"), State.PASS, "nothing is kept in a cluster that is only read"),
    ],
)  # fmt: skip
def test_the_namespace_of_lease_and_state(mode: RunMode, error: ApiError, state: State, message: str) -> None:
    """It has to be there for a loop that writes."""
    found = _checks(_Server(**{"/api/v1/namespaces/reconciler": error}), mode=mode)["Namespace"]
    assert (found.state, found.message) == (state, message)
    assert ("kubectl create namespace reconciler" in found.advice) is (state is State.FAIL)


@pytest.mark.parametrize(
    ("workload", "management", "state", "message"),
    [
        (NOW - 30, NOW, State.PASS, "our clock and the API server's differ by 30 s"),
        (NOW, NOW + 31, State.WARN, "our clock and the API server's are 31 s apart, and ages are counted across both"),
        (NOW - 40, NOW + 31, State.WARN, "our clock and the API server's are 40 s apart, and ages are counted across both"),
        (None, NOW + 5, State.PASS, "our clock and the API server's differ by 5 s"),
        (None, None, State.WARN, "the API server does not tell its time"),
    ],
)
def test_the_clocks_of_both_servers(workload: int | None, management: int | None, state: State, message: str) -> None:
    """The one that is further off counts."""
    found = _checks(_Server(seconds=workload), _Server(seconds=management))["Clock"]
    assert (found.state, found.message) == (state, message)


def test_definitions() -> None:
    """That they are not served is said; any other answer is an error."""
    found = _checks(_Server(**{"/apis/reconciler.dev/v1alpha1": ApiError(404, "NotFound", "x")}))["CustomResources"]
    assert (found.state, found.advice) == (State.WARN, "reconciler schema crds | kubectl apply --server-side -f -")
    with pytest.raises(ApiError, match="500"):
        _checks(_Server(**{"/apis/reconciler.dev/v1alpha1": ApiError(500, "Internal", "x")}))


def _with(*controllers: Controller, rivals: tuple[str, ...] = (), joined: int = 0) -> World:
    cluster = ClusterBuilder()
    if joined:
        cluster.node("n1", created=joined)
    world = cluster.world()
    return msgspec.structs.replace(world, controllers=controllers, rivals=rivals)


def _deployment(name: str, replicas: int = 1, kind: str = "Deployment") -> Controller:
    return Controller(api_group="apps", kind=kind, namespace="kube-system", name=name, uid=name, replicas=replicas)


@pytest.mark.parametrize(
    ("world", "named"),
    [
        (_with(_deployment("karpenter", 2)), "Deployment kube-system/karpenter has 2 replicas"),
        (_with(_deployment("karpenter", 0)), ""),
        (_with(_deployment("karpenter", kind="ReplicaSet")), ""),
        (_with(_deployment("coredns")), ""),
        (
            _with(_deployment("karpenter"), rivals=("a Lease is renewed", "a Lease is renewed")),
            "Deployment kube-system/karpenter has 1 replica, and a Lease is renewed",
        ),
    ],
)
def test_other_autoscalers(world: World, named: str) -> None:
    """Karpenter by its usual name while it has replicas, others by what they write; each once."""
    found = _checks(world=world)["OtherAutoscalers"]
    if not named:
        assert found.state is State.PASS
        return
    assert (found.state, found.message) == (State.WARN, f"another autoscaler is at work: {named}")
    assert found.advice == "scale it to 0 before mode Enforce. Until then its groups are held"


def test_another_policy_with_the_same_targets() -> None:
    """Both policies are named, with the Lease and its holder: one that only lists the target, too. One
    whose Lease is dead, and one of other targets, are not."""
    there = [
        PolicyClaim(target=target, policy=name, namespace="reconciler", holder=f"{name}-0", number=number, live=live)
        for name, target, number, live in (
            ("second", "MachineDeployment prod/general", 1, True), ("third", "MachineDeployment prod/general", 0, True),
            ("dead", "MachineDeployment prod/general", 1, False), ("far", "MachineDeployment prod/other", 1, True),
        )
    ]  # fmt: skip
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = msgspec.structs.replace(cluster.world(), claims=tuple(there))
    found = _checks(world=world, policy=policy(node_group("general")), mode=RunMode.OBSERVE)["OtherPolicies"]
    assert (found.state, found.message) == (
        State.WARN,
        "targets of policy test are also in policy second (Lease reconciler/reconciler-second, held by second-0): "
        "MachineDeployment prod/general, and policy third (Lease reconciler/reconciler-third, held by third-0): "
        "MachineDeployment prod/general",
    )
    assert "the other one holds its group" in found.advice
    assert _checks(world=cluster.world(), policy=policy(node_group("general")))["OtherPolicies"].state is State.PASS


@pytest.mark.parametrize(
    ("joined", "added", "back"),
    [(-3000, 0, False), (-2999, 0, True), (-2400, 0, True), (-2399, 0, False), (-2700, -3000, False), (-2700, -3001, True)],
)
def test_nodes_that_come_back(joined: int, added: int, back: bool) -> None:
    """One that joined within ten minutes after our removal (50 minutes ago), when we had asked for none since."""
    memory = Memory(last_removed_seconds=NOW - 3000, last_added_seconds=NOW + added if added else 0)
    found = _checks(world=_with(joined=NOW + joined), memory=memory)["NodesComeBack"]
    assert found.state is (State.WARN if back else State.PASS)
    if back:
        assert found.message == (
            "n1 joined within 10 minutes after our removal at 2027-01-15T07:10:00Z, and we asked for none: "
            "no autoscaler that we know of is here: look for one outside the cluster"
        )
        world = _with(_deployment("karpenter", 2), joined=NOW + joined)
        assert _checks(world=world, memory=memory)["NodesComeBack"].message.endswith(
            "and we asked for none: Deployment kube-system/karpenter has 2 replicas"
        )
    elif not added:
        assert found.message == "no node came back after 2027-01-15T07:10:00Z"


def _preflight(server: _Server, *served: Served) -> Preflight:
    return Preflight(
        workload=server, management=server, served=served, mode=RunMode.ENFORCE, namespace="reconciler", target_namespaces=(),
        templates=(), world=World(captured_seconds=NOW), memory=Memory(), now_seconds=float(NOW),
    )  # fmt: skip


@pytest.mark.parametrize("there", [True, False])
def test_what_platforms_say(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that is there; where there is none at all, what those say of it that can be missed."""
    found = Check(code="Found", state=State.PASS, message="it is there")
    absent = Check(code="Absent", state=State.WARN, message="nothing is there")
    platforms = (
        LivePlatform(name="one", kinds=(), checks=lambda _: (found,), absent=absent),
        LivePlatform(name="two", kinds=()),
    )
    monkeypatch.setattr(preflight, "live_platforms", lambda: platforms)
    monkeypatch.setattr(preflight, "of_platform", lambda platform, around: around if there else None)
    assert _preflight(_Server())._platforms() == ((found,) if there else (absent,))


def test_rights_are_those_of_the_platforms_that_are_there() -> None:
    """Of Cluster API where nobody said which: it is what most have, and a right that is missing is found before the loop runs."""
    refused = ("patch machinedeployments", "patch machinesets")
    for served in ((), (cluster_api(version="v1beta2"),)):
        found = _preflight(_Server(refused), *served)._rights()
        assert (found.state, "machinedeployments" in found.message) == (State.FAIL, True)
    openshift = Served(platform="openshift", group="machine.openshift.io", version="v1beta1")
    assert "machinedeployments" not in _preflight(_Server(refused), openshift)._rights().message


def test_services_have_to_be_readable_if_the_policy_needs_them() -> None:
    """A policy with a default constraint of DoNotSchedule; ScheduleAnyway decides nothing."""
    server = _Server(refused=("list services",))
    for action, state in (("ScheduleAnyway", State.PASS), ("DoNotSchedule", State.FAIL)):
        constraint = DefaultConstraint(max_skew=1, topology_key="kubernetes.io/hostname", when_unsatisfiable=action)
        rules = policy(node_group("general"), scheduler=SchedulerRules(default_constraints=(constraint,)))
        assert _checks(server, policy=rules)["Rights"].state is state
