"""Who may write replicas of a MachineDeployment, by which way, and what is recorded: the API server's own answers."""

from contextlib import suppress

import pytest

from tests.live.ownership import NO_NODES, OURS, applied, cause, machine_set_of, only_replicas, refusal
from tests.testbed.api import ApiError, Object
from tests.testbed.cluster_documents import Group
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners

_NAMED = 'conflict with "{}"'
_NAMED_UPDATE = 'conflict with "{}" using cluster.x-k8s.io/v1beta2'
_NAMED_SCALE = 'conflict with "{}" with subresource "scale" using cluster.x-k8s.io/v1beta2'


def _taken_over(cluster: WorkCluster, item: Object, replicas: int) -> Object:
    """Judge and take over, again when the controller wrote the status in between."""
    for _ in range(100):
        judged = cluster.api.read(item)
        assert replicas_owners(judged) == [("somebody", "Update", "")]
        wanted = only_replicas(judged, replicas, judged["metadata"]["resourceVersion"])
        with suppress(ApiError):
            return cluster.api.apply(wanted, OURS, force=True)
    pytest.fail("the version moved 100 times")


def test_who_applies_replicas_owns_them(paused: WorkCluster, name: str) -> None:
    """An object applied with replicas has its applier as only owner of them."""
    item = applied(paused, Group(name, replicas=0))
    assert replicas_owners(item) == [("kubectl", "Apply", "")]


def test_who_creates_with_replicas_owns_them_by_update(paused: WorkCluster, name: str) -> None:
    """An object posted with replicas has its creator as owner, by operation Update."""
    item = paused.machine_deployment(Group(name, replicas=0), NO_NODES)
    assert replicas_owners(item) == [("testbed", "Update", "")]


def test_replicas_that_the_webhook_sets_belong_to_nobody(paused: WorkCluster, name: str) -> None:
    """Created without replicas: one, and no owner."""
    item = applied(paused, Group(name))
    assert (item["spec"]["replicas"], replicas_owners(item)) == (1, [])


def test_the_webhook_sets_the_minimum_when_both_sizes_are_there(paused: WorkCluster, name: str) -> None:
    """Created without replicas and with both annotations: the minimum, and no owner."""
    item = applied(paused, Group(name, min_size=2, max_size=5))
    assert (item["spec"]["replicas"], replicas_owners(item)) == (2, [])


def test_an_apply_on_replicas_of_nobody_succeeds_and_is_recorded(paused: WorkCluster, name: str) -> None:
    """Our apply of replicas alone makes us their owner."""
    item = paused.api.apply(only_replicas(applied(paused, Group(name)), 2), OURS)
    assert (item["spec"]["replicas"], replicas_owners(item)) == (2, [(OURS, "Apply", "")])


def test_an_apply_on_replicas_of_another_applier_is_refused_by_name(paused: WorkCluster, name: str) -> None:
    """409 with FieldManagerConflict names the applier and the field; nothing changes."""
    item = applied(paused, Group(name, replicas=0))
    assert cause(refusal(paused, item, 3)) == ("FieldManagerConflict", ".spec.replicas", _NAMED.format("kubectl"))
    after = paused.api.read(item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (0, [("kubectl", "Apply", "")])


def test_an_apply_on_replicas_of_an_updater_is_refused_by_name(paused: WorkCluster, name: str) -> None:
    """A merge patch makes an owner, too: our apply names it, with its API version."""
    item = applied(paused, Group(name))
    paused.api.merge(item, {"spec": {"replicas": 2}}, manager="somebody")
    assert cause(refusal(paused, item, 3)) == ("FieldManagerConflict", ".spec.replicas", _NAMED_UPDATE.format("somebody"))


def test_an_apply_on_replicas_of_a_scaler_is_refused_by_name(paused: WorkCluster, name: str) -> None:
    """Who scaled an owned field owns it now: our apply names it, with the subresource."""
    item = applied(paused, Group(name, replicas=0))
    paused.api.scale(item, 1, manager="scaler")
    assert cause(refusal(paused, item, 3)) == ("FieldManagerConflict", ".spec.replicas", _NAMED_SCALE.format("scaler"))


def test_an_apply_on_replicas_of_a_topology_is_refused_by_name(new_cluster: NewCluster) -> None:
    """What a topology holds is refused with the name capi-topology."""
    cluster = new_cluster(topology=[Group("g", replicas=1)], shape=NO_NODES)
    item = cluster.topology_deployment("g")
    assert cause(refusal(cluster, item, 3)) == ("FieldManagerConflict", ".spec.replicas", _NAMED.format("capi-topology"))


def test_an_apply_of_the_same_value_makes_a_second_owner(paused: WorkCluster, name: str) -> None:
    """The value that is there already is no conflict: both own it."""
    item = paused.api.apply(only_replicas(applied(paused, Group(name, replicas=0)), 0), OURS)
    assert sorted(replicas_owners(item)) == [("kubectl", "Apply", ""), (OURS, "Apply", "")]


def test_an_apply_of_more_than_replicas_conflicts_on_what_the_webhook_completed(paused: WorkCluster, name: str) -> None:
    """The whole object, applied by another with other replicas, conflicts on replicas and on the selector besides."""
    applied(paused, Group(name, replicas=0))
    with pytest.raises(ApiError) as refused:
        applied(paused, Group(name, replicas=1), OURS)
    assert {one["field"] for one in refused.value.body["details"]["causes"]} >= {".spec.replicas"}


def test_a_forced_apply_takes_replicas_from_their_owner(paused: WorkCluster, name: str) -> None:
    """With force the applier is the only owner; that is why we never force."""
    item = paused.api.apply(only_replicas(applied(paused, Group(name, replicas=0)), 1), OURS, force=True)
    assert replicas_owners(item) == [(OURS, "Apply", "")]


def test_a_scale_takes_replicas_from_their_owner_without_question(paused: WorkCluster, name: str) -> None:
    """A scale over an applied value succeeds, and the applier has lost the field; the new entry carries no time."""
    item = applied(paused, Group(name, replicas=0))
    paused.api.scale(item, 1, manager="scaler")
    after = paused.api.read(item)
    assert replicas_owners(after) == [("scaler", "Update", "scale")]
    (entry,) = (one for one in after["metadata"]["managedFields"] if one["manager"] == "scaler")
    assert "time" not in entry


def test_a_scale_of_replicas_of_nobody_leaves_no_entry(paused: WorkCluster, name: str) -> None:
    """The value changes and managedFields says nothing about it: the last scaler cannot be read there."""
    item = applied(paused, Group(name))
    paused.api.scale(item, 2, manager="scaler")
    after = paused.api.read(item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (2, [])
    assert "scaler" not in {one["manager"] for one in after["metadata"]["managedFields"]}


def test_a_scale_to_the_same_value_changes_no_owner(paused: WorkCluster, name: str) -> None:
    """A scale that changes nothing leaves the owner as it was."""
    item = applied(paused, Group(name, replicas=0))
    paused.api.scale(item, 0, manager="scaler")
    assert replicas_owners(paused.api.read(item)) == [("kubectl", "Apply", "")]


def test_a_merge_patch_takes_replicas_from_their_owner_without_question(paused: WorkCluster, name: str) -> None:
    """A merge patch is guarded by nothing, but it is recorded, with its time."""
    item = applied(paused, Group(name, replicas=0))
    after = paused.api.merge(item, {"spec": {"replicas": 1}}, manager="somebody")
    assert replicas_owners(after) == [("somebody", "Update", "")]
    (entry,) = (one for one in after["metadata"]["managedFields"] if "f:replicas" in one["fieldsV1"].get("f:spec", {}))
    assert "time" in entry


def test_taking_over_is_one_forced_apply_with_the_judged_version(paused: WorkCluster, name: str) -> None:
    """A forced apply that carries the version that was judged makes us the only owner; later applies need no force."""
    item = applied(paused, Group(name))
    paused.api.merge(item, {"spec": {"replicas": 2}}, manager="somebody")
    assert replicas_owners(_taken_over(paused, item, 3)) == [(OURS, "Apply", "")]
    after = paused.api.apply(only_replicas(item, 4), OURS)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (4, [(OURS, "Apply", "")])


def test_taking_over_on_a_moved_version_is_refused_even_with_force(paused: WorkCluster, name: str) -> None:
    """Force does not lift the version: what somebody wrote in between is not lost."""
    item = applied(paused, Group(name))
    judged = paused.api.merge(item, {"spec": {"replicas": 2}}, manager="somebody")
    paused.api.merge(item, {"spec": {"replicas": 5}}, manager="somebody")
    with pytest.raises(ApiError) as refused:
        paused.api.apply(only_replicas(judged, 3, judged["metadata"]["resourceVersion"]), OURS, force=True)
    body = refused.value.body
    assert (refused.value.status, body["details"].get("causes")) == (409, None)
    assert paused.api.read(item)["spec"]["replicas"] == 5


def test_our_own_merge_patch_stands_in_the_way_of_our_apply(paused: WorkCluster, name: str) -> None:
    """A merge patch under our name is another entry than our apply, and a conflict with ourselves: why we never patch."""
    item = applied(paused, Group(name))
    paused.api.merge(item, {"spec": {"replicas": 3}}, manager=OURS)
    after = paused.api.apply(only_replicas(item, 3), OURS)
    assert sorted(replicas_owners(after)) == [(OURS, "Apply", ""), (OURS, "Update", "")]
    assert cause(refusal(paused, item, 4)) == ("FieldManagerConflict", ".spec.replicas", _NAMED_UPDATE.format(OURS))


def test_a_moved_version_is_a_conflict_without_causes(paused: WorkCluster, name: str) -> None:
    """A write with an old resourceVersion is refused with 409, too, but names no manager: that tells the two apart."""
    item = applied(paused, Group(name))
    paused.api.scale(item, 2)
    stale = {"metadata": {"resourceVersion": item["metadata"]["resourceVersion"]}, "spec": {"replicas": 3}}
    with pytest.raises(ApiError) as refused:
        paused.api.merge(item, stale, manager=OURS)
    body = refused.value.body
    assert (refused.value.status, body["reason"], body["details"].get("causes")) == (409, "Conflict", None)


def test_an_apply_with_a_moved_version_is_a_conflict_without_causes(paused: WorkCluster, name: str) -> None:
    """The same for an apply that carries the resourceVersion that was judged."""
    item = applied(paused, Group(name))
    paused.api.scale(item, 2)
    stale = only_replicas(item, 3, item["metadata"]["resourceVersion"])
    with pytest.raises(ApiError) as refused:
        paused.api.apply(stale, OURS)
    body = refused.value.body
    assert (refused.value.status, body["reason"], body["details"].get("causes")) == (409, "Conflict", None)


def test_replicas_of_an_owned_set_belong_to_its_deployment(new_cluster: NewCluster, name: str) -> None:
    """The MachineSet of a MachineDeployment has its replicas applied by capi-machinedeployment."""
    cluster = new_cluster()
    cluster.machine_deployment(Group(name, replicas=0), NO_NODES)
    found = machine_set_of(cluster, name)
    assert replicas_owners(found) == [("capi-machinedeployment", "Apply", "")]
