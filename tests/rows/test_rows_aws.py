"""Rows of the topic `aws`: each has a test of its name, most of them beside the provider; here those about manifests."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).resolve().parents[1]
EXAMPLES = TESTS.parent / "examples"
IDENTITY = EXAMPLES / "eks" / "identity"
_PLACES = ("aws", "rows", "live")


def test_each_row_is_covered() -> None:
    """Every row of the topic has a test of its name."""
    with (TESTS / "rows" / "rows.csv").open(encoding="utf-8", newline="") as rows:
        wanted = {int(row["row"].removeprefix("S")) for row in csv.DictReader(rows) if row["topic"] == "aws"}
    names = [
        name
        for place in _PLACES
        for file in (TESTS / place).glob("test_*.py")
        for name in re.findall(r"def test((?:_s\d+)+)_", file.read_text(encoding="utf-8"))
    ]
    covered = {int(number) for name in names for number in re.findall(r"_s(\d+)", name)}
    assert wanted - covered == set()


def _trust(name: str) -> dict[str, Any]:
    (statement,) = json.loads((IDENTITY / name).read_text())["Statement"]
    return dict(statement)


def test_s46_irsa() -> None:
    """S46: the role is trusted to exactly the loop's own ServiceAccount, by audience and subject, and named on it."""
    base = EXAMPLES / "deploy" / "base"
    name = yaml.safe_load((base / "service-account.yaml").read_text())["metadata"]["name"]
    namespace = yaml.safe_load((base / "kustomization.yaml").read_text())["namespace"]
    shown = yaml.safe_load((IDENTITY / "service-account.yaml").read_text())["metadata"]
    assert (shown["namespace"], shown["name"]) == (namespace, name)
    account = re.fullmatch(r"arn:aws:iam::(\d{12}):role/[\w-]+", shown["annotations"]["eks.amazonaws.com/role-arn"])
    statement = _trust("trust-irsa.json")
    issuer = statement["Principal"]["Federated"].partition(":oidc-provider/")[2]
    assert (account is not None, statement["Action"]) == (True, "sts:AssumeRoleWithWebIdentity")
    assert statement["Condition"] == {
        "StringEquals": {
            f"{issuer}:aud": "sts.amazonaws.com",
            f"{issuer}:sub": f"system:serviceaccount:{namespace}:{name}",
        }
    }


def test_s46_pod_identity() -> None:
    """S46: the newer way: EKS's own service takes the role, for clusters of this account alone."""
    statement = _trust("trust-pod-identity.json")
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert set(statement["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
    assert list(statement["Condition"]["StringEquals"]) == ["aws:SourceAccount"]
