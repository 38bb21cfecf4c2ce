"""Plugins that look at one node and nothing else; expected values are those of the upstream rules, by hand."""

import pytest

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import HostPort, Toleration
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.scheduling.node_affinity import affinity_rejection, matches
from reconciler.scheduling.port_holders import PortHolders, ports_rejection
from reconciler.scheduling.predicates.declared_features import features_rejection
from reconciler.scheduling.predicates.taint_toleration import taint_rejection, tolerates, unschedulable_rejection
from reconciler.values.label_selector import Requirement, satisfies
from reconciler.values.quantity import Rounding, amount_text

GPU = Taint("dedicated", "gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        (Toleration("dedicated", "Equal", "gpu", "NoSchedule"), True),
        (Toleration("dedicated", "", "gpu", ""), True),
        (Toleration("dedicated", "Equal", "cpu", ""), False),
        (Toleration("dedicated", "Exists", "", ""), True),
        (Toleration("", "Exists", "", ""), True),
        (Toleration("", "Exists", "", "NoExecute"), False),
        (Toleration("other", "Exists", "", ""), False),
        (Toleration("dedicated", "Gt", "1", ""), False),
        (Toleration("dedicated", "Lt", "gpu", ""), False),
        (Toleration("", "Equal", "gpu", ""), True),
        (Toleration("dedicated", "Exists", "cpu", "NoSchedule"), True),
    ],
)
def test_tolerations(toleration: Toleration, covered: bool) -> None:
    """A toleration covers a taint as `ToleratesTaint` says; comparison operators are off by default in 1.36."""
    assert tolerates(toleration, GPU) is covered


def test_taints_that_only_prefer_do_not_reject() -> None:
    """PreferNoSchedule is a score; NoSchedule and NoExecute are named, all of them."""
    shape = NodeShape(taints=(GPU, Taint("gone", "", "NoExecute"), Taint("nice", "", "PreferNoSchedule")))

    rejection = taint_rejection(shape, ())

    assert rejection is not None
    assert rejection.message == "untolerated taint dedicated=gpu:NoSchedule, gone:NoExecute"


@pytest.mark.parametrize(
    ("tolerations", "rejected"),
    [
        ((), True),
        ((Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"),), False),
        ((Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"),), True),
        ((Toleration("", "Exists", "", ""),), False),
    ],
)
def test_cordoned_nodes(tolerations: tuple[Toleration, ...], rejected: bool) -> None:
    """A cordon keeps out whoever does not tolerate its taint, also where the node does not carry that taint."""
    assert (unschedulable_rejection(NodeShape(unschedulable=True), tolerations) is not None) is rejected


@pytest.mark.parametrize(
    ("operator", "values", "label", "holds"),
    [
        ("In", ("a", "b"), "b", True),
        ("In", ("a",), None, False),
        ("NotIn", ("a",), None, True),
        ("NotIn", ("a",), "a", False),
        ("Exists", (), "", True),
        ("DoesNotExist", (), None, True),
        ("Gt", ("5",), "6", True),
        ("Gt", ("5",), "5", False),
        ("Gt", ("5",), "5.5", False),
        ("Lt", ("-3",), "-4", True),
        ("Lt", ("five",), "1", False),
        ("Gt", ("1", "2"), "3", False),
        ("Gt", ("1",), "9223372036854775808", False),
        ("Lt", ("1_0",), "1", False),
        ("Gt", ("0",), "9223372036854775807", True),
        ("Lt", ("0",), "-9223372036854775808", True),
        ("Lt", ("0",), "-9223372036854775809", False),
        ("Lt", ("5",), "5", False),
        ("Gt", (), "5", False),
        ("NotIn", ("a",), "b", True),
        ("DoesNotExist", (), "", False),
        ("Exists", (), None, False),
        ("Near", ("a",), "a", False),
    ],
)
def test_requirements(operator: str, values: tuple[str, ...], label: str | None, holds: bool) -> None:
    """Operators hold as apimachinery's label requirements do: integers of 64 bits for Gt and Lt, one value only."""
    assert satisfies(Requirement("key", operator, values), label) is holds


def _term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions, fields)


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        (None, True),
        ((), False),
        ((_term(),), False),
        ((_term(Requirement("zone", "In", ("b",))), _term(Requirement("zone", "In", ("a",)))), True),
        ((_term(Requirement("zone", "In", ("a",)), Requirement("pool", "Exists")),), False),
        ((_term(fields=(Requirement("metadata.name", "In", ("n1",)),)),), True),
        ((_term(fields=(Requirement("metadata.name", "NotIn", ("n1",)),)),), False),
        ((_term(fields=(Requirement("metadata.name", "In", ("n0", "n1")),)),), False),
        ((_term(fields=(Requirement("metadata.name", "In", ("n1", "n0")),)),), False),
        ((_term(fields=(Requirement("metadata.name", "NotIn", ("n0",)),)),), True),
        ((_term(fields=(Requirement("metadata.uid", "In", ("n1",)),)),), False),
        ((_term(Requirement("zone", "In", ("a",)), fields=(Requirement("metadata.name", "In", ("n0",)),)),), False),
        ((_term(Requirement("zone", "In", ("b",)), fields=(Requirement("metadata.name", "In", ("n1",)),)),), False),
        ((_term(fields=(Requirement("metadata.name", "Exists"),)),), False),
        ((_term(fields=(Requirement("metadata.name", "Exists", ("n2",)),)),), False),
    ],
)
def test_required_terms(terms: tuple[NodeSelectorTerm, ...] | None, fits: bool) -> None:
    """Terms are alternatives, requirements in one term all hold; fields take exactly one value; empty ones match nothing."""
    assert matches((), terms, {"zone": "a"}.get, "n1") is fits
    assert (affinity_rejection((), terms, {"zone": "a"}.get, "n1") is None) is fits


def test_what_a_node_lacks_is_said() -> None:
    """The message names the unmet pair and what the node has instead."""
    rejection = affinity_rejection((("pool", "gpu"), ("zone", "a")), None, {"zone": "b", "pool": "gpu"}.get, "n1")

    assert rejection is not None
    assert rejection.message == "wants zone=a, but the node has pool=gpu, zone=b"


def _fields(*values: str) -> tuple[Requirement, ...]:
    return (Requirement("metadata.name", "In", values),)


@pytest.mark.parametrize(
    ("pairs", "terms", "message"),
    [
        ((("pool", "gpu"), ("tier", "x")), None, "wants pool=gpu, tier=x, but the node has pool=db, no tier"),
        ((), (_term(Requirement("zone", "In", ("b",))),), "wants zone=b, but the node has zone=a"),
        ((("pool", "gpu"),), (_term(Requirement("zone", "In", ("b",))),), "wants pool=gpu, but the node has pool=db, zone=a"),
        ((("pool", "gpu"),), (_term(Requirement("zone", "In", ("a",))),), "wants pool=gpu, but the node has pool=db, zone=a"),
        ((("pool", "db"),), (_term(Requirement("zone", "In", ("b",))),), "wants zone=b, but the node has pool=db, zone=a"),
        (
            (),
            (
                _term(Requirement("zone", "In", ("b", "c")), Requirement("gen", "Gt", ("3",))),
                _term(Requirement("spot", "Exists")),
            ),
            "wants (zone in (b,c), gen>3) or spot, but the node has no gen, no spot, zone=a",
        ),
        ((), (_term(Requirement("zone", "NotIn", ("a",))),), "wants zone!=a, but the node has zone=a"),
        ((), (_term(Requirement("zone", "NotIn", ("a", "b"))),), "wants zone notin (a,b), but the node has zone=a"),
        ((), (_term(Requirement("zone", "DoesNotExist")),), "wants !zone, but the node has zone=a"),
        ((), (_term(Requirement("gen", "Lt", ("3",))),), "wants gen<3, but the node has no gen"),
        ((), (_term(fields=_fields("n2")),), "wants metadata.name=n2, but the node has metadata.name=n1"),
        ((), (), "wants no node (its affinity has no terms), but the node has no say"),
        ((), (_term(),), "wants nothing (an empty term), but the node has no say"),
    ],
)
def test_what_was_wanted_is_said(
    pairs: tuple[tuple[str, str], ...], terms: tuple[NodeSelectorTerm, ...] | None, message: str
) -> None:
    """In the notation of kubectl, with what the node has of it; pairs come before terms."""
    rejection = affinity_rejection(pairs, terms, {"zone": "a", "pool": "db"}.get, "n1")

    assert rejection is not None
    assert rejection.message == message


@pytest.mark.parametrize(
    ("taken", "message"),
    [
        ([HostPort(80)], "host port 80/TCP is taken"),
        ([HostPort(80), HostPort(53, "UDP", "10.0.0.1")], "host port 80/TCP, 10.0.0.1:53/UDP is taken"),
        ([HostPort(53, "UDP", "10.0.0.2")], None),
        ([], None),
    ],
)
def test_ports_that_are_taken_are_named(taken: list[HostPort], message: str | None) -> None:
    """With protocol, and with the address where one is asked for."""
    wanted = [HostPort(80, "", "0.0.0.0"), HostPort(53, "UDP", "10.0.0.1")]
    held = PortHolders()
    held.add(taken, 7, 1)
    rejection = ports_rejection(wanted, held, 7)

    assert (rejection and rejection.message) == message


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80, "TCP"), HostPort(80, "UDP"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.2"), False),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80), True),
        (HostPort(80, "", ""), HostPort(80, "TCP", "127.0.0.1"), True),
        (HostPort(80, "", "10.0.0.1"), HostPort(80, "TCP", "0.0.0.0"), True),
        (HostPort(80, "TCP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.1"), True),
        (HostPort(80, "SCTP"), HostPort(80, ""), False),
        (HostPort(0), HostPort(0), False),
        (HostPort(1), HostPort(1), True),
        (HostPort(-1), HostPort(-1), False),
    ],
)
def test_host_ports(one: HostPort, other: HostPort, clash: bool) -> None:
    """Ports collide on one address or where either takes every address, in both directions."""
    for held_port, asked in ((one, other), (other, one)):
        held = PortHolders()
        held.add([held_port], 7, 1)
        assert held.has(asked, 7) is clash
        assert not held.has(asked, 8)
        assert {holder for holders in held.of(asked) for holder in holders} == ({7} if clash else set())
        held.add([held_port], 7, -1)
        assert not held.has(asked, 7)


def test_features_that_a_kubelet_does_not_declare() -> None:
    """Every feature that a pod needs must be declared; the missing ones are named."""
    rejection = features_rejection(NodeShape(declared_features=("A",)), ("A", "B"))

    assert rejection is not None
    assert rejection.message == "the node does not declare B"
    assert features_rejection(NodeShape(), ()) is None


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1200, "1.2"),
        ("cpu", 4000, "4"),
        ("cpu", 5, "0.005"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", 100, "100"),
        ("memory", -(1 << 20), "-1Mi"),
        # Less than nothing is free: the less is said, rounded away from zero.
        ("memory", -(1 << 30) - 1, "-1.01Gi"),
        ("cpu", -1, "-0.001"),
        ("nvidia.com/gpu", 3, "3"),
        ("nvidia.com/gpu", 4096, "4096"),
        ("cpu", -1500, "-1.5"),
        ("cpu", 0, "0"),
        ("memory", 0, "0"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 1 << 20, "1Mi"),
        ("memory", 1 << 30, "1Gi"),
        ("memory", 1 << 40, "1Ti"),
        ("memory", 1 << 50, "1Pi"),
        ("memory", 1 << 60, "1Ei"),
        ("memory", (1 << 30) - 1, "1023.99Mi"),
        ("ephemeral-storage", 5 << 30, "5Gi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("memory", (1 << 30) + (1 << 30) // 20, "1.04Gi"),
    ],
)
def test_amounts(resource: str, amount: int, text: str) -> None:
    """Amounts are short and exact where they can be."""
    assert amount_text(resource, amount, Rounding.DOWN) == text


def test_what_is_needed_never_looks_like_what_is_free() -> None:
    """One byte more than is free is rounded up, what is free is rounded down."""
    free = (5 << 30) + 3

    assert amount_text("memory", free, Rounding.DOWN) == "5Gi"
    assert amount_text("memory", free + 1, Rounding.UP) == "5.01Gi"
