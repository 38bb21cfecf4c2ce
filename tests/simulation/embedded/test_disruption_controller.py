"""Budgets follow the pods that live, with the disruption controller's arithmetic."""

import pytest

from reconciler.simulation.embedded.disruption_controller import DisruptionController, amount_of
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_object import PodObject
from tests.builders import ClusterBuilder


def _controller(cluster: ClusterBuilder) -> tuple[ClusterObjects, DisruptionController]:
    objects = ClusterObjects(cluster.world(), {})
    return objects, DisruptionController(objects)


def _pod(objects: ClusterObjects, name: str) -> PodObject:
    return objects.pods["shop", name]


@pytest.mark.parametrize(
    ("text", "total", "expected"),
    [("2", 10, 2), ("80%", 10, 8), ("80%", 7, 6), ("50%", 3, 2), ("1%", 7, 1), ("0%", 7, 0), ("100%", 7, 7)],
)
def test_percentages_round_up(text, total, expected):
    """7 pods at 80% are 5.6, which counts as 6: the controller rounds both bounds up."""
    assert amount_of(text, total) == expected


@pytest.mark.parametrize("text", ["y", "50.5%", "%", "-1", "1e3", "\u0661%", "9" * 5000, "9" * 5000 + "%"])
def test_what_no_api_server_takes(text: str) -> None:
    """It is no amount, and nothing fails on it."""
    assert amount_of(text, 10) is None


@pytest.mark.parametrize(
    ("bounds", "desired", "allowed"),
    [
        ({"min_available": "80%"}, 6, 1),  # 5.6 of 7 expected
        ({"min_available": "5"}, 5, 2),
        ({"max_unavailable": "30%"}, 4, 3),  # 2.1 of 7, rounded up to 3 that may be missing
        ({"max_unavailable": "0"}, 7, 0),
        ({"max_unavailable": "9"}, 0, 7),
        # Texts that no API server takes allow nothing.
        ({"min_available": "most"}, 7, 0),
        ({"max_unavailable": "9" * 5000}, 7, 0),
    ],
)
def test_status_is_recomputed_when_a_pod_changes(bounds, desired, allowed):
    """Healthy less desired of seven running pods may be disrupted."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="8")
    cluster.pods("web", 7, on="n1")
    cluster.budget("web", allowed=99, **bounds)
    objects, controller = _controller(cluster)
    controller.changed(_pod(objects, "web-1"))
    controller.sync()
    status = objects.budgets["shop", "web"]
    assert (status.current_healthy, status.desired_healthy, status.disruptions_allowed) == (7, desired, allowed)


def test_untouched_budget_keeps_its_captured_status():
    """What the real controller wrote stands until one of its pods changes."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("web", 2, on="n1")
    cluster.budget("web", allowed=2, min_available="50%")
    objects, controller = _controller(cluster)
    assert not controller.sync()
    assert objects.budgets["shop", "web"].disruptions_allowed == 2


def test_expected_is_the_controllers_replicas_not_the_pods_that_are_there():
    """Ten replicas of which six run: 80% of ten is eight, so none of the six may go."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="8")
    cluster.pods("web", 6, on="n1", replicas=10)
    cluster.budget("web", allowed=1, min_available="80%")
    objects, controller = _controller(cluster)
    controller.changed(_pod(objects, "web-1"))
    controller.sync()
    status = objects.budgets["shop", "web"]
    assert (status.expected_pods, status.desired_healthy, status.disruptions_allowed) == (10, 8, 0)


@pytest.mark.parametrize("change", ["deletion", "ready"])
def test_terminating_and_unready_pods_are_not_healthy(change):
    """One of three is on its way out or not Ready: two are healthy, one is needed, so one more may go."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("web", 3, on="n1")
    cluster.budget("web", allowed=2, min_available="1", healthy=3, desired=1, expected=3)
    objects, controller = _controller(cluster)
    pod = _pod(objects, "web-1")
    pod.deletion, pod.ready = (1, True) if change == "deletion" else (0, False)
    controller.changed(pod)
    controller.sync()
    status = objects.budgets["shop", "web"]
    assert (status.current_healthy, status.disruptions_allowed) == (2, 1)


def test_eviction_is_refused_with_the_numbers():
    """The refusal reads like that of the API server: needed and present."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("db", 3, on="n1")
    cluster.budget("db", allowed=0, max_unavailable="0", healthy=3, desired=3, expected=3)
    objects, controller = _controller(cluster)
    assert "needs 3 healthy pods and has 3" in controller.refusal(_pod(objects, "db-1"))


def test_pending_pod_goes_without_asking_a_budget():
    """The eviction API does not ask budgets for pods that do not run."""
    cluster = ClusterBuilder()
    cluster.pods("db", 1)
    cluster.budget("db", allowed=0, max_unavailable="0")
    objects, controller = _controller(cluster)
    assert controller.refusal(_pod(objects, "db-1")) == ""


def test_pod_under_two_budgets_cannot_be_evicted():
    """The eviction subresource answers such a pod with an error, whatever the budgets allow."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("web", 3, on="n1", labels={"app": "web", "tier": "front"})
    cluster.budget("web", allowed=3, min_available="0")
    world = cluster.world()
    second = world.budgets[0].__class__(
        namespace="shop", name="all", selector=world.budgets[0].selector, disruptions_allowed=3, min_available="0"
    )
    objects = ClusterObjects(cluster.world(budgets=(second, *world.budgets)), {})
    assert "more than one PodDisruptionBudget" in DisruptionController(objects).refusal(_pod(objects, "web-1"))


def test_unready_pod_may_go_while_the_budget_is_met():
    """IfHealthyBudget: a pod that is not healthy anyway may be evicted when enough others are."""
    cluster = ClusterBuilder()
    cluster.node("n1")
    cluster.pods("web", 3, on="n1")
    cluster.budget("web", allowed=0, min_available="2", healthy=2, desired=2, expected=3)
    objects, controller = _controller(cluster)
    pod = _pod(objects, "web-3")
    pod.ready = False
    assert controller.refusal(pod) == ""
    assert controller.refusal(_pod(objects, "web-1")) != ""
