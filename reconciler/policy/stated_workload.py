"""Pods of one controller, as scenarios and policy tests state them."""

import msgspec

from reconciler.policy.reading.typed_text import Quantity, StrictDocument


def _nothing() -> Quantity:
    return Quantity(0)


class StatedWorkload(StrictDocument, frozen=True, kw_only=True):
    """Pods of one controller; `name` is namespace/name. The pods have the label `app: NAME` unless `labels` says otherwise."""

    name: str
    kind: str = "ReplicaSet"
    replicas: int = 0
    cpu: Quantity = msgspec.field(default_factory=_nothing)
    memory: Quantity = msgspec.field(default_factory=_nothing)
    gpu: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[str, ...] = ()
    priority: int = 0
