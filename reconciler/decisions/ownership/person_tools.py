"""The clients through which a person changes one object once.

A write by anything else is a declaration. The list names what is known to be safe to take over after `humanHoldTime`. Any other
name holds the target, however old its write is: the program behind it may write again at any moment. SOURCE: the API server
names an Update after the client's user agent up to its first slash, unless the client gives a name. kubectl gives one for each
verb, but none for `kubectl scale`. `oc` and old versions of kubectl also wrote whole manifests under their bare names, so these
names count only for the subresource `scale`. `tests/fixtures/owners/managers.csv` has names from public dumps.
"""

from reconciler.cluster.target import FieldOwner

PERSON_TOOLS = {
    "Mozilla": "a browser, as behind the console of OpenShift",
    "k9s": "k9s, by its user agent",
    "kubectl-create": "kubectl create, staging/src/k8s.io/kubectl/pkg/cmd/create",
    "kubectl-edit": "kubectl edit, staging/src/k8s.io/kubectl/pkg/cmd/edit",
    "kubectl-patch": "kubectl patch, staging/src/k8s.io/kubectl/pkg/cmd/patch",
    "kubectl-replace": "kubectl replace, staging/src/k8s.io/kubectl/pkg/cmd/replace",
    "kubectl-set": "kubectl set, staging/src/k8s.io/kubectl/pkg/cmd/set",
}
"""Field manager -> the client behind it."""
AT_SCALE = {"kubectl": "kubectl scale, by its user agent", "oc": "oc scale, by its user agent"}
"""The same for writes to the subresource `scale` alone."""


def by_person(owner: FieldOwner) -> bool:
    """Whether a person's tool made this write. An Apply declares, whoever made it."""
    at_scale = owner.subresource == "scale" and owner.manager in AT_SCALE
    return owner.operation == "Update" and (at_scale or owner.manager in PERSON_TOOLS)
