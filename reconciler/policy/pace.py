"""How fast plans may follow each other, how large one may be, and somebody's leave for a group to lose more nodes than that."""

from typing import Annotated

import msgspec

from reconciler.policy.field import Loosens
from reconciler.policy.keys import Key

DAY_SECONDS = 86_400


class GroupApproval(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Within the 24 hours before `until_seconds` (Unix time) the group may have lost at most `nodes` nodes.

    It names the values of a policy by their digest, not a commit: the commit that approves is another one. Since it says how
    many nodes may be gone, and not how many more may go, it cannot be used twice.
    """

    policy_digest: str
    cluster: str
    group: str
    until_seconds: int
    nodes: int

    def covers(self, policy_digest: str, cluster: str, group: str, now_seconds: int) -> bool:
        """Whether it is for this group, of this policy on this cluster, now."""
        named = (self.policy_digest, self.cluster, self.group) == (policy_digest, cluster, group)
        return named and self.until_seconds - DAY_SECONDS <= now_seconds < self.until_seconds


def _delay(description: str, example: str, flag: str) -> Key:
    return Key(description, example, loosens=Loosens.DOWN, cluster_autoscaler=flag)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Cool-downs, the largest step of one plan, and how many nodes a group may lose in a day without approval (None: all)."""

    delay_after_add_seconds: Annotated[
        int, _delay("How long removals wait after nodes were added.", "10m", "--scale-down-delay-after-add")
    ] = 600
    delay_after_delete_seconds: Annotated[
        int, _delay("How long removals wait after a node was removed.", "0s", "--scale-down-delay-after-delete")
    ] = 0
    delay_after_failure_seconds: Annotated[
        int, _delay("How long removals wait after a removal failed.", "3m", "--scale-down-delay-after-failure")
    ] = 180
    max_added_nodes: Annotated[
        int,
        Key(
            "The most nodes that one plan adds.",
            100,
            unit="nodes",
            loosens=Loosens.UP,
            cluster_autoscaler="--max-nodes-per-scaleup",
        ),
    ] = 1000
    max_removed_percent: Annotated[
        int,
        Key("The largest share of the managed nodes that one plan removes, rounded up.", 10, loosens=Loosens.UP),
    ] = 100
    require_approval_above: Annotated[
        int | None,
        Key(
            "How many nodes each group may lose within 24 hours. More need an approval in a signed commit. If omitted, "
            "no approval is required.",
            5,
            unit="nodes",
            loosens=Loosens.UP,
        ),
    ] = None
