"""Affinity terms and spread constraints whose selectors say what must not be, for pods and for namespaces."""

from tests.differential.generator.draft import APPS, HOSTNAME, NAMESPACES, ZONE, Draft, Object
from tests.differential.generator.selectors import selector

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAME = "kubernetes.io/metadata.name"


def add(draft: Draft) -> None:
    """Give pods terms with selectors of every operator; a namespace may lack its object."""
    if draft.chance(30):
        draft.namespaces.pop()
    for pod in draft.some(draft.pods, 30):
        kind = draft.random.choice(("podAffinity", "podAntiAffinity", "podAntiAffinity"))
        keys = (ZONE, HOSTNAME) if kind == "podAffinity" else (HOSTNAME, HOSTNAME, ZONE)
        pod["spec"].setdefault("affinity", {})[kind] = {_REQUIRED: [_term(draft, draft.random.choice(keys))]}
    for pod in draft.some(draft.pods, 15):
        pod["spec"]["topologySpreadConstraints"] = [
            {
                "topologyKey": draft.random.choice((ZONE, HOSTNAME)),
                "maxSkew": draft.random.choice((1, 2, 5)),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _pods(draft),
            }
        ]


def _term(draft: Draft, key: str) -> Object:
    term: Object = {"topologyKey": key, "labelSelector": _pods(draft)}
    if draft.chance(25):
        term["namespaces"] = draft.subset((*NAMESPACES, "no-such-namespace"), 1, 2)
    if draft.chance(65):
        term["namespaceSelector"] = selector(draft, {"team": ("red", "blue", "nobody"), _NAME: NAMESPACES})
    return term


def _pods(draft: Draft) -> Object:
    return selector(draft, {"app": APPS, "version": ("v1", "v2"), "canary": ("yes",)})
