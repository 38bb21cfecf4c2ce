"""Money, instants and names: accepted and refused."""

import pytest

from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.money import MoneyError, parse_money
from reconciler.values.name_syntax import (
    key_or_prefix_fault,
    label_value_fault,
    object_name_fault,
    qualified_name_fault,
    resource_name_fault,
)


@pytest.mark.parametrize(
    ("text", "micros"),
    [("0", 0), ("1", 1_000_000), ("0.768", 768_000), ("0.000001", 1), ("98.32", 98_320_000), ("12.50", 12_500_000)],
)
def test_money(text: str, micros: int) -> None:
    """A decimal string in millionths."""
    assert parse_money(text) == micros


@pytest.mark.parametrize("text", ["", "-1", "01", "1.", ".5", "1e3", "1,5", "$1", "0.0000001", "9999999999999", "\u0661"])
def test_no_money(text: str) -> None:
    """Signs, symbols, exponents and more than six places are refused."""
    with pytest.raises(MoneyError):
        parse_money(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-21T18:00:00Z", 1_795_284_000),
        ("2026-11-21T18:00:00.999Z", 1_795_284_000),
        ("2026-11-21t19:00:00+01:00", 1_795_284_000),
    ],
)
def test_instants(text: str, seconds: int) -> None:
    """RFC 3339 in Unix seconds."""
    assert parse_instant(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "2026-11-21", "2026-11-21T18:00Z", "2026-11-21 18:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T25:00:00Z"]
)
def test_no_instants(text: str) -> None:
    """Dates alone, missing zones and days that do not exist are refused."""
    with pytest.raises(InstantError):
        parse_instant(text)


@pytest.mark.parametrize("text", ["a", "general-a", "a.b-c.9", "0", "a" * 253])
def test_object_names(text: str) -> None:
    """DNS subdomains."""
    assert object_name_fault(text) == ""


@pytest.mark.parametrize("text", ["", "A", "-a", "a-", "a..b", "a_b", "a/b", "a" * 254, "ä"])
def test_no_object_names(text: str) -> None:
    """Everything that an API server would refuse."""
    assert object_name_fault(text)


@pytest.mark.parametrize("text", ["a", "kubernetes.io/arch", "A_b.c-9", "x" * 63, "a.b/" + "x" * 63])
def test_label_keys(text: str) -> None:
    """Qualified names."""
    assert qualified_name_fault(text) == ""


@pytest.mark.parametrize("text", ["", "/a", "a/", "A.b/c", "a b", "x" * 64, "a/b/c", "-a"])
def test_no_label_keys(text: str) -> None:
    """Prefixes are DNS names, names at most 63 characters."""
    assert qualified_name_fault(text)


def test_beginnings_of_keys_end_with_a_star() -> None:
    """Of a domain, or of a name; never all keys, and a star nowhere else."""
    assert [key_or_prefix_fault(text) for text in ("a", "a.b/c", "a.b/*", "a.b/c-*", "a*", "agent-*")] == [""] * 6
    assert all(key_or_prefix_fault(text) for text in ("", "*", "a.b/", "*/a", "a*b", "a.b/**", "/*", "A.b/*", "a.b/c/*"))


def test_label_values_may_be_empty() -> None:
    """An empty value is a value."""
    assert label_value_fault("") == ""
    assert label_value_fault("a b")


def test_resource_names() -> None:
    """The core resources, huge pages, and everything with a domain."""
    assert [resource_name_fault(name) for name in ("cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu")] == [""] * 5
    prefix = "attachable-volumes-csi-"
    assert [resource_name_fault(prefix + name, (), prefix) for name in ("ebs.csi.aws.com", "a")] == ["", ""]
    assert all(resource_name_fault(name, (), prefix) for name in (prefix, prefix + "a/b", prefix + "."))
    assert all(resource_name_fault(name) for name in ("gpu", "CPU", "nodes", "hugepages-", "nvidia.com/"))
