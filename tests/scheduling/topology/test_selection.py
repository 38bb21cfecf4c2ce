"""Which shapes a term selects, by the index and by holding the term against each shape."""

import random
import secrets

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, PodShape
from reconciler.scheduling.columns import ResourceColumns
from reconciler.scheduling.label_match import selects
from reconciler.scheduling.shapes import ShapeTable
from reconciler.scheduling.topology.selection import ShapeSelection
from reconciler.values.label_selector import LabelSelector, Requirement

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
NAMES = ("shop", "bank", "club", "")


def _labels(rng: random.Random) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({rng.choice("abc"): str(rng.randrange(4)) for _ in range(rng.randrange(4))}.items()))


def _selector(rng: random.Random) -> LabelSelector | None:
    if not rng.randrange(9):
        return None
    return LabelSelector(
        tuple(
            Requirement(rng.choice("abcd"), rng.choice(OPERATORS), tuple(sorted({str(rng.randrange(5)) for _ in range(many)})))
            for many in (1, 2)[: rng.randrange(3)]
        )
    )


def _term(rng: random.Random) -> AffinityTerm:
    names = tuple(sorted(rng.sample((*NAMES, "nowhere"), rng.randrange(3))))
    chosen = _selector(rng) if rng.randrange(2) else None
    return AffinityTerm(topology_key="zone", selector=_selector(rng), namespaces=names, namespace_selector=chosen)


@pytest.mark.parametrize("run", range(100))
def test_the_index_selects_what_the_selectors_match(run: int) -> None:
    """Shapes of four namespaces, one of which has no object; more shapes come between two questions."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    shapes = ShapeTable([PodShape(namespace=rng.choice(NAMES), labels=_labels(rng)) for _ in range(12)], ResourceColumns())
    objects = {name: _labels(rng) for name in NAMES[:3]}
    selection = ShapeSelection(shapes, objects, negation_selects_all=False)
    for _ in range(2):
        for term in [_term(rng) for _ in range(20)]:
            chosen = term.namespace_selector
            by_object = {name for name in objects if selects(chosen, objects[name])}
            everywhere = {shape.namespace for shape in shapes.shapes} if chosen == LabelSelector() else set()
            own = {*term.namespaces, *by_object, *everywhere}
            others = {*term.namespaces, *(name for name in NAMES if selects(chosen, objects.get(name, ())))}
            matching = {index for index, shape in enumerate(shapes.shapes) if selects(term.selector, shape.labels)}

            assert set(selection.by_own_term(term)) == {i for i in matching if shapes.shapes[i].namespace in own}
            assert set(selection.by_term_of_others(term)) == {i for i in matching if shapes.shapes[i].namespace in others}
            assert set(selection.in_namespace("shop", term.selector)) == {
                index for index in matching if shapes.shapes[index].namespace == "shop"
            }
        shapes.append(PodShape(namespace="club", labels=_labels(rng), priority=1))
