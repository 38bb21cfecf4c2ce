"""How machines of a group behave, and how long things take in a simulated cluster."""

import msgspec


class Shortage(msgspec.Struct, frozen=True, kw_only=True):
    """No machine can be had from `from_seconds` until before `until_seconds` (Unix time)."""

    from_seconds: int
    until_seconds: int


class MachineBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Machines of one target. A machine joins as a Ready node `join_seconds` after it was asked for; the first
    `fail_first` ones fail instead. A node shows its devices `device_seconds` after it joined, and Cluster API
    takes its start-up taint off `taint_seconds` after. While there is a
    shortage a machine waits without node; it joins `join_seconds` after the shortage ended."""

    join_seconds: int = 90
    fail_first: int = 0
    shortages: tuple[Shortage, ...] = ()
    device_seconds: int = 0
    taint_seconds: int = 0


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take. `drain_retry_seconds` is between two tries to evict what a budget refused; a drain that has
    not ended after `drain_timeout_seconds` is given up (the node is opened again). `honour_grace` False: pods end at
    once. `put_back_seconds` is how soon a controller that owns a field undoes the write of another (a topology
    controller was measured at 0.6 to 1.0 s). Pods of a node that is not ready are given up after
    `unready_toleration_seconds` (the default toleration of node.kubernetes.io/not-ready)."""

    pod_start_seconds: int = 3
    drain_retry_seconds: int = 5
    drain_timeout_seconds: int = 600
    machine_delete_seconds: int = 20
    put_back_seconds: int = 1
    unready_toleration_seconds: int = 300
    honour_grace: bool = True


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
