"""How many pods a node takes, as user data of launch templates and launch configurations say it, and where it is a guess.

The texts are those of amazon-eks-ami's and Bottlerocket's documentation.
"""

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.platforms.aws.facts import wire_launch
from reconciler.platforms.aws.facts.shown import shown
from reconciler.platforms.aws.facts.user_data import max_pods
from tests.aws.documents import TEMPLATE, Object, facts, group, template_version

PICK = {"LaunchTemplateId": "lt-1", "Version": "$Default"}
NODE_CONFIG = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: prod
  kubelet:
    config:
      maxPods: 58
    flags:
      - --node-labels=pool=a

--BOUNDARY--
"""
TEXTS = {
    "nodeadm": (NODE_CONFIG, 58),
    "nodeadm, as JSON": ('{"kind": "NodeConfig", "spec": {"kubelet": {"config": {"maxPods": 42}}}}', 42),
    "nodeadm, by a flag": ("kind: NodeConfig\nspec:\n  kubelet:\n    flags: ['--max-pods=31']\n", 31),
    "bootstrap.sh": ("#!/bin/bash\n/etc/eks/bootstrap.sh prod --use-max-pods false --kubelet-extra-args '--max-pods=110'\n", 110),
    "bootstrap.sh, with a space": ('/etc/eks/bootstrap.sh prod --kubelet-extra-args "--max-pods 17 --v=2"\n', 17),
    "bootstrap.sh, kubelet's own number": ("/etc/eks/bootstrap.sh prod --use-max-pods false\n", 110),
    "Windows": ("<powershell>\n& $EKSBootstrapScriptFile -KubeletExtraArgs '--max-pods=60'\n</powershell>", 60),
    "Bottlerocket": ('[settings.kubernetes]\ncluster-name = "prod"\nmax-pods = 29\n', 29),
    "twice the same": ("maxPods: 20\n--max-pods=20\n", 20),
    "two numbers": ("maxPods: 20\n--max-pods=30\n", None),
    "a variable": ('/etc/eks/bootstrap.sh prod --kubelet-extra-args "--max-pods=$MAX"\n', None),
    "a comment": ("# --max-pods=20\n", None),
    "nothing": ("#!/bin/bash\necho hello\n", None),
    "another key": ("topmaxPods: 20\nmax-pods-per-core = 10\n", None),
}


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.mark.parametrize("name", TEXTS)
def test_what_user_data_state(name: str) -> None:
    text, expected = TEXTS[name]
    assert max_pods([_encoded(text)]) == expected
    assert max_pods([b64encode(gzip.compress(text.encode())).decode()]) == expected


@pytest.mark.parametrize("text", [None, "", "no base64!", b64encode(b"\x1f\x8bbroken").decode(), b64encode(b"\xff\xfe").decode()])
def test_what_cannot_be_read_states_nothing(text: str | None) -> None:
    assert max_pods([text]) is None


def test_several_templates_must_agree() -> None:
    one, two = _encoded("maxPods: 20"), _encoded("maxPods: 30")
    assert max_pods([one, one]) == 20
    assert max_pods([one, two]) is None
    assert max_pods([one, None]) is None
    assert max_pods([]) is None


def _template(text: str | None, **group_fields: Any) -> Any:
    data = {"InstanceType": "m5.large", **({"UserData": _encoded(text)} if text else {})}
    return facts(group(LaunchTemplate=PICK, **group_fields), LaunchTemplateVersions=[template_version(data)]).template


def test_pods_of_a_group_at_zero() -> None:
    """m5.large takes 29 pods by its network interfaces; what user data state counts, and a tag counts before that."""
    guessed, stated = _template(None), _template(NODE_CONFIG)
    assert (guessed.allocatable.pods, guessed.pods_guessed) == (29, True)
    assert (stated.allocatable.pods, stated.capacity.pods, stated.pods_guessed) == (58, 58, False)
    assert (stated.allocatable.cpu_milli, stated.allocatable.memory_bytes) == (
        guessed.allocatable.cpu_milli,
        guessed.allocatable.memory_bytes,
    )
    tagged = _template(NODE_CONFIG, tags={TEMPLATE + "resources/pods": "12"})
    assert (tagged.allocatable.pods, tagged.pods_guessed) == (12, False)


def test_a_launch_configuration_has_user_data_as_well() -> None:
    found = facts(
        group(LaunchConfigurationName="old"),
        LaunchConfigurations=[{"LaunchConfigurationName": "old", "InstanceType": "m5.large", "UserData": _encoded("maxPods: 9")}],
    ).template
    assert found.allocatable is not None
    assert (found.allocatable.pods, found.pods_guessed) == (9, False)


def test_an_override_with_a_template_of_its_own() -> None:
    """Nobody knows which of the two the next instance is made from."""
    other = {"LaunchTemplateId": "lt-2", "Version": "$Default"}
    overrides = [{"InstanceType": "m5.large"}, {"InstanceType": "m5.large", "LaunchTemplateSpecification": other}]
    policy = {"LaunchTemplate": {"LaunchTemplateSpecification": PICK, "Overrides": overrides}}

    def pods(second: str) -> tuple[int, bool]:
        versions = [
            template_version({"UserData": _encoded("maxPods: 58")}),
            template_version({"UserData": _encoded(second)}, template="lt-2"),
        ]
        found = facts(group(MixedInstancesPolicy=policy), LaunchTemplateVersions=versions).template
        assert found.allocatable is not None
        return found.allocatable.pods, found.pods_guessed

    assert pods("maxPods: 58") == (58, False)
    assert pods("maxPods: 20") == (29, True)


def test_nothing_else_of_user_data_leaves_the_house() -> None:
    """A redacted snapshot keeps how many pods they state, without which its plan would be another one."""
    text = NODE_CONFIG + "PASSWORD=hunter2"
    item: Object = template_version({"InstanceType": "m5.large", "UserData": _encoded(text)})
    words = Pseudonyms(b"s" * 32)
    found = shown(wire_launch.LaunchTemplateVersion, item, words)
    assert found["LaunchTemplateData"]["UserData"] == _encoded("--max-pods=58")
    bare = shown(wire_launch.LaunchTemplateVersion, template_version({"UserData": _encoded("PASSWORD=hunter2")}), words)
    assert _encoded("PASSWORD=hunter2") not in json.dumps(bare)
