"""The passes over the domains of nodes, by hand, in both builds."""

from array import array
from types import ModuleType

import pytest

from reconciler.scheduling import kernels
from tests.kernels.builds import interpreted

# Nodes 0 and 3 are in domain 1, node 1 in none, node 2 in domain 0.
DOMAIN_OF = array("i", [1, -1, 0, 1])


@pytest.fixture(params=["interpreted", "in charge"])
def domains(request: pytest.FixtureRequest) -> ModuleType:
    """Each build in turn."""
    return interpreted("domains") if request.param == "interpreted" else kernels.domains


@pytest.mark.parametrize(("most", "expected"), [(0, [1, 0, 1, 1]), (2, [1, 0, 0, 1]), (3, [0, 0, 0, 0])])
def test_nodes_in_whose_domain_more_pods_are(domains: ModuleType, most: int, expected: list[int]) -> None:
    """Two pods are in domain 0 and three in domain 1; a node in no domain is never marked."""
    mask = bytearray(4)
    domains.mark_above(DOMAIN_OF, array("q", [2, 3]), most, mask)
    assert list(mask) == expected


def test_marks_that_are_there_stay(domains: ModuleType) -> None:
    """Whatever is not to be marked is left alone."""
    mask = bytearray(b"\1\1\0\0")
    domains.mark_above(DOMAIN_OF, array("q", [0, 0]), 0, mask)
    assert list(mask) == [1, 1, 0, 0]
    domains.mark_empty(DOMAIN_OF, array("q", [0, 1]), mask)
    assert list(mask) == [1, 1, 1, 0]


def test_nodes_in_whose_domain_no_pod_is(domains: ModuleType) -> None:
    """Domain 0 has none; a node in no domain counts as empty."""
    mask = bytearray(4)
    domains.mark_empty(DOMAIN_OF, array("q", [0, 1]), mask)
    assert list(mask) == [0, 1, 1, 0]


def test_groups_are_split_by_domain(domains: ModuleType) -> None:
    """Nodes 3, 2 and 1 of one group, in domains 1, 0 and none, are in groups 2, 1 and 0; the same again splits none of them."""
    groups = array("i", [0, 0, 0])
    domains.split(array("i", [3, 2, 1]), DOMAIN_OF, 3, groups)
    assert list(groups) == [2, 1, 0]
    domains.split(array("i", [3, 2, 1]), DOMAIN_OF, 3, groups)
    assert list(groups) == [8, 4, 0]


def test_pods_of_some_shapes_are_counted_by_domain(domains: ModuleType) -> None:
    """Shapes 3 and 11 of the cells: node 1 is in no domain, node 3 does not count, and of the last cell nobody asked."""
    counts = array("q", [5, 0])
    shapes, nodes, many = array("i", [3, 4, 11, 3, 12, 2, 3, 3]), array("i", [0, 0, 2, 1, 0, 0, 3, 2]), array("i", range(1, 9))
    domains.count_cells(bytearray([1, 1]), 3, shapes, nodes, many, 7, DOMAIN_OF, bytearray([1, 1, 1, 0]), counts)
    assert list(counts) == [5 + 3, 1]


def test_a_table_of_bits_is_turned(domains: ModuleType) -> None:
    """Three rows of two bytes: 0 and 9, 9, nothing; column 0 has row 0, column 9 rows 0 and 1."""
    columns = bytearray(16)
    domains.turned(bytearray([1, 2, 0, 2, 0, 0]), 3, 2, columns, 1)
    assert [(column, rows) for column, rows in enumerate(columns) if rows] == [(0, 1), (9, 3)]
