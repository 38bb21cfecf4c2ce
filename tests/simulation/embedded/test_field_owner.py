"""Owners of spec.replicas after each kind of write, as measured on a real API server."""

import pytest

from reconciler.cluster.target import FieldOwner, TargetFacts
from reconciler.simulation.embedded.field_owner import Via, applied, conflict, scaled, written_by
from tests.builders import NOW, ClusterBuilder

KUBECTL = FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 100)


def _facts(*owners: FieldOwner, replicas: int = 3) -> TargetFacts:
    cluster = ClusterBuilder()
    cluster.target("general", replicas, owners=owners)
    return cluster.world().targets[0]


def test_apply_on_another_owners_field_conflicts_and_names_it():
    """Server-side apply without force: 409 with the manager in the message."""
    assert conflict(_facts(KUBECTL), "us", 4) == "kubectl"


def test_apply_of_the_same_value_makes_a_second_owner():
    """No conflict when the value is the same; both own the field then."""
    facts = _facts(KUBECTL)
    assert conflict(facts, "us", 3) == ""
    assert [owner.manager for owner in applied(facts, "us", 3, NOW).owner.owners] == ["kubectl", "us"]


def test_apply_on_a_field_without_owner_is_recorded():
    """An unowned field is taken by the first apply."""
    after = applied(_facts(), "us", 5, NOW)
    assert after.owner.owners == (FieldOwner(manager="us", operation="Apply", time_seconds=NOW),)
    assert (after.replicas, after.generation) == (5, 2)


def test_scale_takes_the_field_and_leaves_no_time():
    """The entry of a write through /scale has no `time` key, and the owner before it loses the field."""
    assert scaled(_facts(KUBECTL), "exp", 4).owner.owners == (FieldOwner(manager="exp", operation="Update", subresource="scale"),)


def test_scale_on_a_field_without_owner_leaves_no_trace():
    """Measured: the value changes and no managedFields entry is written at all."""
    after = scaled(_facts(), "exp", 4)
    assert (after.replicas, after.owner.owners) == (4, ())


def test_scale_to_the_same_value_changes_nothing():
    """The same value written again by another manager: the owner stays."""
    facts = _facts(KUBECTL)
    assert scaled(facts, "exp", 3) is facts


@pytest.mark.parametrize(("via", "operation"), [(Via.PATCH, "Update"), (Via.APPLY, "Apply")])
def test_patch_and_forced_apply_take_the_field_from_everybody(via, operation):
    """A merge patch records Update, a forced apply Apply; nobody else is left."""
    after = written_by(_facts(KUBECTL), via, "argocd-controller", 4, NOW)
    assert after.owner.owners == (FieldOwner(manager="argocd-controller", operation=operation, time_seconds=NOW),)
