"""How machines of a group behave in a simulated cluster, and how long steps take."""

import msgspec


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """No machine can be had from `from_seconds` until before `until_seconds` (Unix time)."""

    from_seconds: int
    until_seconds: int


class MachineBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Machines of one target. A machine joins as a Ready node `join_seconds` after it was requested; the first `fail_first`
    machines fail instead. A node shows its devices `device_seconds` after it joined. Cluster API removes its startup taint after
    `taint_seconds`. During a shortage a machine waits without a node, and joins `join_seconds` after the shortage ended."""

    join_seconds: int = 90
    fail_first: int = 0
    shortages: tuple[Shortage, ...] = ()
    device_seconds: int = 0
    taint_seconds: int = 0


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take. `drain_retry_seconds` is the time between two attempts to evict what a budget refused. A drain that
    has not ended after `drain_timeout_seconds` is given up, and the node is uncordoned. `honour_grace` False: pods end at once.

    `put_back_seconds` is how soon a controller that owns a field undoes somebody else's write (measured for a topology
    controller: 0.6 to 1.0 s). Pods on an unready node are given up after `unready_toleration_seconds`, the default toleration of
    node.kubernetes.io/not-ready."""

    pod_start_seconds: int = 3
    drain_retry_seconds: int = 5
    drain_timeout_seconds: int = 600
    machine_delete_seconds: int = 20
    put_back_seconds: int = 1
    unready_toleration_seconds: int = 300
    honour_grace: bool = True

    @property
    def nothing_takes_time(self) -> bool:
        """Whether pods end and start, and drains go on, in the same instant."""
        return not (self.pod_start_seconds or self.drain_retry_seconds or self.honour_grace)


NO_DELAY = Durations(
    pod_start_seconds=0,
    drain_retry_seconds=0,
    drain_timeout_seconds=120,
    machine_delete_seconds=0,
    put_back_seconds=0,
    unready_toleration_seconds=300,
    honour_grace=False,
)
AT_ONCE = MachineBehaviour(join_seconds=0)
