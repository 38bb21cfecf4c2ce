"""Which cluster may write a target: one at a time, whoever asks at once, and whatever the server says."""

import threading

import pytest

from reconciler.decisions.ownership.other_policies import STATE_PREFIX
from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.target_holders import TargetHolders
from tests.kube.api_server import FakeApiServer

HOME = "reconciler"
UID, TARGET = "arn:aws:autoscaling:eu-central-1:1:autoScalingGroup:u:autoScalingGroupName/g", "AutoScalingGroup eu-central-1/g"


def holders(server: FakeApiServer, title: str) -> TargetHolders:
    return TargetHolders(server, HOME, title, {"reconciler.dev/cluster": title.replace("/", ".")})  # type: ignore[arg-type]


def test_the_first_has_it_until_it_gives_it_back() -> None:
    server = FakeApiServer()
    eu, us = holders(server, "infra/eu"), holders(server, "infra/us")
    assert (eu.take(TARGET, UID), eu.take(TARGET, UID)) == ("", "")
    (path,) = server.objects
    name = path.rpartition("/")[2]
    assert name.startswith(STATE_PREFIX)
    assert us.take(TARGET, UID).startswith(f"cluster infra/eu has {TARGET}, as ConfigMap {HOME}/{name} says: nothing is written")
    assert us.take(TARGET, UID.replace(":u:", ":v:")) == ""
    us.give_back(UID)
    assert us.take(TARGET, UID)
    eu.give_back(UID)
    assert (us.take(TARGET, UID), bool(eu.take(TARGET, UID))) == ("", True)


def test_of_those_who_ask_at_once_one_has_it() -> None:
    """Ten clusters in threads: the server creates an object only once."""
    server = FakeApiServer()
    gate, found = threading.Barrier(10), list[str]()

    def ask(number: int) -> None:
        gate.wait(10)
        found.append(holders(server, f"infra/c{number}").take(TARGET, UID))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, found)) == [False] + [True] * 9


def test_what_nobody_can_tell_refuses() -> None:
    """An object that says nothing, and a server that refuses."""
    server = FakeApiServer()
    eu = holders(server, "infra/eu")
    eu.take(TARGET, UID)
    (path,) = server.objects
    server.objects[path]["data"] = {}
    assert eu.take(TARGET, UID).startswith("another cluster has")
    server.unreadable[path] = b"nonsense"
    assert eu.take(TARGET, UID).startswith("another cluster has")
    server.unreadable[path] = ApiError(403, "Forbidden", "no")
    with pytest.raises(ApiError):
        eu.take(TARGET, UID)
