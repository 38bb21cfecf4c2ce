"""How Crusoe's fork of the Cluster Autoscaler names node pools in its flags. SOURCE: crusoecloud/k8s-autoscaler."""

from collections.abc import Callable

from reconciler.policy.platform.autoscaler_flags import NamedTarget, PlatformFlags


def _named(text: str, place: Callable[[], str]) -> NamedTarget | None:
    return NamedTarget(target={"crusoe": {"nodePool": text, "location": place()}}, name=text)


FLAGS = PlatformFlags(clouds=("crusoecloud",), provider="crusoe", named=_named)
