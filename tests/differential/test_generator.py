import json
from collections import Counter

import pytest

from tests.differential.campaign import COMPARED, trials
from tests.differential.generator.cluster import FEATURES, generate
from tests.differential.oracle import Oracle

# The plugin that a feature is about.
PLUGIN = {
    "requests": "NodeResourcesFit",
    "resizes": "NodeResourcesFit",
    "taints": "TaintToleration",
    "nodeAffinity": "NodeAffinity",
    "hostLabels": "NodeAffinity",
    "ports": "NodePorts",
    "disks": "VolumeRestrictions",
    "claims": "VolumeBinding",
    "volumeZones": "VolumeZone",
    "volumeLimits": "NodeVolumeLimits",
    "attachments": "NodeVolumeLimits",
    "migratedDisks": "NodeVolumeLimits",
    "capacities": "VolumeBinding",
    "requiredDrivers": "NodeVolumeLimits",
    "spread": "PodTopologySpread",
    "interPodAffinity": "InterPodAffinity",
    "unfoldedKeys": "InterPodAffinity",
    "negativeSelectors": "InterPodAffinity",
    "promises": "NodeResourcesFit",
    "phases": "NodeResourcesFit",
    "declaredFeatures": "NodeDeclaredFeatures",
    "releases": "NodeResourcesFit",
    "devices": "DynamicResources",
    "deviceClaims": "DynamicResources",
    "extendedClaims": "DynamicResources",
    "hugeAmounts": "NodeResourcesFit",
    "defaultSpread": "PodTopologySpread",
    "bare": "NodeResourcesFit",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_an_api_server_accepts_every_object(validator: Oracle, feature: str) -> None:
    """The validation of a real API server has nothing to say against the objects of a feature."""
    assert [refusal for seed in range(3) for refusal in validator.ask(generate(seed, [feature]))] == []


def test_the_validation_finds_what_is_wrong(validator: Oracle) -> None:
    """A pod without containers is refused, so an empty list of refusals means something."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}}
    assert any("spec.containers: Required" in refusal for refusal in validator.ask({"kind": "List", "items": [pod]}))


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_reaches_its_plugin(oracle: Oracle, feature: str) -> None:
    """In a few clusters of one feature its plugin rejects some pairs and lets others pass, and some pairs fit."""
    said: Counter[bool] = Counter()
    fits = 0
    for seed in range(3):
        for pod in oracle.ask(generate(seed, [feature]))["pods"]:
            for node in pod["nodes"]:
                said[PLUGIN[feature] in node["reasons"]] += 1
                fits += node["fits"]
    assert said[True] > 20
    assert said[False] > 20
    assert fits > 20


def test_the_same_seed_makes_the_same_cluster() -> None:
    """A reported seed is enough to have the cluster again."""
    assert json.dumps(generate(7, list(FEATURES))) == json.dumps(generate(7, list(reversed(FEATURES))))
    assert json.dumps(generate(7, ["ports"])) != json.dumps(generate(8, ["ports"]))


def test_every_feature_comes_alone_and_mixed() -> None:
    """Among the trials of one run every feature is alone in some and together with others in some."""
    chosen = [trial.features for trial in trials(120, seed=1)]
    for feature in COMPARED:
        assert (feature,) in chosen
        assert any(feature in features and len(features) > 1 for features in chosen)
