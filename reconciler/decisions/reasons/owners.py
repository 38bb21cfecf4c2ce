"""Reasons about who decides the replicas of a target."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text


class GroupHeld(Because, frozen=True, kw_only=True):
    """The group may not be changed: somebody else owns the replicas, or a hold is in force."""

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
    """A second writer: our writes were undone again and again. From the third time on the group is held."""

    code = "Conflict"
    writer: str
    times: int
    hold_at: int
    ours: int
    theirs: int
    asking: tuple[str, ...]
    more_asking: int = 0

    def sentence(self) -> str:
        """Who, how often, the two values, who asks for ours, and what follows."""
        text = f"{self.writer} undid our writes {count_text(self.times, 'time')}, the last from {self.ours} to {self.theirs}"
        if self.asking:
            rest = f" and {self.more_asking} more" if self.more_asking else ""
            text += f"; {', '.join(self.asking)}{rest} keep asking for {self.ours}"
        if self.times >= self.hold_at:
            return f"{text}; nothing is written until that ends and the group was held and released"
        return f"{text}; at {self.hold_at} times nothing more is written"


class WriteDenied(Because, frozen=True, kw_only=True):
    """The platform says that we may not write what was decided. `what` is growth or removal."""

    code = "WriteDenied"
    what: str
    times: int
    until: str
    why: str

    template = "the platform denies {what}, {times:time} so far, and is asked again from {until} on: {why}"


class Adoption(Because, frozen=True, kw_only=True):
    """The replicas field is taken over from an owner that the policy allows to take over from."""

    code = "Adoption"
    manager: str
    why: str

    template = "spec.replicas is taken over from {manager}: {why}"


class Released(Because, frozen=True, kw_only=True):
    """The group left the policy; the target keeps its size. `back` says how its manifest or topology takes replicas over again,
    `risk` what another value there would do; both empty where neither has left them out for us."""

    code = "Released"
    replicas: int
    back: str = ""
    risk: str = ""

    def sentence(self) -> str:
        """What stays, what goes, and the way back."""
        text = f"the group left the policy; its target keeps {count_text(self.replicas, 'replica')} and our marks are removed"
        return f"{text}; to declare them again, {self.back} ({self.risk})" if self.back else text


class ResizeNextTime(Because, frozen=True, kw_only=True):
    """A change of size waits for the adoption that this plan makes."""

    code = "ResizeNextTime"

    template = "the adoption comes first; the size changes in the next loop, judged anew on the adopted object"
