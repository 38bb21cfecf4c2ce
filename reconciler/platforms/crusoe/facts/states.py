"""States of machines and pools, whose names come with and without a prefix."""

_PREFIX = "STATE_"
# SOURCE: states that Crusoe's own autoscaler knows and those of the newer API. A count does not include stopped machines.
STOPPED = frozenset({"STOPPED", "SHUTOFF", "SHUTDOWN", "PAUSED", "CRASHED", "PMSUSPENDED"})
GOING = frozenset({"DELETING", "DELETED", "TERMINATING", "TERMINATED"})
LACKING = "BLOCKED"
RUNNING, ROTATING = "RUNNING", "ROTATING"
CHANGING = frozenset({"PROVISIONING", "UPDATING"})
"""States of a pool that end by themselves soon: other changes wait."""


def bare(state: str) -> str:
    """The state without its prefix."""
    return state.removeprefix(_PREFIX)


def counts(state: str) -> bool:
    """Whether its pool's count includes a machine in this state."""
    return bare(state) not in STOPPED and bare(state) not in GOING
