"""What a live process asks all platforms together."""

from typing import Any, cast

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.api import Api
from reconciler.kube.watching.collection import Served
from reconciler.providers import live_platforms as all_
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import LivePlatform, Surroundings
from tests.aws.documents import REGION
from tests.aws.policies import policy_set

HEAD = "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: p}\nspec:\n"
CLOUD = f"{HEAD}  discovery: [{{name: a, aws: {{region: {REGION}, tags: {{a: b}}}}}}]\n"
ON_SERVER = f"{HEAD}  discovery: [{{name: a, clusterAPI: {{}}}}]\n"
SERVED = Served(platform="clusterAPI", group="cluster.x-k8s.io", version="v1beta2")
OPENSHIFT = Served(platform="openshift", group="machine.openshift.io", version="v1beta1")


def around(*served: Served) -> Surroundings:
    return Surroundings(management=cast(Api, None), served=served)


@pytest.mark.parametrize(
    ("environment", "asks"),
    [({}, False), ({"AWS_REGION": REGION}, True), ({"CRUSOE_ACCESS_KEY": "a"}, True), ({"OTHER": "x"}, False)],
)
def test_whether_a_process_sizes_a_cloud(environment: dict[str, str], *, asks: bool) -> None:
    """One of them is enough."""
    assert all_.asks_clouds(environment) is asks


@pytest.mark.parametrize(
    ("text", "named"),
    [(CLOUD, True), (ON_SERVER, False), (f"{HEAD}  mode: Observe\n", False)],
)
def test_whether_a_policy_names_a_cloud(text: str, *, named: bool) -> None:
    """Targets that an API server keeps are none of a cloud."""
    assert all_.names_clouds(policy_set(text)) is named


def test_a_cloud_that_nobody_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has nothing that a process could size."""
    without = tuple(msgspec.structs.replace(one, provider=None) for one in all_.live_platforms())
    monkeypatch.setattr(all_, "live_platforms", lambda: without)
    assert not all_.names_clouds(policy_set(CLOUD))
    assert all_.providers(around(SERVED)) == {}


def test_what_lets_targets_be_found() -> None:
    """Every way that a platform names, in one sentence."""
    assert all_.nothing_to_size("https://a") == (
        "https://a has nothing whose replicas could be changed, and no cloud is configured: --management-kubeconfig names the "
        "cluster with the MachineDeployments, AWS_REGION names a region with Auto Scaling groups, and CRUSOE_ACCESS_KEY and "
        "its related variables name a cluster with node pools"
    )


def test_who_writes_what() -> None:
    """Platforms on a server where that serves them; clouds always."""
    clouds = {"AutoScalingGroup", "NodePool"}
    kinds = {"MachineDeployment", "MachineSet", "MachinePool"}
    assert all_.providers(around()).keys() == clouds
    assert all_.providers(around(SERVED)).keys() == clouds | kinds
    assert all_.providers(around(OPENSHIFT)).keys() == clouds | {"MachineSet.machine.openshift.io"}


def test_what_is_polled() -> None:
    """The clouds; platforms on a server are watched."""
    assert len(all_.polled(around())) == len(all_.polled(around(SERVED))) == 2


def test_each_platform_sees_its_own_groups() -> None:
    """None where its server has none of them; a cloud has no group that it could miss."""
    named = {one.name: one for one in all_.live_platforms()}
    seen = all_.of_platform(named["clusterAPI"], around(SERVED, OPENSHIFT))
    assert seen is not None
    assert seen.served == (SERVED,)
    assert all_.of_platform(named["clusterAPI"], around(OPENSHIFT)) is None
    cloud = all_.of_platform(named["aws"], around(SERVED))
    assert cloud is not None
    assert cloud.served == ()


def test_where_autoscalers_of_platforms_live() -> None:
    """Of those that are served."""
    assert all_.autoscaler_homes([OPENSHIFT]) == ("openshift-machine-api",)
    assert all_.autoscaler_homes([SERVED]) == all_.autoscaler_homes([]) == ()


def test_a_hold_goes_to_the_cloud_of_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """And to no other; a target that is held elsewhere is left to that."""
    asked: list[tuple[str, TargetRef, str]] = []

    def hold(name: str) -> Any:
        def held(target: TargetRef, policy: object, text: str) -> str:
            asked.append((name, target, text))
            return "before"

        return held

    platforms = (
        LivePlatform(name="a", kinds=("A",)),
        LivePlatform(name="b", kinds=("B",), hold=hold("b")),
        LivePlatform(name="c", kinds=("C",), hold=hold("c")),
    )
    monkeypatch.setattr(all_, "live_platforms", lambda: platforms)
    policy = policy_set(CLOUD)
    of = {kind: TargetRef(kind=kind, name="x") for kind in "ABC"}
    assert [all_.hold_in_cloud(of[kind], policy, "w") for kind in "ABC"] == [None, "before", "before"]
    assert asked == [("b", of["B"], "w"), ("c", of["C"], "w")]


def test_all_clouds_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their answers come together, in the order of the platforms; those of an API server are looked for there."""
    platforms = tuple(
        LivePlatform(
            name=name,
            kinds=(),
            asked=lambda _question, _environment, name=name: CloudAnswer(unread=(name,)),
            served=lambda _api, _environment, name=name: (Served(platform=name, group=name, version="v1"),),
        )
        for name in ("a", "b")
    )
    monkeypatch.setattr(all_, "live_platforms", lambda: platforms)
    assert all_.ask_clouds(CloudQuestion(), {}).unread == ("a", "b")
    assert [one.group for one in all_.served_platforms(cast(Api, None), {})] == ["a", "b"]
    assert Check(code="x", state=State.PASS, message="m").advice == ""
