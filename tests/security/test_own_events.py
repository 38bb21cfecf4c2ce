"""Our account, taken over, writes Events: it may tell what it tells, and neither speak for others nor touch what they wrote."""

import uuid
from collections.abc import Iterator

import pytest

from reconciler.kube.connection.transport import connect
from reconciler.kube.leading.events import EventRecorder, Happening, Subject
from tests.deploy.attempt import Attempt, Guarded, Object, deleted, forced, merge
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, Installed
from tests.testbed.api import ApiError
from tests.testbed.control_plane import MASTERS, ControlPlane

NAMESPACE = "own-events"
PATH = "/apis/events.k8s.io/v1/namespaces/{}/events"
CONTROLLER = "reconciler.dev/nodegroup-reconciler"
TARGET = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "name": "general", "namespace": NAMESPACE}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "namespace": NAMESPACE}
METADATA = "labels, annotations, finalizers and owners of an Event may not be written"
CONTROLLER_ONLY = "an Event of ours names the reconciler as its controller"
SERIES_ONLY = "only the series of an Event of ours may be changed"
PLACE = "an Event lies in the namespace of the object that it is about"
ABOUT = "Events are about targets, objects of reconciler.dev, and pods that ask for nodes"
ELSEWHERE = "Events beside targets are written in the namespaces of our targets"


def event(name: str, regarding: Object = TARGET, metadata: Object | None = None, **fields: object) -> Object:
    """One as the product writes it, but for what is given."""
    return {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": NAMESPACE, **(metadata or {})},
        "eventTime": "2026-11-21T12:00:00.000000Z", "reportingController": CONTROLLER, "reportingInstance": "reconciler-0",
        "action": "Resize", "reason": "ScaledUp", "note": "2 -> 3", "type": "Normal", "regarding": regarding, **fields,
    }  # fmt: skip


def made(**fields: object) -> Attempt:
    return Attempt("POST", PATH.format(NAMESPACE), event("e", **fields))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[Guarded]:
    """One overlay whose account may write Events; it is an administrator besides."""
    for name in (NAMESPACE, "clusters"):
        control_plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "test", force=True)
    installed = Installed(control_plane, request.param)
    ours = installed.user(MASTERS)
    installed.wait_for_policies()
    yield Guarded(ours, installed.user(MASTERS, name="somebody"))
    installed.remove()


IN_EVERY_OVERLAY = pytest.mark.parametrize("guarded", ["observe", "enforce"], indirect=True, scope="module")


@pytest.fixture
def written(control_plane: ControlPlane) -> Iterator[tuple[Object, Object]]:
    """An Event of ours, and one of the scheduler."""
    items = (event("ours"), event("theirs", POD, reportingController="default-scheduler", reason="FailedScheduling"))
    for item in items:
        control_plane.api.create(item)
    yield items
    for item in items:
        control_plane.api.delete(item)


@IN_EVERY_OVERLAY
@pytest.mark.parametrize(("fields", "why"), [
    ({"reportingController": "default-scheduler"}, CONTROLLER_ONLY),
    ({"deprecatedSource": {"component": "kubelet", "host": "n1"}}, None),
    ({"metadata": {"labels": {"x": "y"}}}, METADATA), ({"metadata": {"annotations": {"x": "y"}}}, METADATA),
    ({"metadata": {"finalizers": ["example.org/x"]}}, METADATA),
    ({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}}, METADATA),
    ({"regarding": TARGET | {"namespace": "kube-system"}}, None), ({"regarding": TARGET | {"kind": "Cluster"}}, ABOUT),
    ({"regarding": {"apiVersion": "v1", "kind": "Secret", "name": "s", "namespace": NAMESPACE}}, ABOUT),
    ({"regarding": TARGET | {"apiVersion": "xcluster.x-k8s.io/v1"}}, ABOUT),
    ({"regarding": POD, "reason": "BackOff"}, ABOUT), ({"related": POD}, PLACE),
], ids=str)  # fmt: skip
def test_what_is_not_ours_to_tell(guarded: Guarded, fields: Object, why: str | None) -> None:
    """In the name of another controller, with marks on it, about what is no target and no pod of ours, or elsewhere."""
    attempt = made(**fields)
    if why is None:
        # The API server itself holds that an Event lies beside its object, and that new ones have no older source.
        with pytest.raises(ApiError):
            attempt.by(guarded.ours)
        return
    guarded.refused(attempt, why)


@IN_EVERY_OVERLAY
@pytest.mark.parametrize("change", [
    {"metadata": {"labels": {"x": "y"}}}, {"metadata": {"annotations": {"x": "y"}}},
    {"metadata": {"finalizers": ["example.org/x"]}},
], ids=str)  # fmt: skip
def test_marks_on_events_are_not_written(guarded: Guarded, written: tuple[Object, Object], change: Object) -> None:
    """Neither on ours nor on those of others, by whatever kind of patch."""
    ours, theirs = written
    guarded.refused(merge(ours, change), METADATA)
    guarded.refused(merge(theirs, change), "ValidatingAdmissionPolicy 'reconciler-events'")
    guarded.refused(forced(ours, change), METADATA)


@IN_EVERY_OVERLAY
def test_events_of_others_stay(guarded: Guarded, written: tuple[Object, Object]) -> None:
    """Their series, and who they say they are from; ours may become nobody else's either. None is deleted by enforce."""
    ours, theirs = written
    series = {"series": {"count": 5, "lastObservedTime": "2026-11-21T12:10:00.000000Z"}}
    guarded.allowed(merge(ours, series))
    guarded.refused(merge(theirs, series), CONTROLLER_ONLY)
    # The API server itself lets nobody change more than the series of an Event that was written under the newer name.
    for item, change in (
        (theirs, {"reportingController": CONTROLLER, **series}), (ours, {"reportingController": "default-scheduler"}),
        (ours, {"note": "all is well"}), (ours, {"reason": "Held"}), (ours, {"type": "Warning"}),
    ):  # fmt: skip
        with pytest.raises(ApiError) as refusal:
            merge(item, change).by(guarded.ours)
        assert refusal.value.status == 422
    core = {"apiVersion": "v1", "kind": "Event", "metadata": theirs["metadata"]}
    mine = {"apiVersion": "v1", "kind": "Event", "metadata": ours["metadata"]}
    guarded.refused(merge(core, {"reportingComponent": CONTROLLER}), SERIES_ONLY)
    guarded.refused(merge(mine, {"message": "all is well"}), SERIES_ONLY)
    guarded.refused(merge(mine, {"reportingComponent": "default-scheduler"}), CONTROLLER_ONLY)


@IN_EVERY_OVERLAY
def test_the_older_name_of_events_is_no_way_around(guarded: Guarded) -> None:
    """The same objects are served as core/v1."""
    old = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "old", "namespace": NAMESPACE}, "reason": "BackOff",
        "message": "x", "type": "Warning", "source": {"component": "kubelet"}, "involvedObject": POD,
        "reportingComponent": "kubelet", "reportingInstance": "n1", "action": "x", "eventTime": "2026-11-21T12:00:00.000000Z",
    }  # fmt: skip
    guarded.refused(Attempt("POST", f"/api/v1/namespaces/{NAMESPACE}/events", old), CONTROLLER_ONLY)


@IN_EVERY_OVERLAY
def test_the_product_tells_what_it_tells(guarded: Guarded, control_plane: ControlPlane) -> None:
    """Beside targets, pods and objects of ours, with series that count up, written by the product itself."""
    assert guarded.ours
    api = connect(control_plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS, MASTERS), environment={})
    note = f"a note {uuid.uuid4()}"
    recorder = EventRecorder(api, "reconciler-0", lambda: 1_795_000_000.0)
    target = Subject(api_version="cluster.x-k8s.io/v1beta2", kind="MachineDeployment", name="general", namespace=NAMESPACE)
    pod = Subject(api_version="v1", kind="Pod", name="web-0", namespace=NAMESPACE)
    own = Subject(api_version="reconciler.dev/v1alpha1", kind="NodeGroup", name="general", namespace=NAMESPACE, uid="u")
    policy = Subject(api_version="reconciler.dev/v1alpha1", kind="NodeGroupPolicy", name="prod")
    for subject, reason in (
        (target, "Held"),
        (pod, "TriggeredScaleUp"),
        (pod, "NotTriggerScaleUp"),
        (own, "Held"),
        (policy, "X"),
    ):
        for _ in range(2):
            recorder.tell(Happening(subject=subject, reason=reason, action="Resize", note=note))
    assert (recorder.failures, recorder.last_failure) == (0, "")


@pytest.mark.parametrize("guarded", ["enforce"], indirect=True, scope="module")
def test_no_event_is_deleted(guarded: Guarded, written: tuple[Object, Object]) -> None:
    """Where our account only observes, RBAC alone grants no deletion."""
    for item in written:
        guarded.refused(deleted(item), "the reconciler writes no objects of this kind")


@pytest.mark.parametrize("guarded", ["namespaced"], indirect=True, scope="module")
def test_events_beside_targets_are_in_the_namespaces_of_targets(guarded: Guarded) -> None:
    """Where the overlay names them, as the chart does with `targetNamespaces`."""
    guarded.refused(made(), ELSEWHERE)
    guarded.allowed(made(regarding=POD, reason="TriggeredScaleUp"))
    there = event("e", TARGET | {"namespace": "clusters"}, {"namespace": "clusters"})
    guarded.allowed(Attempt("POST", PATH.format("clusters"), there))
