"""`import` reads files of any shape: a value of another type anywhere in a manifest is an answer or an error, never a crash."""

import json

import pytest

from reconciler.importers.conversion import UnsupportedCloudError
from reconciler.importers.document import imported_policy
from reconciler.importers.settings import ImportedFileError, ImportedSettings, settings_in
from reconciler.importers.sources import Sources
from reconciler.policy.platform.autoscaler_flags import PlaceNeededError
from tests.cli.wrong_inputs import IMPORTS, _spots

_VALUES = (None, True, 7, "x", [], ["x"], [{}], [[]], {}, {"a": "b"}, {"name": {}})
_CONTAINER = {
    "name": "cluster-autoscaler", "command": ["--nodes=1:2:a"], "args": ["-v"],
    "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "d"}, {"secretRef": {"name": "e"}}],
    "env": [{"name": "AWS_REGION", "value": "a"}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
}  # fmt: skip
_VALUES_OF_CHART = {
    "autoDiscovery": {"clusterName": "a", "tags": ["b"], "labels": [{"c": "d"}]}, "extraArgs": {"v": 1},
    "extraObjects": [{"kind": "ConfigMap", "data": {}}], "expanderPriorities": {"10": [".*"]},
    "autoscalingGroups": [{"name": "a", "maxSize": 1}],
}  # fmt: skip
_RELEASE = {
    "kind": "HelmRelease", "metadata": {"name": "a", "namespace": "b"},
    "spec": {"valuesFrom": [{"kind": "ConfigMap", "name": "c", "targetPath": "extraArgs.v"}], "values": {"extraArgs": {}}},
}  # fmt: skip
_HELM = {"valueFiles": ["in.json"], "fileParameters": [{"name": "a", "path": "b"}], "values": "a: 1", "parameters": [{}]}
_MORE = (
    _RELEASE,
    {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "b"}, "data": {"values.yaml": "extraArgs: {}"}},
    {"kind": "Application", "metadata": {"name": "a"}, "spec": {"source": {"helm": _HELM}, "sources": [{"helm": _HELM}]}},
    {"kind": "HelmChart", "metadata": {"name": "a"}, "spec": {"valuesSecrets": [{"name": "a", "keys": ["b"]}]}},
    {"kind": "Deployment", "metadata": {"namespace": "n"}, "spec": {"template": {"spec": {"containers": [_CONTAINER]}}}},
    {"kind": "MachineSet", "metadata": {"annotations": {"machine.openshift.io/node-group-min-size": "1"}}, "spec": {}},
    _VALUES_OF_CHART,
)


@pytest.mark.parametrize("number", range(len(IMPORTS) + 1))
def test_any_value_at_any_place(number: int) -> None:
    """Every place of every example, with a value of every type in turn."""
    documents = IMPORTS[number] if number < len(IMPORTS) else list(_MORE)
    for document in documents:
        copy = json.loads(json.dumps(document, default=str))
        for at, key in list(_spots(copy)):
            kept = at[key]
            for value in _VALUES:
                at[key] = value
                _read(copy)
            at[key] = kept


def _found(body: bytes) -> ImportedSettings:
    return settings_in("in.json", body, Sources({"in.json": body, "other.yaml": body}))


def _read(document: object) -> None:
    try:
        imported_policy(_found(json.dumps(document).encode()), "p", "eu-west-1")
    except (ImportedFileError, PlaceNeededError, UnsupportedCloudError):
        return


@pytest.mark.parametrize("priority", ["--5", "9" * 30, "٣", "1.5", ""])
def test_a_priority_that_is_no_number(priority: str) -> None:
    """Refused by name."""
    text = json.dumps({"kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-priority-expander"}, "data": {}})
    with pytest.raises(ImportedFileError, match=r"data\.priorities"):
        _found(text.encode())
    values = json.dumps({"expanderPriorities": {priority: [".*"]}, "cloudProvider": "aws"})
    with pytest.raises(ImportedFileError, match="is not a whole number"):
        _found(values.encode())
