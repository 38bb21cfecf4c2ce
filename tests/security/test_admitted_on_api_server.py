"""NodeGroups that a real API server takes, drawn from our definition of them: whatever they say, nobody else's group changes.

`FUZZ_OBJECTS=20000` creates so many; every run creates a few hundred, others each time."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPSConnection
from typing import Any

import msgspec
import pytest

from reconciler.control.policy.custom_resources import CustomResourcePolicy
from reconciler.gitops.sources.last_good import MemoryLastGoodStore
from reconciler.kube.connection.transport import connect
from reconciler.kube.custom.custom_object import CustomObject, CustomObjects
from reconciler.policy.documents import Mode, NodeGroup, PolicySet
from tests.builders import NOW
from tests.kube.custom_resources import definitions, group_spec, manifest, policy_spec
from tests.security.admitted import Admitted
from tests.testbed.api import Api
from tests.testbed.control_plane import ControlPlane

Object = dict[str, Any]
OBJECTS = int(os.environ.get("FUZZ_OBJECTS", "400"))
OURS, FOREIGN, TAKEN = "admitted-ours", "admitted-foreign", "admitted-taken"
POLICY = "admitted"
_GROUPS = "/apis/reconciler.dev/v1alpha1/namespaces/{}/nodegroups"
_AT_ONCE = 8
_FEW = 200
"""So many of a namespace whose groups are read: reading them all is what a quota is for."""


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> Iterator[Api]:
    api = control_plane.api
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (OURS, FOREIGN, TAKEN)]
    api.create(*spaces)
    with definitions(api):
        yield api
        for space in (OURS, FOREIGN, TAKEN):
            api.call("DELETE", _GROUPS.format(space))
    for item in spaces:
        api.delete(item)


class Writer:
    """Creates objects over a few connections; `refused` counts those that the server does not take, by the first words of why."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.refused: dict[str, int] = {}

    def create(self, items: Sequence[Object]) -> int:
        """How many the server took."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = list(pool.map(self._create, (items[start::_AT_ONCE] for start in range(_AT_ONCE))))
        for why in (why for each in answers for why in each if why):
            self.refused[why] = self.refused.get(why, 0) + 1
        return sum(not why for each in answers for why in each)

    def _create(self, items: Sequence[Object]) -> list[str]:
        """Why the server takes each not, empty when it does."""
        with closing(self._api.connect()) as connection:
            return [_sent(connection, item) for item in items]


def _sent(connection: HTTPSConnection, item: Object) -> str:
    body = json.dumps(item)
    connection.request("POST", _GROUPS.format(item["metadata"]["namespace"]), body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    if answer.status == 201:
        return ""
    assert answer.status in (400, 413, 422), said
    causes = said.get("details", {}).get("causes") or [{"field": "", "message": said["message"]}]
    return f"{causes[0]['field']}: {causes[0]['message']}"[:160]


def drawn(admitted: Admitted, number: int, namespace: str) -> Object:
    """Whatever the definition admits; most aim at our policy and at the target of somebody else."""
    aimed = group_spec("mine", policy=admitted.chance.choice((POLICY, POLICY, "nobody")))
    fields = {key: aimed[key] for key in ("policyRef", "target") if admitted.chance.random() < 0.9}
    return manifest("NodeGroup", f"g-{number}", admitted.spec(**fields), namespace)


def decided(objects: Sequence[CustomObject], before: "Looked | None" = None) -> "Looked":
    """What the judge makes of these, after what it made of others before."""
    looked = before or Looked()
    looked.items = tuple(objects)
    looked.policy.poll()
    return looked


class Looked:
    """The policy over objects that were read from the server."""

    def __init__(self) -> None:
        self.items: tuple[CustomObject, ...] = ()
        self.policy = CustomResourcePolicy(
            self, MemoryLastGoodStore(), lambda: NOW, name=POLICY, own_namespace=OURS, allow_no_groups=False
        )

    def wait(self, timeout_seconds: float) -> bool:
        return timeout_seconds > 0

    def settle(self, quiet_seconds: float, most_seconds: float) -> None:
        """Nothing changes any more."""

    def doubt(self) -> str:
        return ""

    def all(self) -> tuple[CustomObject, ...]:
        return self.items

    def current(self) -> PolicySet:
        return self.policy.current()

    def ours(self) -> tuple[NodeGroup, ...]:
        return tuple(entry for entry in self.current().groups if entry.namespace == OURS)


def of_this_test(objects: Sequence[CustomObject]) -> tuple[CustomObject, ...]:
    """The server is shared: other tests may have left theirs."""
    return tuple(item for item in objects if item.namespace in (OURS, FOREIGN, TAKEN) or item.name == POLICY)


def of_everybody_else(objects: Sequence[CustomObject]) -> list[CustomObject]:
    return [item for item in objects if item.namespace in ("", OURS)]


def test_whatever_a_server_takes_changes_nobody_else(server: Api, control_plane: ControlPlane) -> None:
    """Of a namespace that the policy does not take, and of one that it takes for targets of its own: both are watched as the loop
    does. Others' groups, the mode and holds are those without them, at the first look and after a change."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    admitted, writer = Admitted(random.Random(seed)), Writer(server)
    few = min(_FEW, OBJECTS // 4)
    items = [drawn(admitted, number, TAKEN if number < few else FOREIGN) for number in range(OBJECTS)]
    took = writer.create(items)
    print(f"{took} of {OBJECTS} taken, refused {writer.refused}")
    assert took > OBJECTS // 2, "the generator draws what the definition admits"

    allowed = [{"name": OURS, "targets": {"namespaces": ["prod"]}}, {"name": TAKEN}]
    server.create(
        manifest("NodeGroupPolicy", POLICY, policy_spec(mode="Enforce", groupNamespaces=allowed)),
        manifest("NodeGroup", "mine", group_spec("mine", policy=POLICY), OURS),
    )
    objects = CustomObjects(connect(control_plane.kubeconfig))
    objects.start()
    try:
        assert objects.wait(300)
        first = of_this_test(objects.all())
        assert len(first) == took + 2
        with_all, alone = decided(first), decided(of_everybody_else(first))
        _same(with_all, alone, Mode.ENFORCE, held=False)

        hold = {"reason": "stop"}
        server.apply(
            manifest("NodeGroupPolicy", POLICY, policy_spec(mode="Observe", groupNamespaces=allowed)), "test", force=True
        )
        server.apply(
            manifest("NodeGroup", "mine", group_spec("mine", policy=POLICY, high=4, hold=hold), OURS), "test", force=True
        )
        last = _changed(objects, first)
        _same(decided(last, with_all), decided(of_everybody_else(last), alone), Mode.OBSERVE, held=True)
    finally:
        assert objects.stop()
        server.delete(manifest("NodeGroupPolicy", POLICY, {}))


def _changed(objects: CustomObjects, before: Sequence[CustomObject]) -> tuple[CustomObject, ...]:
    """What there is once both of ours have changed."""
    seen = {item.title: item.generation for item in of_everybody_else(before)}
    while True:
        found = of_this_test(objects.all())
        if all(item.generation > seen[item.title] for item in of_everybody_else(found)):
            return found
        objects.settle(0.2, 5.0)


def _same(found: Looked, alone: Looked, mode: Mode, *, held: bool) -> None:
    made, without = found.current(), alone.current()
    assert msgspec.structs.replace(made.policy, place=without.policy.place) == without.policy
    assert made.policy.mode is mode
    assert found.ours() == alone.ours() == without.groups
    assert [entry.hold is not None for entry in found.ours()] == [held]
    problems = found.policy.reading.judged.problems
    others = {title for title in problems if not title.startswith((f"NodeGroup {FOREIGN}/", f"NodeGroup {TAKEN}/"))}
    assert others == set()
