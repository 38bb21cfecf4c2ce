"""Custom resources on a real API server, synced as Argo CD and Flux do, judged, kept, and told their status."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from reconciler.control.policy.custom_resources import CustomResourcePolicy
from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.control.turn.turn_report import ActionResult, ResultState
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.sources.last_good import MemoryLastGoodStore
from reconciler.kube.connection.transport import connect
from reconciler.kube.custom.custom_object import POLICIES, CustomObjects
from reconciler.kube.custom.status import StatusWriter
from reconciler.kube.leading.state import StateObject
from reconciler.plan.plan import Action, ActionKind, Bound, GroupLine, Ownership, OwnerState
from reconciler.plan.reason import Reason
from tests.kube.custom_resources import conditions, definitions, fields_of, kstatus
from tests.kube.synced import NAMESPACE, START, Synced
from tests.testbed.api import Api
from tests.testbed.control_plane import ControlPlane

Object = dict[str, Any]
OURS = "nodegroup-reconciler"
APPLIERS = ("argocd-controller", "kustomize-controller")


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[Api]:
    """The server with our definitions and a namespace for groups."""
    control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    with definitions(control_plane.api):
        yield control_plane.api
    control_plane.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


@pytest.fixture(params=APPLIERS)
def synced(served: Api, control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[Synced]:
    found = Synced(served, connect(control_plane.kubeconfig), request.param)
    yield found
    for item in served.items("/apis/reconciler.dev/v1alpha1/nodegroups"):
        served.delete(item)
    for item in served.items("/apis/reconciler.dev/v1alpha1/nodegrouppolicies"):
        served.delete(item)
    assert found.objects.stop()


def test_status_of_what_others_apply(synced: Synced) -> None:
    """Whoever applies owns metadata and spec, we own the status, and neither anything of the other; no generation moves."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    assert synced.look() is None
    synced.turned(synced.line("a"))
    for item in (synced.read("a"), synced.read()):
        assert item["metadata"]["generation"] == item["status"]["observedGeneration"] == 1
        ours, theirs = fields_of(item, OURS), fields_of(item, synced.manager)
        assert set(ours) == {"status"}
        assert all(field.startswith("status.") for field in ours["status"])
        assert set(theirs) == {""}
        assert theirs[""]
        assert not any(field.startswith("status.") for field in theirs[""])
        operations = {(entry["manager"], entry["operation"]) for entry in item["metadata"]["managedFields"]}
        assert operations == {(OURS, "Apply"), (synced.manager, "Apply")}
        assert kstatus(item) == "Current"


def test_sync_after_our_status(synced: Synced) -> None:
    """A second sync changes the spec and leaves our status; its generation is in progress until we have judged it."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    synced.turned(synced.line("a"))
    before = synced.read("a")["status"]
    synced.apply(synced.group_item("a", high=7))
    item = synced.read("a")
    assert (item["metadata"]["generation"], item["status"], kstatus(item)) == (2, before, "InProgress")
    synced.look()
    synced.turned(synced.line("a", max=7))
    item = synced.read("a")
    assert (item["spec"]["size"]["max"], item["status"]["max"], kstatus(item)) == (7, 7, "Current")
    assert fields_of(item, synced.manager)[""] == {"spec.policyRef", "spec.target", "spec.size"}
    assert set(fields_of(item, OURS)) == {"status"}


def test_status_is_written_only_when_it_changes(synced: Synced) -> None:
    """Ten turns alike are one write of each object; a new plan that changes nothing for the group writes the policy alone."""
    synced.apply(synced.policy_item(), synced.group_item("a"), synced.group_item("b"))
    synced.look()
    for _ in range(10):
        synced.turned(synced.line("a"), synced.line("b"))
    assert synced.writer.writes == 3
    version = synced.read("a")["metadata"]["resourceVersion"]
    synced.turned(synced.line("a"), synced.line("b"), digest="sha256:2")
    assert (synced.writer.writes, synced.read("a")["metadata"]["resourceVersion"]) == (4, version)
    synced.turned(synced.line("a", current=3), synced.line("b"), digest="sha256:3")
    assert (synced.writer.writes, synced.read("a")["status"]["current"], synced.read("a")["status"]["planDigest"]) == (
        6,
        3,
        "sha256:3",
    )


def test_time_of_a_condition_moves_with_its_status(synced: Synced) -> None:
    """As metav1.Condition says: another message leaves it, and a new process knows it from the object."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    synced.turned(synced.line("a"))
    first = {c["type"]: c["lastTransitionTime"] for c in synced.read("a")["status"]["conditions"]}
    synced.seen(synced.read("a"))
    synced.writer = StatusWriter(synced.client)
    synced.turned(synced.line("a", current=3, desired=3))
    synced.seen(synced.read("a"))
    assert {c["type"]: c["lastTransitionTime"] for c in synced.read("a")["status"]["conditions"]} == first
    synced.turned(synced.line("a", held=True, owner=Ownership(state=OwnerState.HELD, by="kubectl", evidence=("why",))))
    later = {c["type"]: c["lastTransitionTime"] for c in synced.read("a")["status"]["conditions"]}
    assert {kind for kind in first if first[kind] != later[kind]} == {"Held"}


def action(synced: Synced, line: GroupLine) -> Action:
    bound = Bound(resource_version="1", replicas=2, owner_digest="", policy_digest="")
    reason = Reason(code="PendingPods", message="2 pods")
    return Action(
        kind=ActionKind.RESIZE,
        group=line.name,
        target=line.target,
        from_=line.current,
        to=line.desired,
        bound=bound,
        reason=reason,
    )


@pytest.mark.parametrize("synced", APPLIERS[:1], indirect=True)
@pytest.mark.parametrize(("fields", "observed", "expected", "ready", "held"), [
    ({}, False, "Current", ("True", "AsDesired"), ("False", "NotHeld")),
    ({"desired": 4}, False, "InProgress", ("Unknown", "Resizing"), ("False", "NotHeld")),
    ({"desired": 4}, True, "Current", ("True", "Observed"), ("False", "NotHeld")),
    ({"held": True, "owner": Ownership(state=OwnerState.HELD, by="capi-topology", evidence=("it owns spec.replicas",))}, False,
     "Current", ("True", "Held"), ("True", "OwnerHeld")),
    ({"held": True, "owner": Ownership(state=OwnerState.UNKNOWN, evidence=("managedFields are missing",))}, False,
     "Current", ("True", "Held"), ("True", "OwnerUnknown")),
    ({"held": True, "reasons": (Reason(code="GroupHeld", message="a is held: recovery"),)}, False,
     "Current", ("True", "Held"), ("True", "Hold")),
    ({"held": True, "owner": Ownership(state=OwnerState.UNKNOWN, evidence=("the target is not there",)),
      "reasons": (Reason(code="TargetMissing", message="it is not there"),)}, False,
     "InProgress", ("False", "TargetMissing"), ("True", "OwnerUnknown")),
], ids=["as desired", "resizing", "observed", "owned", "unknown", "hold", "missing"])  # fmt: skip
def test_conditions_by_the_rules_of_kstatus(
    synced: Synced, fields: dict[str, Any], observed: bool, expected: str, ready: tuple[str, str], held: tuple[str, str]
) -> None:
    """What deliveries wait for: a held group is as it should be, one that grows is not done, nor is one without target."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    line = synced.line("a", **fields)
    skipped = ActionResult(action=action(synced, line), state=ResultState.SKIPPED, code="Observe")
    synced.turned(line, results=(skipped,) if observed else ())
    item = synced.read("a")
    assert (kstatus(item), conditions(item)["Ready"], conditions(item)["Held"]) == (expected, ready, held)


def test_evidence_stands_in_the_condition(synced: Synced) -> None:
    """Who owns the replicas, and how we know."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    owner = Ownership(state=OwnerState.HELD, by="argocd-controller", evidence=("managedFields say so", "tracked by app"))
    synced.turned(synced.line("a", held=True, owner=owner, wanted=4))
    status = synced.read("a")["status"]
    (told,) = (entry["message"] for entry in status["conditions"] if entry["type"] == "Held")
    assert told == "argocd-controller: managedFields say so, and tracked by app"
    assert (status["owner"], status["current"], status["desired"], status["wanted"]) == ("Held", 2, 2, 4)
    synced.turned(synced.line("a", held=True, owner=owner), digest="sha256:2")
    assert "wanted" not in synced.read("a")["status"]


def test_plan_of_an_earlier_policy_judges_no_later_version(synced: Synced) -> None:
    """A turn that had begun before the change says nothing of it: its generation is in progress."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    revision = synced.policy.current().revision
    synced.apply(synced.group_item("a", high=7))
    synced.look()
    synced.turned(synced.line("a"), revision=revision)
    assert "status" not in synced.read("a")
    synced.turned(synced.line("a"))
    assert synced.read("a")["status"]["observedGeneration"] == 2


def test_invalid_group_is_told_on_the_object(synced: Synced) -> None:
    """It is held alone and Failed with the field, before any turn; the other group and the policy are as they should be."""
    synced.apply(synced.policy_item(), synced.group_item("a"), synced.group_item("b"))
    assert synced.look() is None
    synced.turned(synced.line("a"), synced.line("b"))
    synced.apply(synced.group_item("a", tier="sport"), synced.group_item("b", high=9))
    assert synced.look() is FaultCode.INVALID_POLICY
    synced.status.write()
    item = synced.read("a")
    (told,) = (entry["message"] for entry in item["status"]["conditions"] if entry["type"] == "Stalled")
    assert (kstatus(item), conditions(item)["Ready"]) == ("Failed", ("False", "UnknownTier"))
    assert told.startswith(f"NodeGroup {NAMESPACE}/{synced.name}-a spec.tier: unknown tier 'sport'")
    assert conditions(item)["Held"] == ("True", "Invalid")
    synced.turned(synced.line("a"), synced.line("b", max=9))
    assert (kstatus(synced.read("b")), kstatus(synced.read())) == ("Current", "Current")
    found = {group.name: group for group in synced.policy.current().groups}
    assert (found[f"{synced.name}-b"].size.max, found[f"{synced.name}-a"].hold is not None) == (9, True)
    synced.apply(synced.group_item("a", tier="spot"))
    assert synced.look() is None
    synced.turned(synced.line("a"), synced.line("b", max=9))
    assert kstatus(synced.read("a")) == "Current"


def test_event_about_an_invalid_object(synced: Synced) -> None:
    """One Event beside the object for each version that is not used."""
    synced.apply(synced.policy_item(), synced.group_item("a", tier="sport"))
    synced.look()
    for _ in range(3):
        synced.status.write()
    events = [
        event
        for event in synced.api.items(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
        if event["regarding"]["name"] == f"{synced.name}-a"
    ]
    assert [(event["reason"], event["type"], event["regarding"]["kind"]) for event in events] == [
        ("UnknownTier", "Warning", "NodeGroup")
    ]
    assert events[0]["regarding"]["uid"] == synced.read("a")["metadata"]["uid"]
    assert "series" not in events[0]


def test_invalid_policy_keeps_the_last_good_one(synced: Synced) -> None:
    """It is Failed with the field, and says what stays in force; a deleted one stays in force too."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    before = synced.policy.current()
    synced.apply(synced.policy_item(discovery=[{"name": "x", "clusterAPI": {"namespaces": ["prod"]}, "tier": "sport"}]))
    assert synced.look() is FaultCode.INVALID_POLICY
    synced.status.write()
    item = synced.read()
    assert (kstatus(item), synced.policy.current()) == ("Failed", before)
    (told,) = (entry["message"] for entry in item["status"]["conditions"] if entry["type"] == "Stalled")
    assert "spec.discovery[0].tier" in told
    assert f"{(before.revision or '')[:19]} is in force" in told
    synced.delete(synced.policy_item())
    assert (synced.look(), synced.policy.current()) == (FaultCode.NO_POLICY, before)


def test_deleting_all_groups_is_refused(synced: Synced) -> None:
    """They stay in force, also over a restart; one that comes back is judged again, and those that are gone are released."""
    synced.apply(synced.policy_item(), synced.group_item("a"), synced.group_item("b"))
    synced.look()
    # Both at once, as when a tree is pruned: nothing is looked at in between.
    synced.delete(synced.group_item("a"), synced.group_item("b"))
    assert (synced.look(), synced.groups()) == (FaultCode.NO_GROUPS, ["a", "b"])
    synced.start()
    assert (synced.look(), synced.groups()) == (FaultCode.NO_GROUPS, ["a", "b"])
    synced.status.write()
    assert kstatus(synced.read()) == "Failed"
    synced.apply(synced.group_item("b"))
    assert (synced.look(), synced.groups()) == (None, ["b"])


def test_groups_that_go_one_by_one_are_judged_together(synced: Synced) -> None:
    """A prune of all that is seen half-way releases none of them: what is left a moment later is what counts."""
    synced.apply(synced.policy_item(), *(synced.group_item(name) for name in "abc"))
    synced.look()

    class Pruned:
        """The objects of the server, of which a prune has deleted a; b and c go while they settle."""

        wait, doubt, settled = synced.objects.wait, synced.objects.doubt, 0

        def all(self):
            gone = {f"{synced.name}-{name}" for name in ("abc" if self.settled else "a")}
            return tuple(item for item in synced.objects.all() if item.name not in gone)

        def settle(self, quiet_seconds: float, most_seconds: float) -> None:
            assert quiet_seconds < most_seconds
            self.settled += 1

    synced.policy._objects = pruned = Pruned()
    assert (synced.look(), synced.groups()) == (FaultCode.NO_GROUPS, ["a", "b", "c"])
    assert (synced.look(), pruned.settled) == (FaultCode.NO_GROUPS, 1)
    synced.policy._objects = synced.objects
    assert (synced.look(), synced.groups()) == (None, ["a", "b", "c"])


def test_settling_goes_on_while_something_changes(synced: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change begins the wait anew; the longest time and the end of the process end it."""
    waits: list[float] = []
    answers = iter([True, True, False])

    def wait_for(_: object, seconds: float) -> bool:
        waits.append(seconds)
        return next(answers)

    monkeypatch.setattr(synced.objects._progress, "wait_for", wait_for)
    synced.objects.settle(5.0, 3600.0)
    assert waits == [5.0, 5.0, 5.0]
    synced.objects.settle(5.0, 0.0)
    assert len(waits) == 3


def test_release_of_all_groups_on_purpose(synced: Synced) -> None:
    """With the option they go."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    synced.policy = CustomResourcePolicy(
        synced.objects, synced.store, lambda: synced.now, name=synced.name, own_namespace=synced.namespace, allow_no_groups=True
    )
    synced.delete(synced.group_item("a"))
    assert (synced.look(), synced.groups()) == (None, [])


def test_restart_from_the_state_object(synced: Synced) -> None:
    """What was in force lies in the ConfigMap of the state; a new process decides by it though the newest version is invalid."""
    synced.store = StateLastGoodStore(LockedState(StateObject(synced.client, NAMESPACE, synced.name)))
    synced.start()
    synced.apply(synced.policy_item(), synced.group_item("a", low=2))
    synced.look()
    synced.apply(synced.group_item("a", low=3, tier="sport"))
    synced.look()
    held = synced.policy.current()
    synced.store = StateLastGoodStore(LockedState(StateObject(synced.client, NAMESPACE, synced.name)))
    again = synced.start()
    assert synced.look() is FaultCode.INVALID_POLICY
    assert again.current() == held
    assert (again.current().groups[0].size.min, again.current().groups[0].hold is not None) == (2, True)


def test_stale_judgement_of_an_object_that_was_made_anew(synced: Synced) -> None:
    """A status is for the object that was judged: one of the same name that came after it gets none of it."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    synced.delete(synced.group_item("a"))
    synced.apply(synced.group_item("a"))
    synced.turned(synced.line("a"))
    assert "status" not in synced.read("a")


def test_our_own_writes_wake_nobody(synced: Synced) -> None:
    """A status is no change of a policy: otherwise every turn would cause the next."""
    synced.apply(synced.policy_item(), synced.group_item("a"))
    synced.look()
    changes: list[int] = []
    synced.objects.start(lambda: changes.append(1))
    synced.turned(synced.line("a"))
    synced.seen(synced.read("a"))
    synced.seen(synced.read())
    assert changes == []


def test_server_without_our_definitions(control_plane: ControlPlane) -> None:
    """It is said what to apply; nothing is in force."""
    objects = CustomObjects(connect(control_plane.kubeconfig), ())
    objects._reflectors = objects._reflectors[:1]
    reflector = objects._reflectors[0]
    reflector.collection = reflector._located = msgspec.structs.replace(POLICIES, group="nobody.reconciler.dev")
    objects.start()
    assert objects.wait(180)
    policy = CustomResourcePolicy(
        objects, MemoryLastGoodStore(), lambda: START, name="x", own_namespace="infra", allow_no_groups=False
    )
    policy.poll()
    assert not policy.ready
    assert policy.standing.fault is not None
    assert "apply `reconciler schema crds`" in policy.standing.fault.message
    assert objects.stop()
