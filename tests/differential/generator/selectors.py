"""Label selectors with every operator of the API, negative ones alone and beside positive ones."""

from collections.abc import Sequence

from tests.differential.generator.draft import Draft, Object

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector(draft: Draft, values: dict[str, Sequence[str]], most: int = 2) -> Object:
    """A selector with one requirement or several; `values` are the values to choose among by label key."""
    found = [_requirement(draft, values) for _ in range(draft.random.randint(1, most))]
    chosen: Object = {"matchExpressions": found}
    if draft.chance(15):
        key = draft.random.choice(sorted(values))
        chosen["matchLabels"] = {key: draft.random.choice(values[key])}
    return chosen


def _requirement(draft: Draft, values: dict[str, Sequence[str]]) -> Object:
    key, operator = draft.random.choice(sorted(values)), draft.random.choice(OPERATORS)
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": draft.subset(values[key], 1, 2)}
