"""How fast plans may follow each other, how large one may be, and somebody's leave for a group to lose more nodes than that."""

import msgspec

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


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Cool-downs, the largest step of one plan, and how many nodes a group may lose in a day without approval (None: all)."""

    delay_after_add_seconds: int = 600
    delay_after_delete_seconds: int = 0
    delay_after_failure_seconds: int = 180
    max_added_nodes: int = 1000
    max_removed_percent: int = 100
    require_approval_above: int | None = None
