"""States of machines and pools, whose names come with and without a prefix."""

_PREFIX = "STATE_"
# SOURCE: states that Crusoe's own autoscaler knows and those of the newer API; a stopped machine is none that a count speaks of.
STOPPED = frozenset({"STOPPED", "SHUTOFF", "SHUTDOWN", "PAUSED", "CRASHED", "PMSUSPENDED"})
GOING = frozenset({"DELETING", "DELETED", "TERMINATING", "TERMINATED"})
LACKING = "BLOCKED"
RUNNING, ROTATING = "RUNNING", "ROTATING"
CHANGING = frozenset({"PROVISIONING", "UPDATING"})
"""States of a pool that end by themselves soon: what is to be done with it waits."""


def bare(state: str) -> str:
    """The state without its prefix."""
    return state.removeprefix(_PREFIX)


def counts(state: str) -> bool:
    """Whether a machine in this state is one of those that its pool's count speaks of."""
    return bare(state) not in STOPPED and bare(state) not in GOING
