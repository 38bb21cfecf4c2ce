"""Instances of others, and nodes that nobody can tell from instances, are never ended as machines that never came."""

import pytest

from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import GroupLine
from tests.aws.documents import facts, group
from tests.aws.service.server import Service
from tests.aws.service.state import Group
from tests.aws.test_loop import NO_HUMAN_HOLD, Loop, bind, pending, sizes, told
from tests.aws.writes import workers


def long(loop: Loop) -> LoopReport:
    """Longer than the 15 minutes in which an instance is to become a node."""
    for _ in range(20):
        report = loop.turn(60)
    return report


def line(report: LoopReport, name: str) -> GroupLine:
    assert report.plan is not None, told(report)
    return next(one for one in report.plan.groups if one.name == name)


def codes(report: LoopReport, name: str) -> list[str]:
    return [reason.code for reason in line(report, name).reasons]


def theirs(loop: Loop, desired: int = 3, **tags: str) -> Group:
    """Group `spot` is another cluster's: its instances have long been there, and are nodes over there."""
    group = workers("spot", desired=desired, max_size=5, tags={**loop.groups["spot"].tags, **tags})
    loop.groups["spot"] = loop.cluster.service.account.add(group)
    loop.cluster.joins = set()
    return group


def own_nodes(loop: Loop, count: int = 1) -> None:
    """Group `general` has nodes here."""
    group = loop.groups["general"]
    group.desired = count
    for _ in range(count):
        instance = loop.cluster.service.account.launched(group, group.zones[0])
        instance.state = "InService"
        loop.cluster.joins = {*(loop.cluster.joins or ()), instance.instance_id}


def test_a_group_with_the_tags_of_another_cluster(service: Service) -> None:
    """It is held from the first turn on, its instances stay, and the pods get nodes of a group of ours."""
    loop = Loop(service)
    theirs(loop, **{"eks:cluster-name": "staging", "kubernetes.io/cluster/staging": "owned"})
    loop.groups["general"].tags["eks:cluster-name"] = "prod"
    own_nodes(loop)
    loop.cluster.pods = pending(2)
    report = loop.turn()
    assert "OtherCluster" in codes(report, "spot"), told(report)
    assert line(report, "spot").held
    loop.turns(2)
    assert sizes(loop) == (3, 2)
    report = long(loop)
    assert (sizes(loop)[0], [name for name, _ in service.account.ended if name == "spot"]) == (3, [])
    assert "staging" in str([reason.message for reason in line(report, "spot").reasons])


def test_a_group_of_another_cluster_that_has_no_tags(service: Service) -> None:
    """None of its instances ever became a node of ours: it is held, they stay, and the plan names them."""
    loop = Loop(service)
    group = theirs(loop)
    report = long(loop)
    assert (sizes(loop), service.account.ended) == ((3, 0), [])
    assert "NeverJoined" in codes(report, "spot"), told(report)
    assert all(one.instance_id in str(line(report, "spot").reasons) for one in group.counted)


def test_their_group_grows_beside_ours(service: Service) -> None:
    """Instances that the other cluster's autoscaler starts while we look on are no more ours than those before."""
    loop = Loop(service)
    group = theirs(loop)
    loop.turns(3)
    group.desired = 5
    long(loop)
    assert (sizes(loop)[0], service.account.ended) == (5, [])


def test_their_group_starts_from_nothing(service: Service) -> None:
    """It had no instance when we saw it first, and it is others who raise it."""
    loop = Loop(service)
    group = theirs(loop, desired=0)
    loop.turns(3)
    group.desired = 2
    report = long(loop)
    assert (sizes(loop)[0], service.account.ended) == (2, [])
    assert "NeverJoined" in codes(report, "spot"), told(report)


def test_which_cluster_this_is_nobody_tells(service: Service) -> None:
    """Two groups of two clusters, both without nodes: buying in the wrong one would put a machine, and then pods, over there."""
    loop = Loop(service)
    loop.restart(NO_HUMAN_HOLD)
    loop.groups["spot"].tags["kubernetes.io/cluster/staging"] = "owned"
    loop.groups["general"].tags["kubernetes.io/cluster/prod"] = "owned"
    loop.cluster.pods = pending(2)
    report = loop.turns(3)
    assert sizes(loop) == (0, 0), told(report)
    assert codes(report, "spot")[-1] == codes(report, "general")[-1] == "OtherCluster"
    own_nodes(loop)
    report = loop.turns(20)
    assert sizes(loop) == (0, 2), told(report)


def test_the_first_instance_of_a_group_joins(service: Service) -> None:
    """A group that never had any grows, and is a group like any other once its first node is there."""
    loop = Loop(service)
    loop.groups["spot"].tags["kubernetes.io/cluster/prod"] = "owned"
    loop.cluster.pods = pending(1)
    report = loop.turns(7)
    assert sizes(loop) == (1, 0)
    assert not line(report, "spot").held
    bind(loop, loop.groups["spot"])
    loop.cluster.pods = [*loop.cluster.pods, *pending(1, "more")]
    loop.turns(2)
    assert sizes(loop) == (2, 0)


@pytest.mark.parametrize("cluster", ["", "prod"])
def test_the_first_instance_never_joins(service: Service, cluster: str) -> None:
    """We have started it, and so take it back, unless its tags name a cluster that nothing says is this one."""
    loop = Loop(service)
    loop.cluster.joins = set()
    if cluster:
        for group in loop.groups.values():
            group.tags[f"kubernetes.io/cluster/{cluster}"] = "owned"
    loop.cluster.pods = pending(1)
    loop.turn()
    assert sizes(loop) == (1, 0)
    (bought,) = loop.turns(4) and loop.groups["spot"].counted
    report = long(loop)
    went = bought.instance_id in {name for _, name in service.account.ended}
    assert went is not bool(cluster), told(report)
    assert ("MachinesKept" in codes(report, "spot")) is bool(cluster)


def test_one_of_ours_never_joins_beside_nodes(service: Service) -> None:
    """In a group that has nodes here, what our own growth started and never came goes, and nothing else does."""
    loop = Loop(service)
    own_nodes(loop, 2)
    loop.cluster.pods = pending(2)
    bind(loop, loop.groups["general"])
    loop.groups["spot"].max_size = 0
    loop.turn()
    loop.cluster.pods = [*loop.cluster.pods, *pending(1, "more")]
    loop.turns(2)
    assert sizes(loop) == (0, 3)
    before = {one.instance_id for one in loop.groups["general"].counted if one.instance_id in (loop.cluster.joins or ())}
    loop.turns(4)
    (bought,) = {one.instance_id for one in loop.groups["general"].counted} - before
    report = long(loop)
    assert ("general", bought) in service.account.ended, told(report)
    assert before <= {one.instance_id for one in loop.groups["general"].counted}


def test_somebody_raises_a_group_that_has_nodes_here(service: Service) -> None:
    """An instance that was attached, or started by a person, runs nobody knows what: it stays and is named."""
    loop = Loop(service)
    loop.restart(NO_HUMAN_HOLD)
    own_nodes(loop)
    loop.cluster.pods = pending(1)
    bind(loop, loop.groups["general"])
    loop.turns(3)
    group = loop.groups["general"]
    group.desired += 1
    report = long(loop)
    attached = group.counted[-1].instance_id
    assert service.account.ended == []
    assert "MachinesKept" in codes(report, "general"), told(report)
    assert attached in str(line(report, "general").reasons)
    assert not line(report, "general").held
    # Nobody waits for it here, so that it does not come says nothing of the group's lead times.
    assert [times for times in loop.store.load().lead_times.values() if times.requests or times.under_way] == []


def test_what_was_there_when_the_process_began(service: Service) -> None:
    """A memory that is lost makes strangers of the instances that were bought and have not joined."""
    loop = Loop(service)
    loop.cluster.joins = set()
    loop.cluster.pods = pending(1)
    loop.turns(6)
    assert sizes(loop) == (1, 0)
    loop.store = type(loop.store)()
    loop.restart()
    report = long(loop)
    assert service.account.ended == []
    assert "NeverJoined" in codes(report, "spot"), told(report)


def test_a_node_whose_object_was_deleted(service: Service) -> None:
    """It was a node: that nobody sees it now does not make its instance one that never came."""
    loop = Loop(service)
    loop.cluster.pods = pending(1)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turns(2)
    loop.cluster.joins, loop.cluster.pods = set(), []
    report = long(loop)
    assert service.account.ended == []
    assert "MachinesKept" in codes(report, "spot"), told(report)


@pytest.mark.parametrize("name", ["i-{id}", "i-{id}.eu-central-1.compute.internal", "ip-10-0-0-7.eu-central-1.compute.internal"])
def test_nodes_without_a_provider_id(service: Service, name: str) -> None:
    """One that is called like its instance is its node; one of which nobody can tell keeps the instances of the group."""
    loop = Loop(service)
    loop.cluster.pods = pending(1)
    named = name

    def unlabelled() -> list[dict[str, object]]:
        found = made()
        for item in found:
            instance = item["metadata"]["name"].removeprefix("n-i-")
            item["metadata"]["name"] = named.format(id=instance)
            item["metadata"]["labels"]["kubernetes.io/hostname"] = item["metadata"]["name"]
            del item["spec"]["providerID"]
        return found

    made = loop.cluster._nodes
    loop.cluster._nodes = unlabelled  # type: ignore[method-assign]
    loop.turns(7)
    (node,) = unlabelled()
    loop.cluster.pods[0]["spec"]["nodeName"] = node["metadata"]["name"]  # type: ignore[index]
    loop.cluster.pods[0]["status"] = {"phase": "Running"}
    report = long(loop)
    assert (sizes(loop), service.account.ended) == ((1, 0), []), told(report)
    assert ("MachinesKept" in codes(report, "spot")) is name.startswith("ip-")


def test_another_group_by_the_same_name(service: Service) -> None:
    """A group that was deleted and made again is another one: what was known of the first says nothing of its instances."""
    loop = Loop(service)
    loop.cluster.pods = pending(1)
    loop.turns(7)
    bind(loop, loop.groups["spot"])
    loop.turns(2)
    assert sizes(loop) == (1, 0)
    loop.cluster.pods = []
    group = workers("spot", desired=1, max_size=5, tags=dict(loop.groups["spot"].tags))
    group.extra["AutoScalingGroupARN"] = group.arn.replace("spot-id", "another-id")
    loop.groups["spot"] = service.account.add(group)
    loop.cluster.joins = set()
    report = long(loop)
    assert service.account.ended == []
    assert "NeverJoined" in codes(report, "spot"), told(report)


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        ({"eks:cluster-name": "prod", "kubernetes.io/cluster/prod": "owned"}, ("prod",)),
        ({"kubernetes.io/cluster/prod": "shared", "kubernetes.io/cluster/staging": "shared"}, ("prod", "staging")),
        ({"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/prod": "owned"}, ("prod",)),
        ({"k8s.io/cluster-autoscaler/node-template/label/team": "a", "Name": "prod"}, ()),
        ({"KubernetesCluster": "a.example.com", "alpha.eksctl.io/cluster-name": "b"}, ("a.example.com", "b")),
        ({"eks:cluster-name": "", "kubernetes.io/cluster/": "owned"}, ()),
    ],
)
def test_what_tags_say_of_clusters(tags: dict[str, str], named: tuple[str, ...]) -> None:
    assert facts(group(tags=tags)).clusters == named
