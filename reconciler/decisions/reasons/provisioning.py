"""Reasons about ProvisioningRequests: what becomes of the pods that somebody is about to create."""

from reconciler.decisions.reasons.code_words import rejection_words
from reconciler.plan.reason import Because
from reconciler.values.plural import count_text


class RequestFits(Because, frozen=True, kw_only=True):
    """Nodes that are there have room for these pods of the request."""

    code = "RequestFits"
    pods: int

    template = "{pods:pod} would run now"


class RequestUpcoming(Because, frozen=True, kw_only=True):
    """Nodes that are on their way will have room for these pods of the request."""

    code = "RequestUpcoming"
    pods: int
    groups: tuple[str, ...]

    template = "{pods:pod} would run on nodes of {groups} that are on their way"


class RequestGrows(Because, frozen=True, kw_only=True):
    """Groups grow for these pods of the request."""

    code = "RequestGrows"
    pods: int
    groups: tuple[str, ...]

    template = "{groups} {groups:grows|grow} for {pods:pod}"


class GrownForRequest(Because, frozen=True, kw_only=True):
    """The group grows for pods that a ProvisioningRequest announces."""

    code = "GrownForRequest"
    request: str
    pods: int
    nodes: int

    template = "{pods:pod} of ProvisioningRequest {request} {pods:needs|need} {nodes:node} more"


class RequestArrived(Because, frozen=True, kw_only=True):
    """So many pods of the request exist and need no room of it any more."""

    code = "RequestArrived"
    pods: int

    template = "{pods:pod} of it {pods:exists|exist}"


class RequestShort(Because, frozen=True, kw_only=True):
    """All pods of a request get room, or none. Nodes can be added for too few of them, so no node is. The reasons after it say
    why."""

    code = "RequestShort"
    pods: int
    placed: int

    template = "only {placed} of {pods:pod} would have room, so no node is added for any"


class RequestNoRoom(Because, frozen=True, kw_only=True):
    """The nodes that are there have room for too few pods of the request, and its class lets no node be added."""

    code = "RequestNoRoom"
    pods: int
    placed: int
    rejections: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How many have room, and on how many nodes each reason holds."""
        why = f" ({rejection_words(self.rejections)})" if self.rejections else ""
        return f"nodes that are there have room for {self.placed} of {count_text(self.pods, 'pod')}{why}"


class RequestNotTried(Because, frozen=True, kw_only=True):
    """Too many other requests do not get their room. No node is added for this one in the same plan; it has its turn."""

    code = "RequestNotTried"
    others: int

    template = "{others:request} got no room before this one, which waits for its turn in a later plan"


class RequestLimited(Because, frozen=True, kw_only=True):
    """A ResourceQuota of its namespace, or a bound of the product, leaves too little for its pods. It waits, and so do later ones
    that need the same."""

    code = "RequestLimited"
    pods: int
    limit: str

    template = "it waits with its {pods:pod}, since {limit} leaves too little"


class RequestRefused(Because, frozen=True, kw_only=True):
    """What the request asks for cannot be told, so no room is kept for it."""

    code = "RequestRefused"
    problem: str
    why: str

    template = "no room is kept for it: {why}"


class RequestAnswered(Because, frozen=True, kw_only=True):
    """Another program writes the status of the request, so the reconciler leaves it alone."""

    code = "RequestAnswered"
    by: str

    template = "{by} answers it, so no room is kept for it here"


class RequestNotServed(Because, frozen=True, kw_only=True):
    """Requests of this class are not answered here, or the policy ignores all requests. Nodes are added only for pods that
    exist."""

    code = "ProvisioningRequestNotServed"
    name: str

    template = "its class {name} is not served: no node is added for a ProvisioningRequest, only for pods that are pending"


class RequestBooked(Because, frozen=True, kw_only=True):
    """The room of the request is kept until this instant, or until its pods run."""

    code = "RequestBooked"
    until: str

    template = "the room is kept until {until}, or until its pods run"


class BookingExpired(Because, frozen=True, kw_only=True):
    """Room was kept for the request, and its pods did not come in time. It is free for others."""

    code = "BookingExpired"
    until: str
    missing: int

    template = "the room was kept until {until}, and {missing:pod} did not come"


class BookingConsumed(Because, frozen=True, kw_only=True):
    """All pods of the request run. No room is kept for it any more."""

    code = "BookingConsumed"
    pods: int

    template = "its {pods:pod} {pods:runs|run}"


class RequestTooOld(Because, frozen=True, kw_only=True):
    """The request did not get its room within the time that it is valid."""

    code = "RequestTooOld"
    until: str

    template = "it was valid until {until}"


class RequestNotRepeated(Because, frozen=True, kw_only=True):
    """The request asks to be tried once only (`noRetry`), and there was no room."""

    code = "RequestNotRepeated"

    template = "its parameter noRetry is true"


class RequestFitsNoGroup(Because, frozen=True, kw_only=True):
    """A new node of no group would run a pod of the request, so waiting does not help."""

    code = "RequestFitsNoGroup"
    groups: int

    template = "a new node of none of {groups:group} would run its pods"
