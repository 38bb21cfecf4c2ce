"""Loops of several clusters over the Auto Scaling groups of one account: who writes what, and how often AWS is asked."""

import os
import random

import pytest

from reconciler.platforms.aws.writing.accounts import Accounts
from tests.aws.fleet_account import FleetAccount, Member, add, by_group, cluster, of, role, told, unkind
from tests.aws.service.server import Service
from tests.aws.service.state import Group, Instance
from tests.aws.test_loop import pending
from tests.one_pod_nodes import bind

_RUNS = int(os.environ.get("AWS_RUNS", "2"))
"""Of each kind; more of them by hand."""
EU, US = cluster("eu"), cluster("us")
_ALLOWED = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]


def member(account: FleetAccount, name: str) -> Member:
    return next(one for one in account.members if one.identity.name == name)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("processes", [1, 2])
def test_each_cluster_sizes_its_own_groups(service: Service, processes: int) -> None:
    """Pods of each cluster grow its group alone. A group with no tag is held in both, and named; so is one of elsewhere."""
    own = {name: add(service, f"{name}-a", of(name)) for name in ("eu", "us")}
    loose = add(service, "loose")
    elsewhere = add(service, "elsewhere-a", of("elsewhere"))
    account = FleetAccount(service, (EU, US), processes=processes)
    member(account, "eu").pods, member(account, "us").pods = pending(2), pending(3)
    for _ in range(4):
        account.turn()
    assert {name: group.desired for name, group in own.items()} == {"eu": 2, "us": 3}, told(account.members[0])
    assert (loose.desired, elsewhere.desired) == (0, 0)
    assert own["eu"].tags["reconciler.dev/cluster"] == "infra/eu"
    codes = by_group(member(account, "eu"))
    assert sorted(codes) == ["elsewhere-a", "eu-a", "loose"]
    assert "ClusterUnknown" in codes["loose"]
    assert "OtherCluster" in codes["elsewhere-a"]
    assert account.writers() == {"eu-a": {"infra/eu"}, "us-a": {"infra/us"}}


@pytest.mark.parametrize(("processes", "roles"), [(1, False), (2, True)])
def test_no_group_is_written_by_two_clusters(service: Service, processes: int, *, roles: bool) -> None:
    """Whatever the latency, the lag and the rights: by what was written. Each cluster has nodes in one group that is torn between
    both, so both have evidence for it; and a group that names both."""
    for _ in range(_RUNS):
        seed = random.randrange(1 << 40)
        dice = random.Random(seed)
        service.reset()
        torn = add(service, "torn", desired=2)
        first = next(iter(torn.instances))

        def home(group: Group, instance: Instance, first: str = first) -> str:
            name = group.name.partition("-")[0]
            return name if name != "torn" else "eu" if instance.instance_id == first else "us"

        for name in ("eu", "us"):
            add(service, f"{name}-a", of(name))
        add(service, "loose")
        add(service, "both-a", {**of("eu"), **of("us")})
        account = FleetAccount(service, (EU, US), processes=processes, roles=roles, home=home)
        unkind(service, dice)
        for number in range(25):
            for one in account.members:
                if dice.random() < 0.4:
                    one.pods += pending(dice.randint(1, 2), f"web{number}")
                if one.pods and dice.random() < 0.3:
                    one.pods.remove(dice.choice(one.pods))
                bind(one)
                if roles and dice.random() < 0.2:
                    # A right is taken away for a while, or given back.
                    denied = dice.choice(("", "autoscaling:CreateOrUpdateTags", "autoscaling:SetDesiredCapacity"))
                    allowed = [{"Effect": "Allow", "Action": action, "Resource": "*"} for action in _actions(denied)]
                    service.account.policies[f"ASIA{one.identity.name}"] = allowed if denied else _ALLOWED
            account.turn(dice.uniform(1, 15))
        writers = account.writers()
        assert {group: by for group, by in writers.items() if len(by) > 1} == {}, f"seed {seed}"
        assert {group: by for group, by in writers.items() if group not in ("eu-a", "us-a", "torn")} == {}, f"seed {seed}"
        assert writers.get("eu-a", {"infra/eu"}) == {"infra/eu"}
        assert writers.get("us-a", {"infra/us"}) == {"infra/us"}


def _actions(denied: str) -> list[str]:
    known = ("autoscaling:Describe*", "ec2:Describe*", "arc-zonal-shift:List*", "autoscaling:CreateOrUpdateTags",
             "autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup", "autoscaling:DeleteTags",
             "autoscaling:SetInstanceProtection")  # fmt: skip
    return [one for one in known if one != denied]


@pytest.mark.usefixtures("at_once")
def test_a_torn_group_is_written_by_the_first_alone(service: Service) -> None:
    """Both clusters have nodes in it. The second is refused, and told by whom and where."""
    torn = add(service, "torn", desired=2)
    first = next(iter(torn.instances))
    account = FleetAccount(
        service, (EU, US), processes=2, home=lambda _, one: "eu" if one.instance_id == first else "us"
    )  # fmt: skip
    for one in account.members:
        one.pods = pending(4)
    account.turn()
    (by,) = account.writers()["torn"]
    loser = next(one for one in account.members if one.identity.title != by)
    results = " ".join(one.message for one in loser.reports[-1].results)
    assert f"cluster {by} has AutoScalingGroup" in results
    assert "ConfigMap reconciler/reconciler-state-target-" in results
    for _ in range(10):
        # All groups are listed again.
        account.turn()
    assert "OtherClusterMark" in by_group(loser)["torn"], told(loser)
    assert torn.tags["reconciler.dev/cluster"] == by


@pytest.mark.usefixtures("at_once")
def test_a_mark_of_a_cluster_elsewhere_refuses_every_write(service: Service) -> None:
    """Another management cluster may have a fleet too. Its mark is found by the read before each write, though the view has none
    yet."""
    group = add(service, "eu-a", of("eu"))
    account = FleetAccount(service, (EU,))
    (one,) = account.members
    one.pods = pending(1)
    one.poll.ask()
    group.tags["reconciler.dev/cluster"] = "far/eu"
    report = one.loop.turn()
    assert group.desired == 0
    assert any("OtherClusterMark" in result.message and "far/eu" in result.message for result in report.results)


@pytest.mark.usefixtures("at_once")
def test_a_released_group_is_free_for_others(service: Service) -> None:
    """The marks and the ConfigMap go with the release, and not those of others."""
    group = add(service, "eu-a", of("eu"))
    account = FleetAccount(service, (EU, US))
    eu, us = account.members
    eu.pods = pending(1)
    account.turn()
    held = [path for path in account.api.objects if "reconciler-state-target-" in path]
    assert (group.desired, len(held)) == (1, 1)
    for _ in range(12):
        account.turn(30)
        eu.pods = []
    assert group.desired == 0, told(eu)
    del group.tags["kubernetes.io/cluster/eu"]
    group.tags |= of("us")
    for _ in range(4):
        account.turn(30)
    assert [path for path in account.api.objects if "reconciler-state-target-" in path] == [], told(eu)
    assert "reconciler.dev/cluster" not in group.tags
    us.pods = pending(2)
    for _ in range(4):
        account.turn(30)
    assert group.tags.get("reconciler.dev/cluster") == "infra/us", told(us)


def _calls(service: Service, clusters: int, *, moving: bool) -> int:
    """In ten minutes, of loops that ask at different moments."""
    service.reset()
    service.at_once()
    names = [f"c{number}" for number in range(clusters)]
    for name in names:
        add(service, f"{name}-a", of(name), desired=1)
    account = FleetAccount(service, [cluster(name) for name in names])
    if moving:
        service.account.timing.launch = 10_000
        for group in service.account.groups.values():
            group.desired = 2
    dice = random.Random()
    for _ in range(60):
        for one in dice.sample(account.members, len(account.members)):
            account.clock.seconds += 10 / clusters
            service.advance(10 / clusters)
            one.poll.ask()
    assert all(len(one.poll.documents()) > 0 for one in account.members)
    return service.count("DescribeAutoScalingGroups")


@pytest.mark.parametrize("moving", [False, True])
def test_calls_do_not_grow_with_the_clusters(service: Service, *, moving: bool) -> None:
    """Of one account and role: an answer counts for 8 s, whoever asked. 600 s have 75 of those; a list and a call by names for
    each. Twenty loops alone would list 140 times, and ask by name 1,200 times while their groups change."""
    most = 600 / 8 * (2 if moving else 1)
    assert _calls(service, 20, moving=moving) <= most + 10


def test_roles_of_two_loops_are_kept_apart() -> None:
    """Two clusters may have a group of the same name, in two accounts: each is asked with its own role."""
    accounts = Accounts(lambda _region, _role: None)  # type: ignore[arg-type, return-value]
    accounts.named("eu-central-1", role("eu"), ["general"], "fleet.infra.eu")
    accounts.named("eu-central-1", role("us"), ["general"], "fleet.infra.us")
    assert accounts.last_role("eu-central-1", "general", "fleet.infra.eu") == role("eu")
    assert accounts.last_role("eu-central-1", "general", "fleet.infra.us") == role("us")
    assert accounts.last_role("eu-central-1", "general") == ""
