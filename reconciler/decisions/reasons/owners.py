"""Reasons about the owner of a target's replicas."""

from reconciler.plan.reason import Because, KeepsNode
from reconciler.values.plural import count_text


class GroupHeld(Because, frozen=True, kw_only=True):
    """The group must not be changed: it has another owner, or a hold is in force."""

    code = "GroupHeld"
    group: str
    why: str

    template = "{group} is held: {why}"


class OtherPolicy(Because, frozen=True, kw_only=True):
    """Another policy of this product, whose loop runs, has the group's target too: that one writes it."""

    code = "OtherPolicy"
    target: str
    policy: str
    namespace: str
    holder: str

    template = "{target} is also in policy {policy}, whose Lease in namespace {namespace} is held by {holder}: that one writes it"


class Conflict(Because, frozen=True, kw_only=True):
    """A second writer undid our writes repeatedly. From the third time, the group is held."""

    code = "Conflict"
    writer: str
    times: int
    hold_at: int
    ours: int
    theirs: int
    asking: tuple[str, ...]
    more_asking: int = 0

    def sentence(self) -> str:
        """Who, how often, the two values, who requests ours, and what follows."""
        text = f"{self.writer} undid our writes {count_text(self.times, 'time')}, the last from {self.ours} to {self.theirs}"
        if self.asking:
            rest = f" and {self.more_asking} more" if self.more_asking else ""
            text += f", while {', '.join(self.asking)}{rest} keep requesting {self.ours}"
        if self.times >= self.hold_at:
            return f"{text}. Nothing is written until that stops and the group has been held and released"
        return f"{text}. Writes stop after {self.hold_at} times"


class WriteDenied(KeepsNode, frozen=True, kw_only=True):
    """The platform denies a write of this plan. `what` is growth or removal."""

    code = "WriteDenied"
    what: str
    times: int
    until: str
    why: str

    template = "the platform denied {what} {times:time}. The next attempt is at {until}: {why}"


class Adoption(Because, frozen=True, kw_only=True):
    """The reconciler takes over the replicas field from an owner that the policy permits."""

    code = "Adoption"
    manager: str
    why: str

    template = "spec.replicas is taken over from {manager}: {why}"


class Released(Because, frozen=True, kw_only=True):
    """The group left the policy, and the target keeps its size. `back` says how its manifest or topology declares replicas again.
    `risk` says what another value there would do. Both are empty if neither omits replicas."""

    code = "Released"
    replicas: int
    back: str = ""
    risk: str = ""

    def sentence(self) -> str:
        """What stays, what is removed, and how to declare replicas again."""
        text = f"the group left the policy. Its target keeps {count_text(self.replicas, 'replica')} and our marks are removed"
        return f"{text}. To declare replicas again, {self.back} ({self.risk})" if self.back else text


class ResizeNextTime(Because, frozen=True, kw_only=True):
    """A change of size waits for the adoption that this plan makes."""

    code = "ResizeNextTime"

    template = "the group is adopted first. The next iteration decides its size"
