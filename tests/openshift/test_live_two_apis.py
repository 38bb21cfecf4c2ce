"""MachineSets where two APIs may hold one machine (definitions of the technical preview), on a real API server. Who decides is
set by hand: the operator that migrates is in no module that can be had."""

import json
import time
from collections.abc import Iterator

import pytest

from reconciler.plan.plan import OwnerState
from tests.deploy.attempt import merge
from tests.deploy.installed import Installed
from tests.live.own_loop import OwnLoop
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import SERVED, MachineSetBench
from tests.testbed.api import Api, ApiError, Object, path_of
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.machine_api import MachineApi
from tests.testbed.manifests import machine_api_manifests

TURNS = 30
MIGRATION, TWIN = "a migration between two APIs", "its twin in Cluster API"
# What the set's spec and its status say, and who holds it then.
STATES: list[tuple[str, Object, str]] = [
    ("ClusterAPI", {"authoritativeAPI": "ClusterAPI"}, TWIN),
    ("ClusterAPI", {"authoritativeAPI": "MachineAPI"}, MIGRATION),
    ("MachineAPI", {"authoritativeAPI": "Migrating"}, MIGRATION),
    ("MachineAPI", {}, MIGRATION),
    ("MachineAPI", {"authoritativeAPI": "MachineAPI", "synchronized": "False"}, MIGRATION),
    ("MachineAPI", {"authoritativeAPI": "MachineAPI"}, ""),
]


def _define(api: Api, variant: str) -> None:
    """Give the definitions of the Machine API this variant's schema."""
    for item in json.loads(machine_api_manifests(variant).read_text()):
        api.call("PUT", path_of(item), {**api.read(item), "spec": item["spec"]})


@pytest.fixture(scope="module")
def preview(machine_api: MachineApi) -> Iterator[MachineApi]:
    """The definitions of the technical preview in the place of those by default."""
    _define(machine_api.api, "TechPreviewNoUpgrade")
    yield machine_api
    _define(machine_api.api, "Default")


def _decided(bench: MachineSetBench, wanted: str, status: Object) -> None:
    """Set who decides; again until the server knows the fields."""
    known = {key: value for key, value in status.items() if key != "synchronized"}
    if "synchronized" in status:
        condition = {"type": "Synchronized", "status": status["synchronized"], "reason": "R", "message": "no such type"}
        known["conditions"] = [condition | {"lastTransitionTime": "2026-11-22T00:00:00Z"}]
    deadline = time.monotonic() + 60
    while True:
        try:
            done = bench.testbed.merge(bench.object, {"spec": {"authoritativeAPI": wanted}})
            if known:
                path = f"/apis/machine.openshift.io/v1beta1/namespaces/{bench.namespace}/machinesets/{bench.name}/status"
                done = bench.testbed.call("PATCH", path, {"status": known}, "application/merge-patch+json")
        except ApiError:
            done = {}
        there = done.get("status", {}).get("authoritativeAPI", "")
        if done.get("spec", {}).get("authoritativeAPI") == wanted and there == status.get("authoritativeAPI", ""):
            return
        assert time.monotonic() < deadline, done
        time.sleep(0.05)


def test_only_what_the_machine_api_decides_is_written(preview: MachineApi, new_set: NewSet, control_plane: ControlPlane) -> None:
    """Every state with pods that want nodes: held by its name, not one request of ours; the settled one grows."""
    assert preview
    sets = [new_set(1, namespace="two-apis", adopted=False) for _ in STATES]
    for bench, (wanted, status, _) in zip(sets, STATES, strict=True):
        _decided(bench, wanted, status)
        bench.pods(2)
    held, free = sets[:-1], sets[-1]
    with OwnLoop(control_plane, "two-apis", *(bench.group() for bench in sets), served=SERVED) as loop:
        loop.until(lambda _: free.replicas() == 2, "the settled set growing")
        for _ in range(TURNS):
            report = loop.loop.turn()
            assert report.plan is not None, report.unavailable
        lines = [loop.line(bench.name) for bench in sets]
        assert {name for write in loop.writes() if (name := write.split()[-1]).startswith("set-")} == {free.name}
    assert [(line.owner.state, line.owner.by) for line in lines[:-1]] == [(OwnerState.HELD, by) for _, _, by in STATES[:-1]]
    assert lines[-1].owner.state is OwnerState.OURS
    assert [bench.replicas() for bench in held] == [1] * len(held)


def test_the_second_lock_knows_who_decides(preview: MachineApi, new_set: NewSet) -> None:
    """The admission policies of the overlay say the same to our account, whatever our code thinks."""
    installed = Installed(preview.plane, "openshift")
    ours = installed.user(MASTERS)
    try:
        installed.wait_for_policies()
        for wanted, status, by in STATES:
            if "synchronized" in status:
                # A condition is read by our code alone.
                continue
            bench = new_set(1, namespace="two-apis", adopted=False, creator="nodegroup-reconciler")
            _decided(bench, wanted, status)
            said = _refusal(bench, ours)
            assert ("another API decides about this set" in said) is bool(by), (wanted, status, said)
    finally:
        installed.remove()


def _refusal(bench: MachineSetBench, user: Api) -> str:
    try:
        merge(bench.object, {"spec": {"replicas": 3}}).by(user)
    except ApiError as error:
        return str(error)
    return ""
