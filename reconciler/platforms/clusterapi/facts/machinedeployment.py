"""MachineDeployments as targets."""

from reconciler.cluster.target import RolloutPace, TargetFacts
from reconciler.platforms.clusterapi.facts import scalable, wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.values.whole_number import whole_number

_ON_DELETE = "OnDelete"
_REVISION = "machinedeployment.clusters.x-k8s.io/revision"


def facts(item: wire.Scalable, view: ClusterApiView) -> TargetFacts:
    """The facts of one MachineDeployment."""
    return scalable.facts(
        item,
        MACHINE_DEPLOYMENT,
        view,
        zone=item.spec.template.spec.failure_domain or "",
        rolling_out=_rolling_out(item, view),
        rollout=rollout_pace(item.spec),
    )


def rollout_pace(spec: wire.ScalableSpec) -> RolloutPace:
    """How fast the MachineDeployment replaces its Machines.

    SOURCE: Cluster API `internal/webhooks/machinedeployment.go` (without values, a surge of 1 and 0 unavailable) and
    `mdutil.ResolveFenceposts`. A percentage of the surge is rounded up, one of the unavailable is rounded down. If both are 0,
    one Machine may be unavailable. OnDelete replaces what somebody else deletes.
    """
    strategy = (spec.rollout.strategy if spec.rollout is not None else None) or spec.strategy or wire.Strategy()
    if strategy.type == _ON_DELETE:
        return RolloutPace(surge=0, unavailable=1, on_delete=True, origin=f"strategy {_ON_DELETE}")
    rolling, replicas = strategy.rolling_update or wire.RollingUpdate(), spec.replicas or 0
    most_surge = 1 if rolling.max_surge is None else rolling.max_surge
    most_unavailable = 0 if rolling.max_unavailable is None else rolling.max_unavailable
    surge, unavailable = _machines(most_surge, replicas, 99, 1), _machines(most_unavailable, replicas, 0, 0)
    if not surge and not unavailable:
        unavailable = 1
    origin = f"maxSurge {most_surge}, maxUnavailable {most_unavailable}"
    return RolloutPace(surge=surge, unavailable=unavailable, origin=origin)


def _machines(amount: int | str, replicas: int, plus: int, otherwise: int) -> int:
    """A number, or a percentage of the replicas: `plus` 99 rounds it up, 0 rounds it down. What no API server accepts counts as
    `otherwise`, the value without any."""
    if isinstance(amount, int):
        return max(0, amount)
    percent = whole_number(amount.removesuffix("%")) if amount.endswith("%") else None
    return otherwise if percent is None else (replicas * percent + plus) // 100


def _rolling_out(item: wire.Scalable, view: ClusterApiView) -> bool:
    """Whether a MachineSet of an older revision still has machines, or wants some.

    The RollingOut condition covers more: it stays true for machines that merely report another version.
    """
    owned = [(_revision(machine_set), machine_set) for machine_set in view.sets_of(item)]
    newest = max((_revision(item), *(revision for revision, _ in owned)))
    return any(revision < newest and _has_machines(machine_set) for revision, machine_set in owned)


def _revision(item: wire.Scalable) -> int:
    return whole_number((item.metadata.annotations or {}).get(_REVISION, "")) or 0


def _has_machines(machine_set: wire.Scalable) -> bool:
    return bool(machine_set.spec.replicas) or bool(machine_set.status and machine_set.status.replicas)
