"""Bounds that follow their policy: renewed, left alone, told; over a server that keeps one ConfigMap and who owns its keys."""

import base64
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.control.bounds_keeper import BoundsKeeper
from reconciler.control.kept_bounds import BOUNDS_MANAGER, BoundsError, KeptBounds
from reconciler.control.log import Log
from reconciler.control.policy.followed_source import FollowedSource
from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.control.policy.stored_policy import StateLastGoodStore
from reconciler.gitops.sources.directory_source import DirectorySource
from reconciler.gitops.sources.last_good import LastGoodError, decode_last_good
from reconciler.kube.connection.api import ApiError, Cause, ContentType, UnreachableError
from tests.kube.api_server import FakeApiServer

PATH = "/api/v1/namespaces/reconciler/configmaps/reconciler-bounds"
KEY = "MachineDeployment_prod_general-a"
POLICY = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec: {mode: Enforce}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: general-a}}
  size: {min: 1, max: 5}
  hold: {reason: incident, until: "2026-11-01T12:00:00Z"}
"""
BEFORE, AFTER = 1793534399, 1793534400
"""A second before that hold ends, and its end."""


class Server(FakeApiServer):
    """Has the ConfigMap, as it is installed."""

    def __init__(self) -> None:
        super().__init__()
        self.put(PATH, {"metadata": {"name": "reconciler-bounds", "namespace": "reconciler"}})

    def kept_by(self, manager: str, data: Mapping[str, str]) -> None:
        """Somebody else writes keys."""
        self.write("PATCH", PATH, {"data": data}, content_type=ContentType.MERGE_PATCH, query={"fieldManager": manager})

    @property
    def data(self) -> dict[str, str]:
        return dict(self.objects[PATH].get("data", {}))

    @property
    def annotations(self) -> dict[str, str]:
        return dict(self.objects[PATH]["metadata"]["annotations"])


class Running:
    """One process after another over the same server and directory."""

    def __init__(self, directory: Path) -> None:
        self.server = Server()
        self.file = directory / "prod.yaml"
        self.file.write_text(POLICY)
        self.now = BEFORE
        self.unread: BoundsError | None = None
        self.begin()

    def begin(self) -> None:
        """Another process, with nothing but what the server keeps."""
        kept = KeptBounds(self.server, "reconciler")
        self.told = io.StringIO()

        def follow() -> FollowedPolicy:
            store = StateLastGoodStore(kept)
            return FollowedPolicy(DirectorySource(self.file.parent), store, lambda: self.now, name="prod")

        self.source = FollowedSource(follow, lambda: 1, lambda _: 0.0)
        self.keeper = BoundsKeeper(self.source, self.targets, kept, Log(self.told, lambda: self.now), lambda: self.now)

    def targets(self) -> World:
        if self.unread is not None:
            raise self.unread
        return World(captured_seconds=self.now)

    def codes(self) -> list[str]:
        return [json.loads(line)["code"] for line in self.told.getvalue().splitlines()]


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


def test_what_the_policy_says_is_written_once(running: Running) -> None:
    """A hold until its end, then the range, then another one; nothing is written where nothing differs."""
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "held")
    running.now = AFTER
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "1-5")
    running.file.write_text(POLICY.replace("max: 5", "max: 7"))
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "1-7")
    revision = running.source.current().revision
    assert revision
    assert running.server.annotations == {"reconciler.dev/revision": revision}
    assert (running.keeper.round(), len(running.server.sent)) == (True, 3)
    assert running.codes() == ["BoundsRenewed"] * 3


def test_another_revision_with_the_same_bounds_is_written(running: Running) -> None:
    """So that the object says of which commit it is; a policy without a revision says nothing."""
    running.keeper.round()
    first = running.source.current().revision
    running.file.write_text(POLICY + "# the same\n")
    assert running.keeper.round()
    second = running.source.current().revision
    assert first != second
    assert (running.server.annotations, len(running.server.sent)) == ({"reconciler.dev/revision": second}, 2)
    current = running.source.current
    running.source.current = lambda: msgspec.structs.replace(current(), revision=None)  # type: ignore[method-assign]
    assert running.keeper.round()
    assert running.server.annotations == {"reconciler.dev/revision": ""}


def test_a_bad_commit_leaves_the_last_good_bounds(running: Running) -> None:
    """Also after a restart: the policy that was in force lies beside its bounds, and what changes by itself still counts."""
    running.keeper.round()
    running.file.write_text(POLICY.replace("max: 5", "max: many"))
    for _ in range(2):
        assert (running.keeper.round(), running.server.data[KEY]) == (True, "held")
        fault = running.source.standing.fault
        assert fault is not None
        assert "prod.yaml:13:23" in fault.sentence
        running.begin()
    running.now = AFTER
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "1-5")


def test_a_restart_knows_what_was_in_force(running: Running) -> None:
    """A tree without groups, where there were some, is refused by a new process as well."""
    running.keeper.round()
    running.file.write_text(POLICY.partition("---")[0])
    running.begin()
    assert (running.keeper.round(), KEY in running.server.data) == (True, True)
    kept = decode_last_good(base64.b64decode(running.server.objects[PATH]["binaryData"]["policy"]))
    assert b"general-a" in kept.files["prod.yaml"]


def test_without_any_policy_nothing_is_written(running: Running) -> None:
    """At the first start, with a tree that cannot be used."""
    running.file.write_text("kind: [")
    running.begin()
    assert (running.keeper.round(), running.keeper.round(), running.keeper.failures) == (False, False, 2)
    assert (running.server.data, running.codes()) == ({}, ["BoundsNotRenewed"])


def test_targets_that_cannot_be_listed_leave_the_bounds(running: Running) -> None:
    """They are not gone: without them sizes of annotations would be."""
    running.keeper.round()
    running.now, running.unread = AFTER, BoundsError("MachineDeployment cannot be listed: no")
    assert (running.keeper.round(), running.server.data[KEY]) == (False, "held")
    running.unread = None
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "1-5")
    assert running.codes() == ["BoundsRenewed", "BoundsNotRenewed", "BoundsRecovered", "BoundsRenewed"]


def test_a_key_of_somebody_else_is_not_taken(running: Running) -> None:
    """Neither one with another value nor one too many; both are told with who and which."""
    running.server.kept_by("kubectl", {KEY: "0-9999"})
    assert (running.keeper.round(), running.server.data[KEY]) == (False, "0-9999")
    assert 'conflict with \\"kubectl\\"' in running.told.getvalue()
    assert f".data.{KEY}" in running.told.getvalue()
    running.server.put(PATH, {"metadata": {"name": "reconciler-bounds", "namespace": "reconciler", "managedFields": []}})
    running.server.kept_by("kubectl", {"MachineDeployment_prod_other": "0-9999"})
    assert (running.keeper.round(), running.server.data[KEY]) == (False, "held")
    assert "MachineDeployment_prod_other: 0-9999 in the cluster, nothing by the policy" in running.told.getvalue()


def test_of_many_foreign_keys_five_are_told(running: Running) -> None:
    """Whether they stand beside ours or in their place."""
    running.server.kept_by("kubectl", {f"MachineDeployment_prod_other-{number}": "0-9999" for number in range(6)})
    assert not running.keeper.round()
    assert running.told.getvalue().count("0-9999 in the cluster, nothing by the policy") == 5
    fields = tuple(Cause(reason="FieldManagerConflict", field=f".data.{letter}") for letter in "fedcba")
    for fault, said in [
        (ApiError(409, "Conflict", "met", fields), f"leave .data.a, .data.b, .data.c, .data.d, .data.e to {BOUNDS_MANAGER}"),
        (ApiError(409, "Conflict", "met before"), "ConfigMap reconciler/reconciler-bounds: 409 Conflict: met before"),
        (ApiError(422, "Invalid", "no", fields), "ConfigMap reconciler/reconciler-bounds: 422 Invalid: no"),
    ]:
        running.server.refused[PATH] = fault
        kept = KeptBounds(running.server, "reconciler")
        with pytest.raises(BoundsError, match=re.escape(said)):
            kept.renew({KEY: "1-5"}, "1")


def test_nothing_is_written_where_nothing_is_said() -> None:
    """An object without data, for a policy without targets; a new revision of it is."""
    server = Server()
    kept = KeptBounds(server, "reconciler")
    assert (kept.renew({}, ""), len(server.sent)) == ((), 0)
    assert (kept.renew({}, "1"), len(server.sent)) == ((), 1)


def test_an_object_that_has_gone_is_not_made_anew() -> None:
    """It is deleted between our look and our write: nothing else of the installation would know the new one."""
    server = Server()
    server.between = lambda: server.remove(PATH)
    with pytest.raises(BoundsError, match="409 Conflict"):
        KeptBounds(server, "reconciler").renew({KEY: "1-5"}, "1")
    assert PATH not in server.objects


@pytest.mark.parametrize(("fault", "said"), [
    (ApiError(404, "NotFound", "not there"), "it is installed with the admission policies"),
    (ApiError(403, "Forbidden", "not yours"), "not yours"),
    (UnreachableError("nobody listens"), "nobody listens"),
])  # fmt: skip
def test_a_server_that_refuses_is_told_once(running: Running, fault: Exception, said: str) -> None:
    """And asked again: nothing is renewed by what could not be read."""
    running.keeper.round()
    running.now, running.server.unreadable[PATH] = AFTER, fault
    assert (running.keeper.round(), running.keeper.round()) == (False, False)
    assert said in running.told.getvalue()
    assert running.codes()[1:] == ["BoundsNotRenewed"]
    running.server.unreadable.clear()
    assert (running.keeper.round(), running.server.data[KEY]) == (True, "1-5")


def test_a_damaged_policy_beside_the_bounds_is_read_afresh(running: Running) -> None:
    """From the source, and written whole."""
    running.keeper.round()
    running.server.objects[PATH]["binaryData"]["policy"] = "???"
    with pytest.raises(LastGoodError, match="damaged"):
        StateLastGoodStore(KeptBounds(running.server, "reconciler")).load()
    running.begin()
    assert running.keeper.round()
    assert decode_last_good(base64.b64decode(running.server.objects[PATH]["binaryData"]["policy"])).files


def test_a_group_that_no_range_can_be_given_to_is_told_once(running: Running) -> None:
    """Its target may not be resized; when it has no bound again, that is news again."""
    endless = POLICY.replace("size: {min: 1, max: 5}", "size: {min: 1}")
    for text in (endless, endless, POLICY, endless):
        running.now = AFTER
        running.file.write_text(text)
        assert running.keeper.round()
    assert running.codes().count("NoBound") == 2


def test_what_is_kept_for_the_next_write_says_whether_it_is_new() -> None:
    """As a state object does, without a word to any server."""
    kept = KeptBounds(None, "kube-system")  # type: ignore[arg-type]
    assert [kept.save("policy", content) for content in (b"1", b"1", b"2")] == [True, False, True]
