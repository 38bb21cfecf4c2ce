"""Node selectors and required node affinity, with every operator and with fields."""

from tests.differential.generator.draft import HOSTNAME, ZONE, ZONES, Draft, Object, labels_of

_POOLS = ("general", "gpu", "")


def add(draft: Draft) -> None:
    """Label nodes more richly, then let pods choose among them."""
    for node in draft.nodes:
        labels = labels_of(node)
        if draft.chance(70):
            labels["pool"] = draft.random.choice(_POOLS)
        if draft.chance(70):
            labels["generation"] = draft.random.choice(("1", "7", "12", "007", "seven", "1.5"))
    for pod in draft.some(draft.pods, 70):
        if draft.chance(40):
            pod["spec"]["nodeSelector"] = draft.random.choice(
                ({"pool": draft.random.choice(_POOLS)}, {ZONE: "a", "pool": "general"}, {HOSTNAME: "node-01"}, {"nowhere": "x"})
            )
        if draft.chance(70):
            terms = [_term(draft) for _ in range(draft.random.randint(1, 3))]
            affinity: Object = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            if draft.chance(20):
                affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                    {"weight": 1, "preference": {"matchExpressions": [_expression(draft)]}}
                ]
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity


def _term(draft: Draft) -> Object:
    term: Object = {}
    if draft.chance(6):
        return term
    if draft.chance(80):
        term["matchExpressions"] = [_expression(draft) for _ in range(draft.random.randint(1, 2))]
    if draft.chance(20) or not term:
        # Each requirement takes one name; two of them may contradict each other.
        term["matchFields"] = [
            {"key": "metadata.name", "operator": draft.random.choice(("In", "In", "NotIn")), "values": [name]}
            for name in draft.subset([*draft.node_names()[:4], "no-such-node"], 1, 1 if draft.chance(75) else 2)
        ]
    return term


def _expression(draft: Draft) -> Object:
    operator = draft.random.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "generation", "operator": operator, "values": [draft.random.choice(("0", "7", "11"))]}
    key = draft.random.choice(("pool", ZONE, "generation", HOSTNAME))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = {"pool": _POOLS, ZONE: ZONES, "generation": ("7", "12"), HOSTNAME: tuple(draft.node_names())}[key]
    return {"key": key, "operator": operator, "values": draft.subset(values, 1, 3)}
