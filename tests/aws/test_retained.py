"""Instances that a lifecycle policy keeps when their hook is abandoned: counted off, running, nobody's but a person's."""

import pytest

from tests.aws.policies import policy_set
from tests.aws.service.server import Service
from tests.aws.test_asking import POLICY, TAG, Polled
from tests.aws.writes import Writer, workers


@pytest.mark.usefixtures("at_once")
def test_told_and_not_waited_for(service: Service) -> None:
    """The removal is over with the decrement; the instance is told with what to do, is no machine to count on, and is not asked
    for every few seconds as long as it stays."""
    group = service.account.add(workers(desired=3, tags={TAG: "owned"}, terminate_hook_seconds=60, retains=True))
    polled, writer = Polled(service, policy_set(POLICY)), Writer(service)
    name = group.counted[0].instance_id
    (removal,) = writer.remove(group, name)
    assert (removal.state.value, removal.replicas, group.desired) == ("Finished", 2, 2)
    service.advance(120)
    polled.turn()
    assert group.instances[name].state == "Terminating:Retained"
    world = polled.world()
    (facts,) = world.targets
    messages = {one.code: one.message for one in facts.cautions}
    assert name in messages["Retained"]
    assert "TakenByAws" not in messages
    assert {one.name for one in world.machines if not one.deleting} == {one.instance_id for one in group.counted}
    assert (facts.replicas, facts.launch_failure) == (2, None)
    before = service.count()
    for _ in range(4):
        polled.turn()
    assert service.count() == before
