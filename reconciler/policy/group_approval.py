"""Somebody's leave for one group to lose more nodes than its policy lets go by itself."""

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
